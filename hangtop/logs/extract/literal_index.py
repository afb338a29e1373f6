"""Which literal belongs to which marker, message, progress line, …: the catalog turned round, so that one scan serves all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

from hangtop.common.late_pattern import compiled
from hangtop.logs.catalog.load import Catalog, load
from hangtop.logs.catalog.profile import Profile, ProgressLine, Stage
from hangtop.logs.extract.announcements import Announcements
from hangtop.logs.extract.extractor import Extractor, LineReaders, ProgressReader, StageMarker
from hangtop.logs.extract.line_ranks import RankTable
from hangtop.logs.extract.ray_sessions_named import RaySessionNames
from hangtop.logs.extract.stages import TRAINING
from hangtop.logs.extract.steps.step_tables import Columns
from hangtop.logs.extract.steps.step_times import StepTimesRead
from hangtop.logs.lines.literal_scan import Hit, Scanner
from hangtop.records.log import Role

INDEPENDENT: tuple[type[Extractor], ...] = (Announcements, RaySessionNames)
"""The extractors that need no other one: their order means nothing."""

MOST_FINDERS = 2
MUCH = 1 << 20
"""From this many bytes at once on the fast scan is worth the 40 ms and the 9 MB that it takes to make."""

_Owner = tuple[str, Any]
"""What a literal stands for, and the field of `LineReaders` that holds it."""


class LiteralIndex:
    """One scanner for a catalog, and what each of its literals may mean. Shared by all files of a run, and never changed.

    `each`: what may be read because of one literal alone, by its number. `begins_text`: those that may begin free text.
    """

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        wanted: dict[str, list[_Owner]] = {}
        for literals, field, owner in _owners(catalog):
            for literal in literals:
                wanted.setdefault(literal, []).append((field, owner))
        self.kinds = tuple(signature for signature in catalog.signatures.values() if signature.kind)
        base = [profile for profile in catalog.profiles.values() if profile.base]
        self.training = tuple((profile, stage) for profile in base for stage in profile.stage if stage.id == TRAINING)
        self.scanner = Scanner(wanted)
        self._owners = list(wanted.values())
        self._readers: dict[frozenset[int], LineReaders] = {}
        self._finders: dict[frozenset[int], Callable[[bytes], list[Hit]]] = {}
        self._used: set[frozenset[int]] = set()
        self.each = [_readers_of(owners) for owners in self._owners]
        self.begins_text = frozenset(
            number for number, readers in enumerate(self.each) if any(text.max_lines > 1 for _, text in readers.free_text)
        )
        self.only_detects = {
            number: readers.detects
            for number, (readers, owners) in enumerate(zip(self.each, self._owners, strict=True))
            if len(readers.detects) == len(owners)
        }

    def readers(self, line: bytes) -> LineReaders:
        """What may be read from a line, by the literals that it holds."""
        numbers = frozenset(number for number, _, _ in self.scanner.hits(line))
        known = self._readers.get(numbers)
        if known is None:
            known = self._readers[numbers] = _readers_of(owner for number in sorted(numbers) for owner in self._owners[number])
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

    def names_fault(self, text: str) -> bool:
        """Whether a known message in the text names a fault, not only its kind or that something failed further in."""
        told = (each for each in self.readers(text.encode()).signatures if each.role == "cause" and not each.raised_in)
        plain = (each for each in told if not (each.wrapper or (each.general and each.family)))
        return any(compiled(each.regex).search(text) for each in plain)

    def roles(self, text: str, files: Iterable[str] = ()) -> set[Role]:
        """The roles of the known messages in a text that was raised in these files. Of families only causes: the kind of an
        exception tells who only waited. What says how a run is built (noise) explains no exception."""
        raised_in = tuple(files)
        known = (signature for signature in self.readers(text.encode()).signatures if signature.role != "noise")
        told = (signature for signature in known if not signature.family or signature.role == "cause")
        fitting = (signature for signature in told if signature.was_raised_in(raised_in))
        return {signature.role for signature in fitting if compiled(signature.regex).search(text)}


def index_of(catalog: Catalog) -> LiteralIndex:
    """The index of this catalog; that of hangtop's own is made once."""
    return _shipped_index() if catalog is load() else LiteralIndex(catalog)


@cache
def _shipped_index() -> LiteralIndex:
    return LiteralIndex(load())


def _owners(catalog: Catalog) -> Iterator[tuple[Iterable[str], str, Any]]:
    """All that is searched for by literals: these, the field of `LineReaders`, and what stands there."""
    for reader in _progress_readers(catalog):
        yield reader.progress.literal, "progress", reader
        yield reader.progress.total_literal, "totals", reader
    for profile in catalog.profiles.values():
        for stage in profile.stage:
            for done, markers in ((False, stage.enter), (True, stage.done)):
                for marker in markers:
                    yield marker.literal, "stages", StageMarker(profile, stage, marker, done)
        for table in profile.table:
            yield table.literal, "tables", Columns(profile, table, _stages((profile,), table.stage))
        for mesh in profile.mesh:
            yield mesh.literal, "groups", (profile, mesh)
        for detect in profile.detect:
            yield (detect.literal,), "detects", (profile, detect)
        for text in profile.free_text:
            yield text.begin.literal, "free_text", (profile, text)
            for marker in (*text.until, *text.last):
                yield marker.literal, "ends_text", marker
    for signature in catalog.signatures.values():
        yield signature.literal, "signatures", signature
    extractors: tuple[type[Extractor], ...] = (RankTable, StepTimesRead, *INDEPENDENT)
    for extractor in extractors:
        yield extractor.literals, "extractors", extractor


def _progress_readers(catalog: Catalog) -> list[ProgressReader]:
    """All progress lines, those of specific profiles before those of base ones. Profiles that share a line have one reader."""
    having: list[tuple[ProgressLine, list[Profile]]] = []
    for profile in sorted(catalog.profiles.values(), key=lambda profile: (profile.base, profile.refines is not None)):
        for progress in profile.progress:
            same = next((profiles for known, profiles in having if known == progress), None)
            if same is None:
                having.append((progress, [profile]))
            else:
                same.append(profile)
    return [ProgressReader(tuple(profiles), progress, _stages(profiles, progress.stage)) for progress, profiles in having]


def _stages(profiles: Iterable[Profile], stage_id: str | None) -> tuple[tuple[Profile, Stage], ...]:
    return tuple((profile, stage) for profile in profiles for stage in profile.stage if stage.id == stage_id)


def _readers_of(owners: Iterable[_Owner]) -> LineReaders:
    fields: dict[str, dict[int, Any]] = {"progress": {}}
    for field, owner in owners:
        fields.setdefault(field, {})[id(owner)] = owner
    found = {field: tuple(members.values()) for field, members in fields.items()}
    ordered = {"progress": tuple(sorted(found["progress"], key=_place))}
    if "signatures" in found:
        ordered["signatures"] = tuple(sorted(found["signatures"], key=lambda signature: signature.family))
    return LineReaders(**{**found, **ordered})


def _place(reader: ProgressReader) -> tuple[bool, str, int]:
    profile = reader.profiles[0]
    return (profile.base, profile.name, profile.progress.index(reader.progress))
