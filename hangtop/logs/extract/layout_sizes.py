"""The parallel layout as the log names it: sizes of dimensions, whole groups of ranks, or the coordinates of one rank."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from hangtop.common.late_pattern import compiled
from hangtop.logs.catalog.load import Catalog
from hangtop.logs.catalog.profile import MeshLine, Profile
from hangtop.logs.extract.extractor import Extractor, FoundLine
from hangtop.logs.extract.line_ranks import RankTable
from hangtop.logs.file_facts import FileFacts
from hangtop.records.parallel_layout import NAMES, ORDER, ParallelLayout

_WORD = re.compile(r"[a-z_]+")
_NUMBER = re.compile(r"\d+")
_GROUP = re.compile(r"\[([\d, ]+)\]")
_PAIR = re.compile(r"([a-z_]+)=(\d+)")


class LayoutSizes(Extractor):
    """The layout that one file tells, by profile."""

    def __init__(self, ranks: RankTable) -> None:
        self._ranks = ranks
        self._known: dict[str, _Said] = {}

    def read(self, found: FoundLine) -> None:
        for profile, groups in found.readers.groups:
            for match in compiled(groups.regex).finditer(found.line.text):
                rank = self._ranks.rank_of(found.line.writer)
                self._known.setdefault(profile.name, _Said()).take(groups, match, rank)

    def add_facts(self, facts: FileFacts) -> FileFacts:
        return replace(facts, meshes={name: said.mesh() for name, said in self._known.items()})


class _Said:
    """What the lines of one profile say: sizes by the rank that wrote them, and coordinates that are told outright."""

    def __init__(self) -> None:
        self._sizes: dict[int | None, dict[str, int]] = {}
        self._order: tuple[str, ...] = ()
        self._told: dict[int, dict[str, int]] = {}

    def take(self, marker: MeshLine, found: re.Match[str], speaker: int | None) -> None:
        said = {name: text for name, text in found.groupdict().items() if text is not None}
        if dimension := said.pop("dimension", None):
            self._grouped(NAMES.get(dimension, dimension), said.get("groups", ""))
            return
        listed = [
            *_PAIR.findall(said.pop("pairs", "")),
            *zip(_WORD.findall(said.pop("names", "")), _NUMBER.findall(said.pop("sizes", "")), strict=False),
        ]
        values = {NAMES.get(name, name): int(number) for name, number in (*listed, *said.items()) if number.isdecimal()}
        if (rank := values.pop("rank", None)) is not None:
            self._told.setdefault(rank, {}).update(values)
            return
        self._order = tuple(values) if listed else marker.order or self._order
        self._sizes.setdefault(speaker, {}).update(values)

    def _grouped(self, dimension: str, members: str) -> None:
        for group in _GROUP.findall(members):
            for place, rank in enumerate(_NUMBER.findall(group)):
                self._told.setdefault(int(rank), {})[dimension] = place

    def mesh(self) -> ParallelLayout:
        return _joined(self._sizes, self._order or ORDER, self._told)


def _joined(said: Mapping[int | None, dict[str, int]], order: tuple[str, ...], told: dict[int, dict[str, int]]) -> ParallelLayout:
    """Values that differ between ranks are coordinates; values equal on all ranks are dimension sizes."""
    rows = {rank: row for rank, row in said.items() if rank is not None and row}
    if any(row != next(iter(rows.values())) for row in rows.values()):
        return ParallelLayout(order=order, told=told | rows)
    return ParallelLayout({name: size for row in said.values() for name, size in row.items()}, order, told)


def chosen(facts: Sequence[FileFacts], profiles: Sequence[Profile], catalog: Catalog) -> ParallelLayout | None:
    """The layout of the run, by the leading profile, else by another one; but not that of an engine inside a trainer, which has
    groups of its own."""
    stages = {stage.id for profile in profiles[:1] for stage in profile.stage}
    others = (profile for profile in catalog.profiles.values() if profile not in profiles)
    for profile in (*profiles, *others):
        found = [(file.rank, file.meshes[profile.name]) for file in facts if profile.name in file.meshes]
        if found and (profile is profiles[0] or profile.nests_in not in stages):
            told = {rank: row for _, mesh in found for rank, row in mesh.told.items()}
            return _joined({rank: mesh.sizes for rank, mesh in found}, found[0][1].order, told)
    return None
