"""Who wants which literal: everything a catalog knows, turned round so that one scan serves all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct

from hangtop.logs.catalog.load import Catalog
from hangtop.logs.catalog.profile import Detect, FreeText, Marker, MeshLine, Profile, ProgressLine, Stage
from hangtop.logs.catalog.signature import Signature, compiled
from hangtop.logs.extract import line_ranks, notices, ray_sessions_named
from hangtop.logs.extract.stages import TRAINING
from hangtop.logs.extract.step_tables import Columns
from hangtop.logs.lines.literal_scan import Hit, Scanner
from hangtop.records.log import Role


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


class TotalReader(Struct, frozen=True):
    """A line that tells the total of a progress line's steps."""

    reader: ProgressReader


class GroupsReader(Struct, frozen=True):
    """A line that names the parallel groups, with its profile."""

    profile: Profile
    line: MeshLine


class LineReaders(Struct, frozen=True):
    """All that may be read from a line, because of the literals it holds. Specific profiles stand before base ones."""

    progress: tuple[ProgressReader, ...] = ()
    tables: tuple[Columns, ...] = ()
    totals: tuple[TotalReader, ...] = ()
    stages: tuple[StageMarker, ...] = ()
    signatures: tuple[Signature, ...] = ()
    detects: tuple[tuple[Profile, Detect], ...] = ()
    free_text: tuple[tuple[Profile, FreeText], ...] = ()
    groups: tuple[GroupsReader, ...] = ()
    ends_free_text: bool = False
    rank: bool = False
    notice: bool = False
    ray: bool = False


MOST_FINDERS = 2
MUCH = 1 << 20
"""Bytes at once from which the fast scan is worth the 40 ms and the 9 MB that it takes to make."""

_RANK = "rank"
_NOTICE = "notice"
_RAY = "ray"
_END = "end"


