"""Known messages: which were found, how often, by which ranks, and whether the run went on after them.

Some are told by numbers: a loss that jumps, or is no number.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterable, Mapping
from functools import partial
from itertools import islice

from msgspec import Struct, field
from msgspec.structs import replace

from hangtop.common.clean_text import clean_text
from hangtop.logs.catalog.signature import Signature, compiled
from hangtop.logs.extract.extractor import Extractor, FoundLine
from hangtop.logs.extract.line_ranks import RankTable
from hangtop.logs.extract.line_writers import LineWriters
from hangtop.logs.extract.literal_index import LiteralIndex
from hangtop.logs.extract.message_origin import MessageOrigin, origin_of, pid_in
from hangtop.logs.extract.quoted_text import announces_handled, is_handled, is_quoted
from hangtop.logs.extract.stages import StageMarks
from hangtop.logs.extract.steps.progress import StepLine
from hangtop.logs.file_facts import FileFacts
from hangtop.logs.lines.block_lines import Line, Lines, Span, Writer
from hangtop.records.log import TRACEBACK, Finding

_LOSS_SPIKE = "num.loss_jump"
_NOT_FINITE = {"loss": "num.loss_nan", "grad_norm": "num.grad_nan"}

HEALTHY_STEPS = 3
"""A run that makes this many steps after an error has survived it."""

_TRACEBACK_LINES = 200
_KEPT_WRITERS = 4_096
_KEPT_PAST = 256
"""At most this many messages of what may be earlier attempts are kept."""
_SHOWN_CHARS = 400

_EXCEPTION = re.compile(r"^(?P<exception>[A-Za-z_][\w.]*(?:\[[^\]]*\])?)(?::|$|\()")
_NAME_ONLY = re.compile(r"^[A-Za-z_][\w.]*:\s*$")
_FRAME = re.compile(
    r'\s*File "(?P<file>[^"]*)", line (?P<line>\d+)(?:, in (?P<function>[^\r\n]{1,80}))?'
    r"|[│|] (?P<file2>\S{1,200}\.py):(?P<line2>\d+) in (?P<function2>[\w<>.]{1,80})"
)
"""A frame as Python writes it, and as rich draws it."""
_NOT_OWN = re.compile(r"[/\\](?:site|dist)-packages[/\\]|[/\\]lib(?:64)?[/\\]python\d|[/\\]bin[/\\]|^<")
"""Files of installed packages, of Python itself and of launchers. A reader of a traceback looks for the other frames."""
_BETWEEN = re.compile(r"^(?:Traceback|During handling|The above exception|\s|[|+│╭╰┌└-]|$)")

_CHAINED = re.compile(r"During handling of the above exception|The above exception was the direct cause")


class KnownMessages(Extractor):
    """All signatures of one file. Messages in model output whose end may be missing are kept apart: they count as long as nothing
    has ended it."""

    def __init__(self, index: LiteralIndex, ranks: RankTable, writers: LineWriters, stages: StageMarks) -> None:
        self._signatures = index.catalog.signatures
        self._ranks = ranks
        self._writers = writers
        self._new = partial(Messages, index, writers, stages)
        self._messages = self._new()
        self._in_output: dict[Writer, Messages] = {}

    def begin_block(self, lines: Lines) -> None:
        for messages in (self._messages, *self._in_output.values()):
            messages.resume(lines, lines.first())

    def read(self, found: FoundLine) -> None:
        found.is_first |= self._messages.read(found)

    def read_output(self, found: FoundLine) -> None:
        """A line of model output whose end may be missing."""
        if found.readers.signatures:
            self._in_output.setdefault(found.line.writer, self._new()).read(found)

    def output_ended(self, writer: Writer) -> None:
        """This writer is in no such output, so what it held was no message."""
        self._in_output.pop(writer, None)

    def add_step(self, step: StepLine) -> None:
        """The step that `LineWriters` heard last. Its values may be a message."""
        spike = self._writers.loss_spike
        wrong = [(_LOSS_SPIKE, spike.text)] if spike is not None else []
        if step.seen.counts:
            wrong += [(told, "") for name, told in _NOT_FINITE.items() if not math.isfinite(step.seen.metrics.get(name, 0.0))]
        for signature_id, text in wrong:
            if signature_id in self._signatures:
                self._messages.count(self._signatures[signature_id], step.line, {}, text=text)

    def skipped(self, counts: Mapping[int, int]) -> None:
        """So many lines with each literal were not read, because a block holds too many of them."""
        self._messages.skipped(counts)

    def add_facts(self, facts: FileFacts) -> FileFacts:
        return replace(facts, findings=self._messages.findings(self._ranks, facts.file, self._in_output.values()))


class OpenTraceback(Struct):
    """A traceback whose exception has not come yet. `left`: lines to look through. `frame`: its innermost frame so far;
    `own`: the innermost one of the run's own code."""

    tally: SignatureCount
    left: int
    frame: str = ""
    own: str = ""

    def add_frame(self, frame: re.Match[str]) -> None:
        """Takes in its next frame."""
        file, line, function = frame.groups()[:3] if frame["file"] is not None else frame.groups()[3:]
        self.tally.frames = (self.tally.frames[0] or file[:1] != "<", True)
        self.frame = clean_text(f"{file}:{line}" + (f" in {function}" if function else ""))
        if not _NOT_OWN.search(file):
            self.own = self.frame

    def place(self) -> dict[str, str]:
        """Where it was raised, as a group of a finding: `own`, else `frame`."""
        return {"own": self.own} if self.own else {"frame": self.frame} if self.frame else {}


