"""An extractor goes over the lines of one file and learns one kind of fact from them: ranks, steps, stages, messages, …

`Digest` holds all of them in one list and hands each line to each, in the order of that list. An extractor that needs no other is
one file beside this one and one entry in `literal_index.INDEPENDENT`.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from hangtop.common.late_pattern import compiled
from hangtop.logs.catalog.profile import Detect, FreeText, Marker, MeshLine, Profile, ProgressLine, Stage
from hangtop.logs.catalog.signature import Signature
from hangtop.logs.extract.steps.step_tables import Columns
from hangtop.logs.file_facts import FileFacts
from hangtop.logs.lines.block_lines import Line, Lines, Span


class StageMarker(Struct, frozen=True):
    """A marker with the stage that it proves, or ends."""

    profile: Profile
    stage: Stage
    marker: Marker
    done: bool = False


class ProgressReader(Struct, frozen=True):
    """A progress line with the profiles that have it: a refining profile shares those of the one that it refines."""

    profiles: tuple[Profile, ...]
    progress: ProgressLine
    stages: tuple[tuple[Profile, Stage], ...] = ()


class LineReaders(Struct, frozen=True):
    """All that may be read from a line, because of the literals it holds. Specific profiles stand before base ones.

    `totals`: progress lines whose total it may tell. `groups`: lines that name the parallel groups. `ends_text`: markers that end
    free text. `extractors`: those with literals of their own.
    """

    progress: tuple[ProgressReader, ...] = ()
    tables: tuple[Columns, ...] = ()
    totals: tuple[ProgressReader, ...] = ()
    stages: tuple[StageMarker, ...] = ()
    signatures: tuple[Signature, ...] = ()
    detects: tuple[tuple[Profile, Detect], ...] = ()
    free_text: tuple[tuple[Profile, FreeText], ...] = ()
    groups: tuple[tuple[Profile, MeshLine], ...] = ()
    ends_text: tuple[Marker, ...] = ()
    extractors: tuple[type, ...] = ()

    def markers(self, text: str) -> list[StageMarker]:
        """The stage markers that this message matches."""
        regexes = ((stage, stage.marker.regex) for stage in self.stages)
        return [stage for stage, regex in regexes if regex is None or compiled(regex).search(text)]


class FoundLine(Struct):
    """A line in which the scan found something, on its way through the extractors. `lines` and `span`: its block, and where it
    stands there. `readers`: what the catalog says may be read from it. `markers`: the stage markers that it matches.

    Extractors set the other two for those behind them. `is_full_bar`: it is a progress bar at its end. `is_first`: it is the
    first of a known message, or of a stage of the start; its time is compared with that of lines in other files.
    """

    line: Line
    lines: Lines
    span: Span
    readers: LineReaders
    markers: list[StageMarker]
    is_full_bar: bool = False
    is_first: bool = False


class Extractor:
    """Learns one kind of fact. Each method does nothing by default: override those that are needed."""

    literals: ClassVar[tuple[str, ...]] = ()
    """Texts that it searches for itself: `read` gets only lines that hold one of them. Empty: `read` gets each line in which
    anything of the catalog was found."""

    def begin_block(self, lines: Lines) -> None:
        """The lines that follow are of this block. What was open at the end of the block before goes on in it."""

    def note_writer(self, line: Line) -> None:
        """A line, whatever it says: its prefix tells who wrote it. The same line may come again."""

    def read(self, found: FoundLine) -> None:
        """A line in which the scan found something. Lines come in the order of the file."""

    def reopened(self, offset: int) -> None:
        """The file begins anew at this byte, since it was rotated or truncated; the run goes on."""

    def add_facts(self, facts: FileFacts) -> FileFacts:
        """The facts of the file with those of this extractor."""
        return facts
