"""The run's parallel groups as its log names them: sizes of dimensions, whole groups of ranks, or the place of one rank."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from hangtop.logs.catalog import Catalog
from hangtop.logs.lines import Line
from hangtop.logs.profile import MeshLine, Profile
from hangtop.logs.signature import compiled
from hangtop.mesh import NAMES
from hangtop.records.mesh import ORDER, Mesh

_WORD = re.compile(r"[a-z_]+")
_NUMBER = re.compile(r"\d+")
_GROUP = re.compile(r"\[([\d, ]+)\]")
_PAIR = re.compile(r"([a-z_]+)=(\d+)")


class MeshTable:
    """What one file says, by profile."""

    def __init__(self) -> None:
        self._known: dict[str, _Said] = {}

    def learn(self, profile: str, marker: MeshLine, line: Line) -> None:
        """Takes in what this line says of the groups."""
        for found in compiled(marker.regex).finditer(line.text):
            self._known.setdefault(profile, _Said()).take(marker, found, line.prefix.rank)

    def all(self) -> dict[str, Mesh]:
        return {name: said.mesh() for name, said in self._known.items()}


class _Said:
    """What the lines of one profile say. What ranks say differently of themselves is their place, what they say alike a size."""

    def __init__(self) -> None:
        self._sizes: dict[int | None, dict[str, int]] = {}
        self._order: tuple[str, ...] = ()
        self._told: dict[int, dict[str, int]] = {}

    def take(self, marker: MeshLine, found: re.Match[str], speaker: int | None) -> None:
        said = {name: text for name, text in found.groupdict().items() if text is not None}
        rank, dimension = said.pop("rank", None), said.pop("dimension", None)
        if dimension is not None:
            self._grouped(NAMES.get(dimension, dimension), said["groups"])
            return
        listed = [
            *_PAIR.findall(said.pop("pairs", "")),
            *zip(_WORD.findall(said.pop("names", "")), _NUMBER.findall(said.pop("sizes", "")), strict=False),
        ]
        values = {NAMES.get(name, name): int(number) for name, number in (*listed, *said.items())}
        if rank is not None:
            self._told.setdefault(int(rank), {}).update(values)
            return
        self._order = tuple(values) if listed else marker.order or self._order
        self._sizes.setdefault(speaker, {}).update(values)

    def _grouped(self, dimension: str, members: str) -> None:
        for group in _GROUP.findall(members):
            for place, rank in enumerate(_NUMBER.findall(group)):
                self._told.setdefault(int(rank), {})[dimension] = place

    def mesh(self) -> Mesh:
        rows = [row for row in self._sizes.values() if row]
        if any(row != rows[0] for row in rows):
            places = {rank: row for rank, row in self._sizes.items() if rank is not None}
            return Mesh(told=self._told | places)
        return Mesh(rows[0] if rows else {}, self._order or ORDER, self._told)


def chosen(told: Iterable[Mapping[str, Mesh]], profiles: Sequence[Profile], catalog: Catalog) -> Mesh | None:
    """The groups of the run: as the profile that leads says, else another. An engine inside a trainer has groups of its own."""
    files = list(told)
    stages = {stage.id for profile in profiles[:1] for stage in profile.stage}
    others = (profile for profile in catalog.profiles.values() if profile not in profiles)
    for profile in (*profiles, *others):
        if profile is profiles[0] or profile.nests_in not in stages:
            found = [said[profile.name] for said in files if profile.name in said]
            if found:
                ranks = {rank: row for mesh in found for rank, row in mesh.told.items()}
                return Mesh(found[0].sizes, found[0].order, ranks)
    return None