class SignatureCount(Struct):
    """The matches of one signature. `steps`: how many steps the run had made at the last one; `starts`: how many restarts there
    may have been before. `handled`: each match says that the run goes on. `frames`: whether a traceback had frames in files, and
    whether it had any frame. `raised`: the message was the exception of a traceback that nothing handled. `unknown`: the
    exception of this traceback is no known message; `kind`: its kind, if that is known."""

    signature: Signature
    first: Line
    text: str
    groups: dict[str, str]
    last_offset: int
    last_at: float | None
    steps: int
    starts: int
    said: MessageOrigin | None = None
    count: int = 1
    unknown: bool = False
    kind: Signature | None = None
    handled: bool = False
    frames: tuple[bool, bool] = (False, False)
    raised_by: Writer | None = None
    raised_offset: int = -1
    raised: bool = False
    writers: dict[Writer, int] = field(default_factory=dict)


class Messages:
    """All signatures of one file."""

    def __init__(self, index: LiteralIndex, writers: LineWriters, stages: StageMarks) -> None:
        self._index, self._writers, self._stages = index, writers, stages
        self.tallies: dict[str, SignatureCount] = {}
        self._past: deque[SignatureCount] = deque(maxlen=_KEPT_PAST)
        self._tracebacks: dict[Writer, OpenTraceback] = {}
        self._pardoned: set[int] = set()
        self._raised_at: set[int] = set()

    def read(self, found: FoundLine) -> bool:
        """Counts the line for each message that it is. Returns whether it is the first one of any."""
        first = [self._try(signature, found.line, found.lines, found.span) for signature in found.readers.signatures]
        return any(first)

    def _try(self, signature: Signature, line: Line, lines: Lines, span: Span) -> bool:
        told = compiled(signature.regex).search(line.text)
        if told is None or is_quoted(line.text, told.start(), lines, span):
            return False
        groups = {name: value for name, value in told.groupdict().items() if value}
        handled = signature.severity == "fatal" and self._is_handled(signature, line, lines, span)
        tally = self.count(signature, line, groups, handled=handled)
        if tally.said is None:
            tally.said = origin_of(line, lines, span)
        if signature.id == TRACEBACK:
            self._follow(OpenTraceback(tally, _TRACEBACK_LINES), line.writer, lines, lines.next(span))
        return tally.first.offset == line.offset

    def count(
        self, signature: Signature, line: Line, groups: dict[str, str], *, handled: bool = False, text: str = ""
    ) -> SignatureCount:
        """Counts a match. An error that comes back after the run went on, or that is not `handled` as the earlier ones were,
        starts a new count: the run survived the older ones. So does any message after a possible restart. `text`: what the
        message says, if that is not the line itself."""
        tally = self.tallies.get(signature.id)
        steps, starts = self._writers.steps(), self._stages.starts
        if tally is not None and tally.starts != starts and line.offset > tally.last_offset:
            self._past.append(tally)
            tally = None
        text = text or clean_text(line.text.strip())[:_SHOWN_CHARS]
        if tally is None or (line.offset > tally.last_offset and _is_new(tally, steps, handled)):
            tally = self.tallies[signature.id] = SignatureCount(
                signature, line, text, groups, line.offset, line.at, steps, starts, handled=handled
            )
        elif line.offset > tally.last_offset:
            tally.count += 1
            tally.last_offset, tally.last_at, tally.steps = line.offset, line.at, steps
        elif line.offset == tally.first.offset:
            tally.first, tally.text, tally.handled = line, text, handled
        tally.raised = tally.raised or line.offset in self._raised_at
        if len(tally.writers) < _KEPT_WRITERS:
            tally.writers.setdefault(line.writer, line.offset)
        return tally

    def _is_handled(self, signature: Signature, line: Line, lines: Lines, span: Span) -> bool:
        """Whether the run handled the error: the line says so, or the line above its traceback does."""
        if line.offset in self._raised_at:
            return False
        if line.offset in self._pardoned or is_handled(line.text):
            return True
        told = next(lines.above(span), None) if signature.id == TRACEBACK else None
        if told is None or told.writer != line.writer:
            return False
        if _CHAINED.match(told.text):
            return TRACEBACK in self.tallies and self.tallies[TRACEBACK].handled
        return announces_handled(told.text)

    def resume(self, lines: Lines, first: Span | None) -> None:
        """Continues the tracebacks that were open at the end of the previous block."""
        waiting, self._tracebacks = self._tracebacks, {}
        for writer, trace in waiting.items():
            self._follow(trace, writer, lines, first)

    def _follow(self, trace: OpenTraceback, writer: Writer, lines: Lines, span: Span | None) -> None:
        """Looks for the exception of a traceback: the first line by the same writer that is not indented."""
        name = None
        while span is not None and trace.left > 0:
            trace.left -= 1
            after = lines.next(span)
            if name is not None and not _alike(lines.name_of(span), name):
                span = after
                continue
            line = lines.parse(span)
            if name is None and line.writer == writer:
                name = lines.name_of(span)
            if line.writer == writer and (frame := _FRAME.match(line.text)):
                trace.add_frame(frame)
            if line.writer == writer and not _BETWEEN.match(line.text):
                unfinished = after is None and lines.block.open
                if not self._raised(trace, line, _message_below(lines, span, line)) and not unfinished:
                    self._tell_kind(trace.tally, line)
                    return
            span = after
        if trace.left > 0:
            self._tracebacks[writer] = trace

    def _raised(self, trace: OpenTraceback, line: Line, below: str) -> bool:
        """Takes in the exception of a traceback. Returns whether to look further, since it only wraps another one (Ray's do).
        `below`: its text, if that begins on the next line.

        An exception that is no known message is a cause of its own, and stands for all tracebacks.
        """
        found, tally = _EXCEPTION.match(line.text), trace.tally
        if found is None:
            return False
        tally.handled = tally.handled or tally.frames == (False, True)  # code that came as a string, a model's as a rule
        if tally.handled:
            self._pardoned.add(line.offset)
        else:
            self._raised_at.add(line.offset)
        roles = self._index.roles(line.text) or self._index.roles(below)
        if "exception" not in tally.groups or tally.raised_offset == line.offset or (not roles and not tally.unknown):
            tally.text = clean_text(f"{line.text.strip()} {below}".strip())[:_SHOWN_CHARS]
            tally.groups = {"exception": found["exception"], **trace.place()}
            tally.unknown, tally.kind = not roles, None
            tally.raised_by, tally.raised_offset = line.writer, line.offset
        if "summary" in roles and (pid := pid_in(line.text)) is not None:
            tally.said = MessageOrigin(pid=pid)
        return "summary" in roles

    def _tell_kind(self, tally: SignatureCount, line: Line) -> None:
        """The words of an exception that no signature knows may still tell its kind."""
        if not tally.handled and tally.unknown and tally.raised_offset == line.offset:
            tally.kind = next((kind for kind in self._index.kinds if compiled(kind.regex).search(tally.text)), None)

    def skipped(self, counts: Mapping[int, int]) -> None:
        """Counts the lines of a flood that were not parsed, by literal, for each message that was found in the parsed ones."""
        for number, count in counts.items():
            for signature in self._index.each[number].signatures:
                if (tally := self.tallies.get(signature.id)) is not None:
                    tally.count += count

    def findings(self, ranks: RankTable, file: int, asides: Iterable[Messages]) -> tuple[Finding, ...]:
        """The findings, earliest first. `asides`: the messages in texts whose end has not been seen; they count until it is."""
        everything: dict[str, SignatureCount] = {}
        for messages in (*asides, self):
            everything |= messages.tallies
        tallies = sorted((*self._past, *everything.values()), key=lambda tally: tally.first.offset)
        newest = self._writers.newest_steps()
        told = [(tally, self._survived(tally, newest)) for tally in tallies]
        over = {tally.starts for tally, survived in told if tally.signature.id == TRACEBACK and not survived}
        return tuple(_finding(tally, ranks, file, is_over=tally.starts in over, survived=survived) for tally, survived in told)

    def _survived(self, tally: SignatureCount, newest_steps: Mapping[Writer, int]) -> bool:
        """Whether the run, and the writer of the message if it writes steps, went on well after it. The message itself may look
        like a step (`OOM in batch 4, skipped`); that is none. `newest_steps`: their offsets."""
        if tally.signature.severity == "hint":
            return False
        if tally.handled:
            return True
        if self._writers.steps() - tally.steps < HEALTHY_STEPS:
            return False
        last = max(tally.writers, key=lambda writer: tally.writers[writer], default=())
        newest = newest_steps.get(last, -1)
        return newest < 0 or newest > tally.last_offset or newest == tally.first.offset


