"""The known messages in one file, and those that are told by numbers: a loss that jumps, or is no number."""

from __future__ import annotations

import math
from functools import partial

from msgspec.structs import replace

from hangtop.logs.extract.extractor import Extractor, FoundLine
from hangtop.logs.extract.line_ranks import RankTable
from hangtop.logs.extract.line_writers import LineWriters
from hangtop.logs.extract.literal_index import LiteralIndex
from hangtop.logs.extract.messages import Messages
from hangtop.logs.extract.stages import StageMarks
from hangtop.logs.extract.steps.progress import StepLine
from hangtop.logs.file_facts import FileFacts
from hangtop.logs.lines.block_lines import Lines, Writer

_LOSS_SPIKE = "num.loss_jump"
_NOT_FINITE = {"loss": "num.loss_nan", "grad_norm": "num.grad_nan"}


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
        for signature in found.readers.signatures:
            found.is_first |= self._messages.try_signature(signature, found.line, found.lines, found.span)

    def read_output(self, found: FoundLine) -> None:
        """A line of model output whose end may be missing."""
        if found.readers.signatures:
            messages = self._in_output.setdefault(found.line.writer, self._new())
            for signature in found.readers.signatures:
                messages.try_signature(signature, found.line, found.lines, found.span)

    def output_ended(self, writer: Writer) -> None:
        """This writer is in no such output, so what it held was no message."""
        self._in_output.pop(writer, None)

    def add_step(self, step: StepLine) -> None:
        """The step that `LineWriters` heard last. Its values may be a message."""
        known = self._signatures
        spike = self._writers.loss_spike
        if spike is not None and (signature := known.get(_LOSS_SPIKE)) is not None:
            self._messages.count(signature, step.line, {}, text=spike.text)
        if step.seen.counts:
            for name, signature_id in _NOT_FINITE.items():
                if not math.isfinite(step.seen.metrics.get(name, 0.0)) and signature_id in known:
                    self._messages.count(known[signature_id], step.line, {})

    def skipped(self, counts: dict[int, int]) -> None:
        """So many lines with each literal were not read, because a block holds too many of them."""
        self._messages.skipped(counts)

    def add_facts(self, facts: FileFacts) -> FileFacts:
        return replace(facts, findings=self._messages.findings(self._ranks, facts.file, self._in_output.values()))
