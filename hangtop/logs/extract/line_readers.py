"""What the catalog says may be read from a line, by the literals that the line holds."""

from __future__ import annotations

from msgspec import Struct

from hangtop.logs.catalog.profile import Detect, FreeText, Marker, MeshLine, Profile, ProgressLine, Stage
from hangtop.logs.catalog.signature import Signature, compiled
from hangtop.logs.extract.step_tables import Columns


class StageMarker(Struct, frozen=True):
    """A marker with the stage that it proves, or ends."""

    profile: Profile
    stage: Stage
    marker: Marker
    done: bool = False

    def matches(self, text: str) -> bool:
        """Whether a message that holds one of its literals is this marker."""
        return self.marker.regex is None or compiled(self.marker.regex).search(text) is not None


class ProgressReader(Struct, frozen=True):
    """A progress line with the profiles that have it: a refining profile shares those of the one that it refines."""

    profiles: tuple[Profile, ...]
    progress: ProgressLine
    stages: tuple[tuple[Profile, Stage], ...] = ()


class TotalReader(Struct, frozen=True):
    """A line that tells the total of a progress line's steps."""

    reader: ProgressReader


class GroupsReader(Struct, frozen=True):
    """A line that names the parallel groups, with its profile."""

    profile: Profile
    line: MeshLine


class LineReaders(Struct, frozen=True):
    """All that may be read from a line, because of the literals it holds. Specific profiles stand before base ones.

    `extractors`: those with literals of their own, of which the line holds one.
    """

    progress: tuple[ProgressReader, ...] = ()
    tables: tuple[Columns, ...] = ()
    totals: tuple[TotalReader, ...] = ()
    stages: tuple[StageMarker, ...] = ()
    signatures: tuple[Signature, ...] = ()
    detects: tuple[tuple[Profile, Detect], ...] = ()
    free_text: tuple[tuple[Profile, FreeText], ...] = ()
    groups: tuple[GroupsReader, ...] = ()
    ends_free_text: bool = False
    extractors: frozenset[type] = frozenset()

    def markers(self, text: str) -> tuple[StageMarker, ...]:
        """The stage markers that this message matches."""
        return tuple(marker for marker in self.stages if marker.matches(text))
