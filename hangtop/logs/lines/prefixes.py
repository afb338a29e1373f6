r"""Who wrote a line, and when: the prefixes that launchers and loggers put before a message, and a rank among its values.

Prefixes are taken off from the left, in whatever order they nest.

A new prefix is one regex in the list of those with its first character; the names of its groups are fields of `Prefix`. Digits
are written as `\d` in it, none by its value: where prefixes stand is remembered for all lines of one shape (`digit_shapes`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from hangtop.common.late_pattern import late_pattern
from hangtop.logs.lines.digit_shapes import LONGEST, MOST, shape_of
from hangtop.logs.lines.json_envelope import opened
from hangtop.logs.lines.timestamps import STAMP

_DEEPEST = 8
_LEVELS = "DEBUG|INFO|NOTICE|WARNING|WARN|ERROR|CRITICAL|FATAL|TRACE|SUCCESS|EXCEPTION"
_LEVEL = rf"(?P<level>{_LEVELS}|debug|info|warning|warn|error|critical)"
_STAMP = f"(?P<time>{STAMP})"
_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d+)?"


class Prefix(Struct, frozen=True, omit_defaults=True, gc=False):
    """What the prefixes of one line say. `text` is what was taken off, `time` the outermost time as written.

    `rank` is global. `task`: the number of a launcher's task (srun, a file's name), a rank only if nothing better is known.
    `part`: the index of a tensor- or data-parallel part (`TP1`). `repeated`: how many more such lines Ray did not print.
    `partial`: Kubernetes cut the line; the next one continues it.
    """

    text: str = ""
    time: str = ""
    level: str = ""
    rank: int | None = None
    local_rank: int | None = None
    task: int | None = None
    part: int | None = None
    world: int | None = None
    pid: int | None = None
    host: str | None = None
    actor: str | None = None
    stream: str | None = None
    partial: bool = False
    repeated: int = 0


_NOTHING = Prefix()

_READ_BY: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("rank", "local_rank", "task", "part", "world", "pid"), int),
    "tag": lambda tag: tag == "P",
}
"""How the text of a group becomes a value; other texts are stripped of blanks."""

_SAID_BY = {"tag": "partial", "level2": "level"}
"""Groups whose names differ from their fields."""

_INNERMOST = ("level", "partial")

_Place = tuple[int, int, Callable[[str], Any]]
"""Where a field stands in a line, and what reads it."""


class _Forms:
    """Several forms as one regex, tried in their order. Names of groups are fields of `Prefix`.

    It is made when the first line asks for it: most logs use two of the four, and each takes 2 to 5 ms."""

    def __init__(self, *patterns: str) -> None:
        self._patterns = patterns

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        numbered = (_GROUP.sub(rf"(?P<\1_{number}>", pattern) for number, pattern in enumerate(self._patterns))
        # The empty group at the end of each form is the last one to match: it tells which form it was.
        return re.compile("|".join(f"(?:{pattern})(?P<form_{number}>)" for number, pattern in enumerate(numbered)))

    @cached_property
    def _fields(self) -> dict[int, list[tuple[str, int, Callable[[str], Any]]]]:
        """By the number of that empty group: the fields of the form, the numbers of their groups, and what reads them."""
        groups = self._pattern.groupindex
        return {
            groups[f"form_{number}"]: [
                (_SAID_BY.get(name, name), groups[f"{name}_{number}"], _READ_BY.get(name, str.strip))
                for name in _GROUP.findall(pattern)
            ]
            for number, pattern in enumerate(self._patterns)
        }

    def learn(self, text: str, position: int, known: dict[str, _Place]) -> int:
        """Puts where each field of the form at `position` stands into `known`. Returns where the form ends; -1 if there is
        none."""
        found = self._pattern.match(text, position)
        if found is None:
            return -1
        for name, group, read in self._fields[found.lastindex or 0]:
            start, end = found.span(group)
            if start >= 0 and (name not in known or name in _INNERMOST):
                known[name] = (start, end, read)
        return found.end()


_GROUP = late_pattern(r"\(\?P<(\w+)>")

MEMBERS = ("worker", "trainer", "learner", "proc(?:ess)?", "replica")
"""What home-made launchers call the processes that they number: by their ranks, if nothing better is known."""
_WORKER = rf"(?i:{'|'.join(MEMBERS)})[ :=_#-]{{0,2}}(?P<task>\d{{1,3}})(?:/\d+)?"

_COMMAND = r"(?:\S*/)?(?:python[\d.]*t?\b|\S+::\S+\s*$)"
"""What py-spy writes behind `Process 71: `: the command of that pid, or the title that the process gave itself."""

# The specific form before the general one.
_BRACKET = _Forms(
    r"\[rank(?P<rank>\d+)\]:\s?",
    r"\[(?:[\w.-]+:)?(?:default|trainer|worker|[A-Za-z_]+_?)(?P<local_rank>\d+)\]:\s?",
    r"\[\d+,(?P<rank>\d+)\](?:\[[^\]]*\])?<(?P<stream>stdout|stderr|stddiag)>:\s?",
    r"\[(?:\d+,mpirank:)?(?P<rank>\d+)(?:,(?P<host>algo-\d+))?\]<(?P<stream>stdout|stderr)>:\s?",
    r"\[(?P<local_rank>\d{1,3})\]:(?=[^\s\d])",
    r"\[[\w.@-]+,\d+,(?P<rank>\d+)\](?:\[[^\]]*\])?<(?P<stream>stdout|stderr|stddiag)>:\s?",
    r"\[(?P<level>[DIWEFC])(?P<time>\d{3,4} \d\d:\d\d:\d\d\.\d+)\s+(?:(?P<pid>\d+)\s+)?[\w./+-]+:\d+\] ?",
    rf"\[{_STAMP} (?P<level>[DIWEFC]) (?P<pid>\d+) \d+\] (?:\([\w-]+\) )?[\w./]+:\d+: ",
    rf"\[{_STAMP}\] \[{_LEVEL}\] (?:\[[\w.]+:\d+:\w+\] ?)?(?:\[Rank (?P<rank>\d+)\] )?",
    rf"\[{_STAMP}(?: DP\d+)?(?: PP\d+)?(?: TP(?P<part>\d+))?(?: (?:EP|ATTN_TP|DP)\d+)*\] (?![\w.]+ - )",
    rf"\[NeMo [IWED] {_STAMP}(?: [\w.:-]+)?(?: [\w.]+:\d+)?\] ?",
    rf"\[{_LEVEL}\|[\w.]+:\d+\] {_STAMP} >> ",
    rf"\[{_LEVEL}\|{_STAMP}\] [\w.]+:\d+ >> ",
    rf"\[{_STAMP}\](?:\[(?!rank)[\w.]+\])?(?:\[{_LEVEL}\])?(?: [\w.]+)? - (?:{_LEVEL.replace('level', 'level2')} - )?",
    rf"\[{_STAMP}\](?:\[(?!rank)[\w.]+\])?(?:\[{_LEVEL}\])?:? ?",
    rf"\[{_STAMP}[ ,|-]+{_LEVEL}\]:? ?",
    rf"\[{_STAMP} [a-z]\w*(?:\.\w+)*\]:\s+",
    rf"\[[a-z][\w.-]{{1,24}}\] (?={STAMP}[ ,:-])",
    rf"\[(?:{_CLOCK})\]\s*(?:{_LEVEL}\s+)?",
    rf"\[\w*INFO {_STAMP}\]\s+",
    r"\[PG (?:ID |GUID )?(?:0\b|default)[^\]]*?Rank (?P<rank>\d+)\] ",
    r"\[PG [^\]]*?Rank \d+\] ",
    r"\[(?:pod|container)/[^\]]+\] ",
    r"\[(?i:global[ _-]?)?(?i:rank)[ :=_-]{0,2}(?P<rank>\d+)(?:(?:/| of )(?P<world>\d+))?\]:?\s?",
    r"\[(?i:local[ _-]?rank)[ :=_-]{0,2}(?P<local_rank>\d+)\]:?\s?",
    rf"\[{_WORKER}\]:?\s?",
    rf"\[{_LEVEL}\]:?\s+",
    r"\[(?!rank)[a-z][\w-]{2,30}\] (?=Traceback \(most recent| {2,4}(?:File \"|\S)|[A-Za-z_][\w.]*(?:Error|Exception): )",
)
_PAREN = _Forms(
    rf"\({_WORKER}\):? ?",
    r"\((?i:rank)[ :=_-]{0,2}(?P<rank>\d+)(?:(?:/| of )(?P<world>\d+))?\):? ?",
    r"\((?P<actor>(?:EngineCore|APIServer|ApiServer|Worker)(?:_(?:[DPE]P\d+|TP(?P<part>\d+)|\d+))*)(?: pid=(?P<pid>\d+))?\) ?",
    r"\((?P<actor>[^()=]+? |[^()=]*\([^()]*\) )?(?:rank=(?P<rank>\d+),? )?pid=(?P<pid>\d+)"
    r"(?:, ip=(?P<host>[^)\s,]+))?(?:, \w+=[^)\s,]+)*\) ?",
    r"\((?P<actor>raylet|gcs_server|autoscaler|driver|log_monitor|dashboard)(?: \+[0-9hms]+)?(?:, ip=(?P<host>[^)\s]+))?\) ?",
)
_DIGIT = _Forms(
    rf"(?P<time>\d{{8}}-{_CLOCK}) (?:[\w.]+ )?{_LEVEL}: ",
    rf"{_STAMP} [\w.-]+ [\w./-]+\[\d+\]: ",
    rf"{_STAMP} (?P<stream>stdout|stderr) (?P<tag>[FP]) ",
    rf"{_STAMP}\t{_LEVEL} [\w.]+:\d+ -- ",
    rf"{_STAMP} \| {_LEVEL}\s*\| (?:[\w.<>]+:[\w<>]+:\d+ - )?",
    rf"{_STAMP} {_LEVEL} \[rank (?P<rank>\d+)(?:/(?P<world>\d+))?\] (?:[\w.]+: )?",
    rf"{_STAMP}(?: ?[-|:,] ?| )(?:\[?{_LEVEL}\]?)(?: ?[-|:] ?| )(?:[\w.]+:\d+ ?[-|:\]] ?|(?:__\w+__|\w+(?:\.\w+)+) - )?",
    rf"{_STAMP} - (?!\d)[\w.]+ - (?:{_LEVEL} - )?",
    rf"{_STAMP} - (?P<task>\d{{1,4}}) - [a-z_][\w.]* - \w+\.py:\d+ - {_LEVEL} :: ",
    rf"{_STAMP}(?: - | \| |: |\s+|$)",
    rf"{_CLOCK}(?: - | \| |: |\s+)(?:{_LEVEL}(?: - | \| |: |\s+))?(?=\S)",
    r"(?P<task>\d{1,5}): (?![-\d.na]+, [-\d.na]+ avg)",
    r"(?P<host>[\w.-]+):(?P<pid>\d+):\d+ (?:\[\d+\] |(?=NCCL))",
)
_LETTER = _Forms(
    rf"{_LEVEL} {_STAMP} \[?[\w./]+:\d+\] ?",
    rf"{_LEVEL}\s+(?:- )?{_STAMP}(?: - |: |\s+)",
    r"(?P<level>[DIWEFC])(?P<time>\d{3,4} \d\d:\d\d:\d\d\.\d+)\s+(?:(?P<pid>\d+)\s+)?[\w./+-]+:\d+\] ?",
    r"(?P<level>[DIWEFC])(?P<time>\d{8} \d\d:\d\d:\d\d)(?:\.\d+)? +(?:(?P<pid>\d+) +)?(?:[\w.-]+ +)?[\w./+-]+:\d+\] ?",
    r"(?P<host>[\w.-]+):(?P<pid>\d+):\d+ (?:\[\d+\] |(?=NCCL))",
    rf"{_LEVEL}:[\w.-]+:(?!\d+\])",
    r"(?P<time>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) [\w.-]+ [\w./-]+(?:\[\d+\])?: ",
    r"(?i:rank)[ :=_-]{0,2}(?P<rank>\d+)(?:/(?P<world>\d+))?(?:\]|:|\s*\||,| -)\s+",
    r"(?i:rank)[=:_-]?(?P<rank>\d+)(?:/(?P<world>\d+))?\s+(?=\S)",
    r"[\w.-]+-\d+ +\| ",
    r"[a-z][\w.-]*-(?:\d+|[a-z0-9]{5}) [a-z][\w-]* (?=\[(?:[a-z]+)?\d|\{\"|\d{4}-\d\d-\d\dT)",
    rf"{_WORKER}(?:\]|:|\s*\||,| -)\s+(?!{_COMMAND})",
)
_BY_FIRST = {
    "[": _BRACKET,
    "(": _PAREN,
    **dict.fromkeys("0123456789", _DIGIT),
    **dict.fromkeys("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_", _LETTER),
}

_ONE_GROUP = "[PG "
"""Only in this prefix one digit is told from another: group 0 is the whole run."""

_REPEATED = late_pattern(r" \[repeated (\d+)x across cluster\](?: \(Ray deduplicates logs by default\..*)?\s*$")


class _Layout(Struct, frozen=True, gc=False):
    """Where the prefixes of a line stand: each field, the end of all, the end of the message, and how many more lines Ray did not
    print."""

    fields: tuple[tuple[str, _Place], ...]
    begin: int
    end: int
    repeated: tuple[int, int] | None = None

    def read(self, text: str) -> tuple[Prefix, str]:
        known = {name: read(text[start:end]) for name, (start, end, read) in self.fields}
        if self.repeated is not None:
            known["repeated"] = int(text[slice(*self.repeated)])
        return Prefix(text=text[: self.begin], **known), text[self.begin : self.end]


def strip(text: str) -> tuple[Prefix, str]:
    """The prefixes of a line without escapes, and its bare message.

    If prefixes disagree the outermost one counts, since all lines share its clock; for the level the innermost one does.
    """
    is_shaped = len(text) <= LONGEST and _ONE_GROUP not in text
    layout = _layout_of_shape(shape_of(text)) if is_shaped else _layout(text)
    if layout.begin < layout.end and text.startswith('{"', layout.begin):
        return _strip_envelope(text, layout)
    return layout.read(text)


def _strip_envelope(text: str, layout: _Layout) -> tuple[Prefix, str]:
    """The same where a JSON object may hold the message: with what it says, and the prefixes in the message."""
    inside = opened(text[layout.begin : layout.end])
    if inside is None:
        return layout.read(text)
    outer, _ = layout.read(text)
    said, (inner, message) = inside[0], strip(inside[1])
    known = {**said, **{name: getattr(outer, name) for name in ("repeated", *dict(layout.fields))}}
    for name, value in asdict(inner).items():
        if value != getattr(_NOTHING, name) and (name not in known or name in _INNERMOST):
            known[name] = value
    return Prefix(**{**known, "text": outer.text + inner.text}), message


def _layout(text: str) -> _Layout:
    """The prefixes, up to a JSON object if there is one."""
    position, end, repeated = 0, len(text), None
    known: dict[str, _Place] = {}
    if text.endswith((")", "]")) and (found := _REPEATED.search(text)):
        end, repeated = found.start(), found.span(1)
        text = text[:end]
    for _ in range(_DEEPEST):
        behind = -1 if text.startswith('{"', position) else _learn(text, position, known)
        if behind < 0:
            break
        position = behind
    return _Layout(tuple(known.items()), position, end, repeated)


_layout_of_shape = lru_cache(maxsize=MOST)(_layout)
"""Where the prefixes stand in all lines of one shape."""


def _learn(text: str, position: int, known: dict[str, _Place]) -> int:
    """As `_Forms.learn`, with blanks before the prefix skipped."""
    first = text[position : position + 1]
    while first == " " or first == "\t":
        position += 1
        first = text[position : position + 1]
    forms = _BY_FIRST.get(first)
    return forms.learn(text, position, known) if forms is not None else -1


@lru_cache(maxsize=512)
def strip_head(head: str) -> Prefix:
    """The prefixes at the start of a long line, such as a bar that redraws itself; cached."""
    return strip(head)[0]


# Home-made loops print their rank among the values: `rank 3 step 10 loss 2.1`, `{'step': 10, 'rank': 3}`, `[GPU3] Epoch 5 | …`.
# Only in a step line is it the writer's: other lines may be about another rank ("waiting for rank 3"), and a word before it names
# another kind of rank ("tp rank 1", "LoRA rank 16").
_HINTS = ("ank", "ANK", "gpu", "GPU", "cuda:", "orker ", "roc")
"""Every line that names a rank in its text holds one of these."""

_STEP = late_pattern(
    r"""(?ix)(?<![\w.-]) (?: global_step | steps? | iters? | iterations? | epoch | batch | update | (?:train_)?loss )
    ['"]? (?: \s{0,2} [:=|] \s{0,2} | \s ) \[? \d"""
)
_ALONE = r"(?:^|(?<=[^\w\s.-])\s{0,2}|(?<=\d)[\s,;|]{1,3}|=\S{1,80}\s)"
"""No word may stand before it, unless as the value of another name."""
_SPEAKERS = tuple(
    late_pattern(pattern)
    for pattern in (
        rf"{_ALONE}(?:global[ _]?)?(?i:rank)['\"]?[ :=_#-]{{0,3}}(?P<rank>\d{{1,5}})(?:(?:/| of )(?P<world>\d{{1,5}}))?(?![\w.])",
        rf"{_ALONE}local[ _]?rank['\"]?[ :=_#-]{{0,3}}(?P<local_rank>\d{{1,3}})(?![\w.])",
        rf"{_ALONE}(?:GPU|gpu)[ :=_#-]{{0,2}}(?P<local_rank>\d{{1,2}})(?![\w.])",
        r"(?<!\w)cuda:(?P<local_rank>\d{1,2})(?!\d)",
        rf"^(?i:{'|'.join(MEMBERS)}) (?P<task>\d{{1,3}}) ",
    )
)


def speaker(prefix: Prefix, text: str) -> Prefix:
    """The prefix, with what the text of a step line says of its writer. A rank counts more than a process; a device or a number
    counts only if nothing else is known."""
    if prefix.rank is not None or not any(hint in text for hint in _HINTS) or _STEP.search(text) is None:
        return prefix
    nameless = prefix.pid is None and prefix.local_rank is None and prefix.task is None and prefix.actor is None
    for pattern in _SPEAKERS if nameless else _SPEAKERS[:1]:
        if found := pattern.search(text):
            told: dict[str, Any] = {name: int(value) for name, value in found.groupdict().items() if value is not None}
            return replace(prefix, **told)
    return prefix
