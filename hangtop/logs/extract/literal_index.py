"""Which literal belongs to which marker, message, progress line, …: the catalog turned round, so that one scan serves all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from hangtop.logs.catalog.load import Catalog
from hangtop.logs.catalog.profile import Detect, FreeText, Profile, ProgressLine, Stage
from hangtop.logs.catalog.signature import Signature, compiled
from hangtop.logs.extract.extractor import Extractor
from hangtop.logs.extract.independent import INDEPENDENT
from hangtop.logs.extract.line_ranks import RankTable
from hangtop.logs.extract.line_readers import GroupsReader, LineReaders, ProgressReader, StageMarker, TotalReader
from hangtop.logs.extract.stages import TRAINING
from hangtop.logs.extract.step_tables import Columns
from hangtop.logs.lines.literal_scan import Hit, Scanner
from hangtop.records.log import Role

MOST_FINDERS = 2
MUCH = 1 << 20
"""From this many bytes at once on the fast scan is worth the 40 ms and the 9 MB that it takes to make."""

_END = "end"


class LiteralIndex:
    """One scanner for a catalog, and what each of its literals may mean. Shared by all files of a run, and never changed."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        wanted: dict[str, list[Any]] = {}
        for literals, owner in _owners(catalog):
            for literal in literals:
                wanted.setdefault(literal, []).append(owner)
        self.kinds = tuple(signature for signature in catalog.signatures.values() if signature.kind)
        base = [profile for profile in catalog.profiles.values() if profile.base]
        self.training = [(profile, stage) for profile in base for stage in profile.stage if stage.id == TRAINING]
        self.scanner = Scanner(wanted)
        self._readers: dict[frozenset[int], LineReaders] = {}
        self._finders: dict[frozenset[int], Callable[[bytes], list[Hit]]] = {}
        self._used: set[frozenset[int]] = set()
        each = [_readers_of([owners]) for owners in self.scanner.owners]
        self.is_progress = [bool(readers.progress) for readers in each]
        self.begins_text = [any(text.max_lines > 1 for _, text in readers.free_text) for readers in each]
        self.ends_text = [readers.ends_free_text for readers in each]
        self.signatures = [readers.signatures for readers in each]
        self.only_detects = {
            number: readers.detects
            for number, (readers, owners) in enumerate(zip(each, self.scanner.owners, strict=True))
            if readers.detects and len(readers.detects) == len(owners)
        }

    def readers(self, line: bytes) -> LineReaders:
        """What may be read from a line, by the literals that it holds."""
        numbers = frozenset(number for number, _, _ in self.scanner.hits(line))
        known = self._readers.get(numbers)
        if known is None:
            known = self._readers[numbers] = _readers_of(self.scanner.owners[number] for number in sorted(numbers))
        return known

    def finder(self, left_out: frozenset[int], size: int) -> Callable[[bytes], list[Hit]]:
        """A scan for a block of `size` bytes that leaves out these literals, which tell nothing new.

        A large block gets a fast scan. That takes much memory, so only the ones used last are kept.
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
        """Drops the fast scans that were not used since the last call. Returns whether there was one."""
        idle = self._finders.keys() - self._used
        for left_out in idle:
            del self._finders[left_out]
        self._used.clear()
        return bool(idle)

    def roles(self, text: str) -> set[Role]:
        """The roles of the known messages in a text."""
        known = self.readers(text.encode()).signatures
        return {signature.role for signature in known if compiled(signature.regex).search(text)}


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
    extractors: tuple[type[Extractor], ...] = (RankTable, *INDEPENDENT)
    for extractor in extractors:
        yield extractor.literals, extractor


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


def _readers_of(owners: Iterable[Iterable[Any]]) -> LineReaders:
    found: list[Any] = list({id(owner): owner for owned in owners for owner in owned}.values())
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
        extractors=frozenset(owner for owner in found if isinstance(owner, type)),
    )


def _place(reader: ProgressReader) -> tuple[bool, str, int]:
    profile = reader.profiles[0]
    return (profile.base, profile.name, profile.progress.index(reader.progress))