class LiteralIndex:
    """One scanner for a catalog, and what each of its literals may mean. Shared by all files of a run; it never changes."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        wanted: dict[str, list[Any]] = {}
        for literals, owner in _owners(catalog):
            for literal in literals:
                wanted.setdefault(literal, []).append(owner)
        self.kinds = tuple(each for each in catalog.signatures.values() if each.kind)
        base = [profile for profile in catalog.profiles.values() if profile.base]
        self.training = [(profile, stage) for profile in base for stage in profile.stage if stage.id == TRAINING]
        self.scanner = Scanner(wanted)
        self._wants: dict[frozenset[int], LineReaders] = {}
        self._finders: dict[frozenset[int], Callable[[bytes], list[Hit]]] = {}
        self._used: set[frozenset[int]] = set()
        each = [_wants([owners]) for owners in self.scanner.owners]
        self.is_progress = [bool(wants.progress) for wants in each]
        self.begins_text = [any(text.max_lines > 1 for _, text in wants.free_text) for wants in each]
        self.ends_text = [wants.ends_free_text for wants in each]
        self.signatures = [wants.signatures for wants in each]
        self.only_detects = {
            number: wants.detects
            for number, (wants, owners) in enumerate(zip(each, self.scanner.owners, strict=True))
            if wants.detects and len(wants.detects) == len(owners)
        }

    def wants(self, numbers: frozenset[int]) -> LineReaders:
        """What a line may mean that holds these literals."""
        known = self._wants.get(numbers)
        if known is None:
            known = self._wants[numbers] = _wants([self.scanner.owners[number] for number in sorted(numbers)])
        return known

    def finder(self, left_out: frozenset[int], size: int) -> Callable[[bytes], list[Hit]]:
        """A scan for a block of so many bytes that leaves out these literals, which have no more to say.

        For much to read a fast one is made. It is large: few are kept, those that were used last.
        """
        find = self._finders.pop(left_out, None)
        if find is None:
            if size < MUCH:
                return lambda data: [hit for hit in self.scanner.hits(data) if hit[0] not in left_out]
            find = self.scanner.without(left_out)
        self._finders[left_out] = find
        self._used.add(left_out)
        if len(self._finders) > MOST_FINDERS:
            del self._finders[next(iter(self._finders))]
        return find

    def rest(self) -> bool:
        """The fast scans that were not used since the last call go until they are needed again. Whether there was one."""
        idle = self._finders.keys() - self._used
        for left_out in idle:
            del self._finders[left_out]
        self._used.clear()
        return bool(idle)

    def roles(self, text: str) -> set[Role]:
        """The roles of the known messages in a text."""
        numbers = frozenset(number for number, _, _ in self.scanner.hits(text.encode()))
        return {each.role for each in self.wants(numbers).signatures if compiled(each.regex).search(text)}


def _owners(catalog: Catalog) -> Iterator[tuple[Iterable[str], Any]]:
    for reader in _readers(catalog):
        yield reader.progress.literal, reader
        yield reader.progress.total_literal, TotalReader(reader)
    for profile in catalog.profiles.values():
        for stage in profile.stage:
            for marker in stage.enter:
                yield marker.literal, StageMarker(profile, stage, marker)
            for marker in stage.done:
                yield marker.literal, StageMarker(profile, stage, marker, done=True)
        for table in profile.table:
            yield table.literal, Columns(profile, table, _stages((profile,), table.stage))
        for mesh in profile.mesh:
            yield mesh.literal, GroupsReader(profile, mesh)
        for detect in profile.detect:
            yield (detect.literal,), (profile, detect)
        for text in profile.free_text:
            yield text.begin.literal, (profile, text)
            for marker in (*text.until, *text.last):
                yield marker.literal, _END
    for signature in catalog.signatures.values():
        yield signature.literal, signature
    yield line_ranks.LITERALS, _RANK
    yield notices.LITERALS, _NOTICE
    yield ray_sessions_named.LITERALS, _RAY


def _readers(catalog: Catalog) -> list[ProgressReader]:
    """All progress lines, those of specific profiles before those of base ones."""
    readers: list[ProgressReader] = []
    for profile in sorted(catalog.profiles.values(), key=lambda profile: (profile.base, profile.refines is not None)):
        for progress in profile.progress:
            same = next((number for number, known in enumerate(readers) if known.progress == progress), None)
            if same is None:
                readers.append(_reader((profile,), progress))
            else:
                readers[same] = _reader((*readers[same].profiles, profile), progress)
    return readers


def _reader(profiles: tuple[Profile, ...], progress: ProgressLine) -> ProgressReader:
    return ProgressReader(profiles, progress, _stages(profiles, progress.stage))


def _stages(profiles: Iterable[Profile], stage_id: str | None) -> tuple[tuple[Profile, Stage], ...]:
    return tuple((profile, stage) for profile in profiles for stage in profile.stage if stage.id == stage_id)


def _wants(owners: Iterable[Iterable[Any]]) -> LineReaders:
    found: list[Any] = list({id(owner): owner for each in owners for owner in each}.values())
    pairs = [owner for owner in found if isinstance(owner, tuple)]
    return LineReaders(
        progress=tuple(sorted((owner for owner in found if isinstance(owner, ProgressReader)), key=_place)),
        tables=tuple(owner for owner in found if isinstance(owner, Columns)),
        totals=tuple(owner for owner in found if isinstance(owner, TotalReader)),
        stages=tuple(owner for owner in found if isinstance(owner, StageMarker)),
        signatures=tuple(owner for owner in found if isinstance(owner, Signature)),
        detects=tuple(pair for pair in pairs if isinstance(pair[1], Detect)),
        free_text=tuple(pair for pair in pairs if isinstance(pair[1], FreeText)),
        groups=tuple(owner for owner in found if isinstance(owner, GroupsReader)),
        ends_free_text=_END in found,
        rank=_RANK in found,
        notice=_NOTICE in found,
        ray=_RAY in found,
    )


def _place(reader: ProgressReader) -> tuple[bool, str, int]:
    profile = reader.profiles[0]
    return (profile.base, profile.name, profile.progress.index(reader.progress))