def _is_new(tally: SignatureCount, steps: int, handled: bool) -> bool:
    healthy = steps - tally.steps >= HEALTHY_STEPS
    return tally.signature.severity == "fatal" and (healthy or (tally.handled and not handled))


def _message_below(lines: Lines, span: Span, line: Line) -> str:
    """The first line of an exception's text that begins below its name (`RuntimeError:`, then an indented message); else ""."""
    if not _NAME_ONLY.match(line.text):
        return ""
    below = (below.text.strip() for below in islice(lines.below(span), 3) if below.writer == line.writer)
    return next(filter(None, below), "")


def _alike(name: bytes, other: bytes) -> bool:
    """Whether two names are of one writer: text behind the name may look like a part of it (`rank2: Error: rank2_0.bin`)."""
    return name.startswith(other) or other.startswith(name)


def _finding(tally: SignatureCount, ranks: RankTable, file: int, *, is_over: bool, survived: bool) -> Finding:
    """`is_over`: the run ended with a traceback. A warning that was the exception of that traceback is fatal."""
    signature = tally.signature
    ended_it = is_over and tally.raised and (signature.severity, signature.role) == ("warning", "cause")
    written = {ranks.rank_of(writer) for writer in tally.writers}
    by = tally.first.writer if tally.raised_by is None else tally.raised_by
    return Finding(
        id=signature.id,
        severity="fatal" if ended_it else signature.severity,
        role="cause" if tally.unknown and signature.role == "summary" else signature.role,
        offset=tally.first.offset,
        text=tally.text,
        file=file,
        rank=ranks.rank_of(by) if tally.said is None else tally.said.rank_in(ranks),
        at=tally.first.at,
        last_offset=tally.last_offset,
        last_at=tally.last_at,
        count=tally.count,
        ranks=tuple(sorted(rank for rank in written if rank is not None)),
        groups=tally.groups if tally.kind is None else {**tally.groups, "kind": tally.kind.id},
        survived=survived,
        hang=signature.hang,
        cause=(tally.kind or signature).cause,
    )
