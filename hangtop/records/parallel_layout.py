"""The layout of the ranks in parallel groups (tensor, pipeline, context, data: torch's DeviceMesh), by the log or by arguments or
titles of the ranks, and the coordinates of each rank. Pure.

Ranks count through the dimensions as in torch's DeviceMesh (row-major): in `(("pp", 2), ("tp", 4))` rank 5 is pp1 tp1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from math import prod

from msgspec import Struct

ORDER = ("pp", "dp", "cp", "tp")
"""Dimensions from the slowest to the fastest, as Megatron, DeepSpeed, NeMo and torchtitan number their ranks."""

Place = tuple[tuple[str, int], ...]
"""The coordinates of a rank in the dimensions larger than 1, slowest first: `(("pp", 1), ("tp", 2))`."""
NAMES = {
    "tensor": "tp", "model": "tp", "pipeline": "pp", "pipe": "pp", "context": "cp", "sequence": "sp", "data": "dp",
}  # fmt: skip
"""The short names of dimensions. DeepSpeed's `model` are tensor groups."""
ARGUMENT = re.compile(
    r"(?:^|\s)[-+]{0,2}(?:(?!rollout)\w+\.)*"
    r"(?:(?:ulysses[-_])?(?P<long>tensor|pipeline|context|sequence|data)[-_](?:model[-_])?parallel[-_](?:size|degree)|(?P<short>tp|pp|cp|dp)(?:[-_](?:size|degree))?)"
    r"[= ](?P<size>\d{1,5})(?=\s|$)"
)
"""`--tensor-model-parallel-size 4` (Megatron), `model.pipeline_model_parallel_size=2` (NeMo), `--tp-size 4` (SGLang)."""
PIPELINE_BEFORE_DATA = "--use-tp-pp-dp-mapping"
"""Megatron's option that counts pipeline stages before replicas."""
HINTS = ("parallel", "-tp", "-pp", "-cp", " tp=", " pp=", " cp=")
"""Every command line that names a size holds one of these; most command lines need no further search."""
CUT = "…"
"""The end of a command line that was cut, since it is too long."""
SERVES = ("VLLM::", "vllm::", "sglang::")
TITLE = re.compile(r"(?:^|[_:])(DP|PP|TP|CP|EP)(\d+)(?=_|\s|$)")
"""`VLLM::Worker_PP1_TP0`, `sglang::scheduler_DP0_TP1`."""


class ParallelLayout(Struct, frozen=True, omit_defaults=True):
    """The groups as far as they are known. `sizes`: by dimension, in `order`; a single dimension without a size gets what is left
    of the world size. `told`: coordinates by rank, if they were told outright."""

    sizes: dict[str, int] = {}
    order: tuple[str, ...] = ORDER
    told: dict[int, dict[str, int]] = {}


def by_arguments(commands: Iterable[str]) -> ParallelLayout:
    """The layout by the arguments of the run's processes, as far as they agree."""
    sizes: dict[str, set[int]] = {}
    order = ORDER
    for command in commands:
        for name, size in _sizes(command):
            sizes.setdefault(name, set()).add(size)
        if PIPELINE_BEFORE_DATA in command:
            order = ("dp", "pp", "cp", "tp")
    return ParallelLayout({name: next(iter(said)) for name, said in sizes.items() if len(said) == 1}, order)


@lru_cache(maxsize=4096)
def _sizes(command: str) -> tuple[tuple[str, int], ...]:
    """The sizes in a command line; none if it was cut, since some may be missing. Cached: the same lines come each second."""
    found = () if command.endswith(CUT) or not any(hint in command for hint in HINTS) else ARGUMENT.finditer(command)
    return tuple((option["short"] or NAMES[option["long"]], int(option["size"])) for option in found)


def by_title(command: str) -> dict[str, int]:
    """The coordinates in the title of an engine's worker."""
    if not command.startswith(SERVES):
        return {}
    return {name.lower(): int(number) for name, number in TITLE.findall(command.split()[0])}


def places(mesh: ParallelLayout, world: int | None) -> dict[int, Place]:
    """The coordinates of each rank, as far as they are known; none if the sizes do not multiply to the world size."""
    if mesh.told:
        several = {
            name
            for row in mesh.told.values()
            for name in row
            if len({coordinates.get(name) for coordinates in mesh.told.values()}) > 1
        }
        return {
            rank: tuple((name, row[name]) for name in _names(mesh, row) if name in several) for rank, row in mesh.told.items()
        }
    sizes = _complete(mesh, world)
    if not sizes or world is None:
        return {}
    return {rank: _unravelled(rank, sizes) for rank in range(world)}


def _names(mesh: ParallelLayout, row: Mapping[str, int]) -> list[str]:
    return sorted(row, key=lambda name: mesh.order.index(name) if name in mesh.order else -1)


def _complete(mesh: ParallelLayout, world: int | None) -> list[tuple[str, int]]:
    """All dimensions with their sizes. A dimension without a size counts 1, except the data groups: they get what is left."""
    if world is None or not mesh.sizes or min(mesh.sizes.values()) < 1:
        return []
    sizes = {name: mesh.sizes.get(name, 1) for name in dict.fromkeys((*mesh.order, *mesh.sizes))}
    if "dp" in sizes and "dp" not in mesh.sizes and world % prod(sizes.values()) == 0:
        sizes["dp"] = world // prod(sizes.values())
    return [*sizes.items()] if prod(sizes.values()) == world else []


def _unravelled(rank: int, sizes: list[tuple[str, int]]) -> Place:
    found: list[tuple[str, int]] = []
    for name, size in reversed(sizes):
        rank, at = divmod(rank, size)
        if size > 1:
            found.append((name, at))
    return tuple(reversed(found))


def place_words(place: Place) -> str:
    """`pp1 tp2`."""
    return " ".join(f"{name}{at}" for name, at in place)
