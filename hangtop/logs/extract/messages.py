"""Known messages: which were found, how often, by which ranks, and whether the run went on after them.

Some are told by numbers: a loss that jumps, or is no number.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import islice, takewhile

from msgspec.structs import replace

from hangtop.common.clean_text import clean_text
from hangtop.common.late_pattern import compiled, late_pattern
from hangtop.logs.catalog.signature import Signature
from hangtop.logs.extract.extractor import Extractor, FoundLine
from hangtop.logs.extract.line_ranks import RankTable
from hangtop.logs.extract.line_writers import LineWriters
from hangtop.logs.extract.literal_index import LiteralIndex
from hangtop.logs.extract.message_origin import MessageOrigin, named_in, origin_of, pid_in
from hangtop.logs.extract.open_traceback import FRAME, OpenTraceback, broken_by, shows_source
from hangtop.logs.extract.outlived import Outlived, likeness
from hangtop.logs.extract.quoted_text import announces_handled, gives_advice, is_handled, is_quoted
from hangtop.logs.extract.signature_count import SignatureCount, finding_of
from hangtop.logs.extract.stages import StageMarks
from hangtop.logs.extract.steps.pace import HEALTHY_STEPS
from hangtop.logs.extract.steps.progress import StepLine
from hangtop.logs.extract.text_headings import TextHeadings
from hangtop.logs.extract.told_again import ToldAgain
from hangtop.logs.file_facts import FileFacts
from hangtop.logs.lines.block_lines import Line, Lines, Span, Writer
from hangtop.records.log import TRACEBACK, Finding

_LOSS_SPIKE = "num.loss_jump"
_NOT_FINITE = {"loss": "num.loss_nan", "grad_norm": "num.grad_nan"}

_TRACEBACK_LINES = 200
_KEPT_WRITERS = 4_096
_KEPT_ABOUT = 1_024
_KEPT_PAST = 256
"""At most this many messages of what may be earlier attempts are kept."""
_SHOWN_CHARS = 400
_LINES_OF_TEXT = 8

_EXCEPTION = late_pattern(r"^(?P<exception>[A-Za-z_][\w.]*(?:\[[^\]]*\])?)(?::|$|\()")
_NAME_ONLY = late_pattern(r"^[A-Za-z_][\w.]*:\s*$")
_BETWEEN = late_pattern(r"^(?:Traceback|During handling|The above exception|\s|[|+│╭╰┌└-]|$)")

_HANDS_ON = "RayTaskError("
"""What stands before the name of an error that Ray hands on: the error itself follows below."""

_DIRECT = late_pattern(r"The above exception was the direct cause")
_BARE = ("AssertionError", "AssertionError:")
"""The exception of an `assert` without words: what it checks says more."""
_CHECKED = late_pattern(r"\s{1,8}(?:Value|Assertion) error, ")
_CHAINED = late_pattern(rf"During handling of the above exception|{_DIRECT.pattern}")


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

    def reopened(self, offset: int) -> None:
        self._messages.rotated()
        self._in_output = {}

    def skipped(self, counts: Mapping[int, int]) -> None:
        """So many lines with each literal were not read, because a block holds too many of them."""
        self._messages.skipped(counts)

    def add_facts(self, facts: FileFacts) -> FileFacts:
        return replace(facts, findings=self._messages.findings(self._ranks, facts.file, self._in_output.values()))


class Messages:
    """All signatures of one file."""

    def __init__(self, index: LiteralIndex, writers: LineWriters, stages: StageMarks) -> None:
        self._index, self._writers, self._stages = index, writers, stages
        self.tallies: dict[str, SignatureCount] = {}
        self._past: deque[SignatureCount] = deque(maxlen=_KEPT_PAST)
        self._tracebacks: dict[Writer, OpenTraceback] = {}
        self._pardoned: set[int] = set()
        self._raised_at: set[int] = set()
        self._raised_in: dict[int, MessageOrigin] = {}
        self._frames_of: dict[int, tuple[str, ...]] = {}
        self._again = ToldAgain()
        self._headings = TextHeadings()
        self._outlived = Outlived()

    def read(self, found: FoundLine) -> bool:
        """Counts the line for each message that it is. Returns whether it is the first one of any."""
        is_first = is_known = False
        for signature in found.readers.signatures:  # families come last
            if signature.family and (is_known or self._is_no_family(signature, found.line)):
                continue
            tally = self._try(signature, found.line, found.lines, found.span)
            if tally is not None:
                is_known = is_known or not signature.wrapper
                is_first = is_first or tally.first.offset == found.line.offset
        return is_first

    def _is_no_family(self, signature: Signature, line: Line) -> bool:
        """Whether the common words of a family mean nothing in this line: advice, or an exception that tells who waited."""
        return gives_advice(line.text) or (signature.role != "cause" and line.offset in self._raised_at)

    def _try(self, signature: Signature, line: Line, lines: Lines, span: Span) -> SignatureCount | None:
        """The matches of the signature, if this line is one."""
        found = compiled(signature.regex).finditer(line.text)
        told = next((match for match in found if not line.text.endswith(_HANDS_ON, 0, match.start())), None)
        if told is None or is_quoted(line.text, told.start(), lines, span) or shows_source(line, lines, span):
            return None
        if not self._again.may_be(signature, line.text, self._frames_of.get(line.offset, ())):
            return None
        groups = {name: value for name, value in told.groupdict().items() if value}
        handled = signature.severity == "fatal" and self._is_handled(signature, line, lines, span)
        tally = self.count(signature, line, groups, handled=handled)
        about = origin_of(line, lines, span) if len(tally.about) < _KEPT_ABOUT else None
        about = about or self._raised_in.get(line.offset)
        tally.said = tally.said or about
        if about is not None:
            tally.about.setdefault(about)
        if signature.id == TRACEBACK:
            known, unknown = self._chained(line, lines, span)
            trace = OpenTraceback(tally, _TRACEBACK_LINES, handled, passes_on=known, explains=unknown)
            writer = _writer_of_frames(line, lines, span)
            trace.announced_by = None if writer == line.writer else line.writer
            self._follow(trace, writer, lines, lines.next(span))
        return tally

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
        elif line.offset > tally.last_offset and handled and not tally.handled:
            return tally  # of what it goes on after, this one tells nothing: when it came is no news of the others
        elif line.offset > tally.last_offset:
            tally.count += 1
            tally.last_offset, tally.last_at, tally.steps = line.offset, line.at, steps
        elif line.offset == tally.first.offset:
            tally.first, tally.text, tally.handled = line, text, handled
        if signature.id != TRACEBACK:  # of which the exception tells
            self._liken(tally, line, tally.groups)
        tally.raised = tally.raised or line.offset in self._raised_at
        if len(tally.writers) < _KEPT_WRITERS:
            tally.writers.setdefault(line.writer, line.offset)
        return tally

    def _liken(self, tally: SignatureCount, line: Line, groups: Mapping[str, str]) -> None:
        alike = likeness(tally.signature.id, line.text, groups)
        tally.liken(line.offset, outlived=self._outlived.add(alike, self._stages.starts, self._writers.steps()))

    def _is_handled(self, signature: Signature, line: Line, lines: Lines, span: Span) -> bool:
        """Whether the run handled the error: the line says so, or the line above its traceback does."""
        if line.offset in self._raised_at:
            return False
        if line.offset in self._pardoned or is_handled(line.text) or self._stands_in_text(lines, span):
            return True
        told = next(lines.above(span), None) if signature.id == TRACEBACK else None
        if told is None or told.writer != line.writer:
            return False
        if _CHAINED.match(told.text):
            return TRACEBACK in self.tallies and self.tallies[TRACEBACK].handled
        return announces_handled(told.text)

    def _chained(self, line: Line, lines: Lines, span: Span) -> tuple[bool, bool]:
        """Whether a traceback was raised from a known exception of the same writer; whether from an unknown one, or beside it."""
        tally = self.tallies.get(TRACEBACK)
        above = next(lines.above(span), None)
        if above is None or tally is None or {above.writer, tally.raised_by} != {line.writer} or not _CHAINED.match(above.text):
            return False, False
        return _DIRECT.match(above.text) is not None and not tally.unknown, tally.unknown

    def _stands_in_text(self, lines: Lines, span: Span) -> bool:
        """Whether such messages stood under such a heading before, and the run went on: it shows data, or what a model wrote."""
        newest = max(self._writers.newest_steps().values(), default=-1)
        return self._headings.was_survived(lines, span, self._writers.steps(), newest)

    def rotated(self) -> None:
        """The file begins anew: where its lines stand tells nothing of those before. What the run survived by now it survived."""
        newest = self._writers.newest_steps()
        for tally in self.tallies.values():
            tally.survived, tally.rotated = self._survived(tally, newest), True
        self._past.extend(self.tallies.values())
        self.tallies, self._tracebacks = {}, {}
        self._pardoned, self._raised_at, self._frames_of = set(), set(), {}

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
            if line.writer == writer and (frame := FRAME.match(line.text)):
                trace.add_frame(frame)
            elif line.writer == writer and line.text[:4] == "    ":
                trace.add_source(line.text)
            if line.writer == writer and not _BETWEEN.match(line.text) and not broken_by(line, lines, span):
                unfinished = after is None and lines.block.open
                text, following = _message_below(lines, span, line), _goes_on_below(lines, span, line)
                more = _lines_below(lines, span, line)
                if not self._raised(trace, line, text, following, more) and not unfinished:
                    self._tell_kind(trace, line)
                    return
            span = after
        if trace.left > 0:
            self._tracebacks[writer] = trace

    def _raised(self, trace: OpenTraceback, line: Line, below: str, following: str, more: Sequence[str]) -> bool:
        """Takes in the exception of a traceback. Returns whether to look further, since it only wraps another one (Ray's do).
        `below`: its text, if that begins on the next line; `following`: that line, if the text goes on there; `more`: its
        indented lines below.

        An exception that is no known message is a cause of its own, and stands for all tracebacks.
        """
        found, tally = _EXCEPTION.match(line.text), trace.tally
        if found is None:
            return False
        tally.handled = tally.handled or tally.frames == (False, True)  # code that came as a string, a model's as a rule
        if tally.handled or trace.handled:
            self._pardoned.add(line.offset)
        else:
            self._raised_at.add(line.offset)
            self._liken(tally, line, trace.place())
        self._frames_of[line.offset] = trace.files
        if len(self._frames_of) > _KEPT_ABOUT:
            del self._frames_of[next(iter(self._frames_of))]
        roles = self._index.roles(line.text, trace.files) or self._index.roles(below, trace.files)
        if not roles and any(map(self._index.names_fault, more)):  # the reason stands further down in its text
            roles = {"cause"}
        if trace.handled and not tally.handled:  # beside one that nothing handled
            return "summary" in roles
        passed_on = trace.passes_on and not roles
        is_deepest = self._again.is_deepest(self._stages.starts, line.text, len(trace.files))
        explained = trace.explains and tally.unknown and self._index.names_fault(f"{line.text} {below}")
        again = "exception" not in tally.groups or tally.raised_offset == line.offset
        if not passed_on and (again or explained or (not roles and not tally.unknown)):
            said = f"{line.text.strip()} {below or _reason_in(more)}".strip()
            checks = trace.checks if said in _BARE else ""
            tally.text = clean_text(f"{said.rstrip(':')}: {checks}" if checks else said)[:_SHOWN_CHARS]
            tally.groups = {"exception": found["exception"], **trace.place()}
            tally.unknown, tally.kind = not roles, None
            tally.raised_by, tally.raised_offset = trace.announced_by or line.writer, line.offset
        elif trace.wraps and is_deepest:  # known by itself; it was raised further in than what wraps it
            tally.groups = {"exception": tally.groups["exception"], **trace.place()}
        trace.wraps = "summary" in roles
        if "summary" in roles and (pid := pid_in(line.text)) is not None:
            tally.said = trace.said = MessageOrigin(pid=pid)
        elif roles and trace.said is not None:
            self._raised_in[line.offset] = trace.said
        if (named := named_in(f"{line.text} {below or following}")) is not None and (named.pid is None or tally.said is None):
            tally.said = named
        return "summary" in roles

    def _tell_kind(self, trace: OpenTraceback, line: Line) -> None:
        """The words of an exception that no signature knows, or where it was raised, may still tell its kind."""
        tally = trace.tally
        if not tally.handled and tally.unknown and tally.raised_offset == line.offset:
            kinds = (kind for kind in self._index.kinds if kind.was_raised_in(trace.files))
            said = tally.text.partition(f": {trace.checks}")[0] if trace.checks else tally.text  # code is no words for a kind
            tally.kind = next((kind for kind in kinds if compiled(kind.regex).search(said)), None)

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
        newest = self._writers.newest_steps() if tallies else {}
        told = [(tally, self._survived(tally, newest)) for tally in tallies]
        over = {tally.starts for tally, survived in told if tally.signature.id == TRACEBACK and not survived}
        return tuple(finding_of(tally, ranks, file, is_over=tally.starts in over, survived=survived) for tally, survived in told)

    def _survived(self, tally: SignatureCount, newest_steps: Mapping[Writer, int]) -> bool:
        """Whether the run, and the writer of the message if it writes steps, went on well after it. The message itself may look
        like a step (`OOM in batch 4, skipped`); that is none. `newest_steps`: their offsets."""
        if tally.signature.severity == "hint":
            return False
        if tally.handled or tally.survived:
            return True
        enough = 1 if tally.outlived else HEALTHY_STEPS
        if self._writers.steps() - tally.steps < enough or not self._writers.stand_behind(tally.last_offset, enough):
            return False
        if tally.rotated:
            return True
        last = max(tally.writers, key=lambda writer: tally.writers[writer], default=())
        newest = newest_steps.get(last, -1)
        return newest < 0 or newest > tally.last_offset or newest == tally.first.offset


def _is_new(tally: SignatureCount, steps: int, handled: bool) -> bool:
    healthy = steps - tally.steps >= HEALTHY_STEPS
    return tally.signature.severity == "fatal" and (healthy or (tally.handled and not handled))


def _writer_of_frames(line: Line, lines: Lines, span: Span) -> Writer:
    """Who writes the frames of a traceback that begins in a logger's line: its stamp stands before its first line alone."""
    below = None if line.text.startswith("Traceback") else lines.next(span)
    first = None if below is None else lines.parse(below)
    return first.writer if first is not None and not first.prefix.text and FRAME.match(first.text) else line.writer


def _message_below(lines: Lines, span: Span, line: Line) -> str:
    """The first line of an exception's text that begins below its name (`RuntimeError:`, then an indented message); else ""."""
    if not _NAME_ONLY.match(line.text):
        return ""
    below = (below.text.strip() for below in islice(lines.below(span), 3) if below.writer == line.writer)
    return next(filter(None, below), "")


def _lines_below(lines: Lines, span: Span, line: Line) -> list[str]:
    """The indented lines right below an exception, which belong to its text (gRPC's status, pydantic's list of errors)."""
    below = (below for below in islice(lines.below(span), _LINES_OF_TEXT) if below.writer == line.writer)
    return [each.text for each in takewhile(lambda each: each.text[:1].isspace(), below)]


def _reason_in(more: Sequence[str]) -> str:
    """What a check of pydantic says, which stands below the head line of its exception: `Value error, the size is too large`."""
    return next((text.strip() for text in more if _CHECKED.match(text)), "")


def _goes_on_below(lines: Lines, span: Span, line: Line) -> str:
    """The line below an exception whose text ends with a colon; else "". It may begin like another writer's (`[Rank 2]:`)."""
    below = next(lines.below(span), None) if line.text.rstrip().endswith(":") else None
    return "" if below is None else f"{below.prefix.text}{below.text}".strip()


def _alike(name: bytes, other: bytes) -> bool:
    """Whether two names are of one writer: text behind the name may look like a part of it (`rank2: Error: rank2_0.bin`)."""
    return name.startswith(other) or other.startswith(name)
