"""Work that a line names before it begins: a save, an evaluation, a compilation, "this may take a few minutes".

It explains the silence after its line, for as long as its writer writes nothing else and no step goes on. Whoever says the same
again says nothing new: the work began with the first of these lines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from hangtop.common.late_pattern import late_pattern
from hangtop.logs.extract.extractor import Extractor
from hangtop.logs.extract.line_values import Said, said_in
from hangtop.logs.extract.stages import PEERS_S
from hangtop.logs.extract.steps.progress import StepLine
from hangtop.logs.file_facts import FileFacts
from hangtop.logs.lines.block_lines import Line, Writer
from hangtop.records.log import Work

MOST_WRITERS = 256
LONGEST_CHARS = 300

_CLAUSE = (
    r"(?:^|[.,;:|>\])\u2014] *|(?:^| )[-*] +|\b(?:still|now|then|and|begins?|started|starts|is|are|am|currently|busy)[ :,]+"
    r"|\b(?:INFO|DEBUG|NOTICE)\b[\]:)|\s-]*)"
)
"""Where a clause begins: what stands elsewhere names a thing (`gradient checkpointing`), not what is done now."""
_VERBS = (
    "sav|load|read|writ|test|dump|stor|export|upload|download|fetch|copy|transferr?|extract|unpack|decompress|compress|evaluat|validat|scor|"
    "benchmark|compil|build|captur|trac|autotun|warm|calibrat|quanti[sz]|tokeni[sz]|index|preprocess|pack|shuffl|sort|filter|"
    "merg|convert|consolidat|reshard|refitt?|profil|render|scann?|hash|pars|estimat|accumulat|prefetch|stag|backing up|archiv|"
    "flush|rebuild|recompil|serial[iz]+|deduplicat|encod|embedd?|crawl|persist|checkpoint|optimi[sz]"
)
"""Of what a process does by itself. Where it waits for others (connecting, gathering, broadcasting, waiting) it may wait for
ever, and this is no reason to be silent."""
_OVER = r"(?!.*\b(?:done|finished|completed?|took|failed|error|skipped|ready|every \d|every \w*(?:step|epoch|iter)|will)\b)"
_NO_VALUE = r"(?![\w-]|\s*[=:]\s*-?\d|/)"
_DOES = late_pattern(_CLAUSE + r"(?:" + _VERBS + r")ing" + _NO_VALUE + _OVER, re.IGNORECASE)
_EVALUATES = late_pattern(
    _CLAUSE + r"(?:(?:running|starting|begin(?:ning)?|start|doing|performing) )?(?:the |an? |full |final |per.image )*"
    r"(?:evaluation|validation|eval|evaluate|validate|test(?: set)?|export|upload|download|compilation|compile|backup|"
    r"conversion)\b"
    r"(?:$|[ .\u2026:]*(?:\.\.\.|\u2026)|(?: \w+)? (?:on|of|at|over|for|to|from|annotation|with|in)\b)" + _OVER,
    re.IGNORECASE,
)
_OPEN_ENDED = late_pattern(
    _CLAUSE + r"(?!(?:wait|connect|initiali[sz]|sync|retry|sleep|gather|broadcast|reduc|join|train|start|launch|listen|serv|"
    r"handshak|continu|resum|enter|us|poll|reconnect|restart|await|barrier|meet|attempt|try|runn)\w*ing\b)"
    r"[a-z]{3,20}ing\b[^.]{0,200}(?:\.\.\.|\u2026)[^\w]*$",
    re.IGNORECASE,
)
"""`Accumulating evaluation results...`: whatever it is, it goes on."""
_MAY_TAKE = late_pattern(
    r"\b(?:(?:may|might|can|could|will|should|would) take|takes|taking) "
    r"(?:up to |about |around |roughly |approximately |at least |an? |some |several |quite |few |~ ?)*"
    r"(?:(?P<n>\d+(?:\.\d+)?)(?: ?(?:-|to|\u2013) ?(?P<most>\d+(?:\.\d+)?))? ?"
    r"(?P<unit>s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)\b"
    r"|while\b|long\b|time\b|longer\b|minutes?\b|hours?\b|min\b|moments?\b)|\bbe patient\b|\bthis is slow\b",
    re.IGNORECASE,
)
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_CHINESE = late_pattern(
    r"正在(?:保存|评估|验证|编译|下载|上传|加载|构建|分词|合并|导出)|(?:保存|评估|验证|编译|下载|上传|构建|分词|合并|导出)中"
)
_ASIDE = late_pattern(r"^\s|\b\w*Warning\b|^W\d{4} |\bWARN(?:ING)?\b")
"""A warning, or the source line that Python shows below one, ends no work."""


class _Named(Struct):
    """The work of one writer. `said`: the lines that named it."""

    work: Work
    offset: int
    said: set[tuple[str, tuple[str, ...]]]


class NamedWork(Extractor):
    """The work that each writer of a file has named last and not ended. `look` hears the lines in their order."""

    def __init__(self) -> None:
        self._named: dict[Writer, _Named] = {}
        self._steps: dict[int, bool] = {}

    def add_step(self, step: StepLine) -> None:
        """`advances` tell whether the line is a value of the run, rather than a name of work that holds a step number."""
        seen = step.seen
        told = bool(seen.metrics) or seen.elapsed_s is not None
        if seen.counts and seen.step is not None:
            self._steps[seen.offset] = told or self._steps.get(seen.offset, False)

    def reopened(self, offset: int) -> None:
        self._steps = {}

    def look(self, lines: Sequence[Line]) -> None:
        """The lines that are new, the oldest first."""
        for line in lines:
            if line.text.strip():
                self._read(line)
        if lines:
            self._steps = {offset: told for offset, told in self._steps.items() if offset > lines[-1].offset}

    def add_facts(self, facts: FileFacts) -> FileFacts:
        return replace(facts, works=tuple(named.work for named in self._named.values()))

    def _read(self, line: Line) -> None:
        is_step = self._steps.get(line.offset)
        told_s = None if is_step else work_named(line.text)
        if told_s is not None:
            self._name(line, told_s)
        elif is_step is not None:
            self._goes_on(line)
        elif not _ASIDE.search(line.text):
            self._named.pop(line.writer, None)

    def _name(self, line: Line, told_s: float) -> None:
        said: Said = said_in(line.text)
        words = (said.words, said.values)
        known = self._named.pop(line.writer, None)
        if known is not None and words in known.said:
            self._named[line.writer] = known
            return
        before = known.said if known is not None else set()
        work = Work(line.at, line.text.strip(), told_s)
        self._named[line.writer] = _Named(work, line.offset, {*before, words} if len(before) < MOST_WRITERS else {words})
        if len(self._named) > MOST_WRITERS:
            del self._named[next(iter(self._named))]

    def _goes_on(self, line: Line) -> None:
        """A step ends what its writer did, and what others began well before it."""
        self._named.pop(line.writer, None)
        for writer, named in list(self._named.items()):
            at = named.work.at
            if at is None or line.at is None or line.at - at > PEERS_S:
                del self._named[writer]


def work_named(text: str) -> float | None:
    """The seconds that the named work takes, as far as the line tells: 0 where it tells no number, `None` where it names none."""
    text = text[:LONGEST_CHARS].strip()
    if told := _MAY_TAKE.search(text):
        value = told["most"] or told["n"]
        return 0.0 if value is None else float(value) * _SECONDS[told["unit"][0].lower()]
    if _DOES.search(text) or _EVALUATES.search(text) or _OPEN_ENDED.search(text) or _CHINESE.search(text):
        return 0.0
    return None
