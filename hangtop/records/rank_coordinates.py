"""Where each rank stands in the run's tensor, pipeline and data groups, as log, arguments or titles of the ranks say. Pure.

Ranks are counted through the dimensions as torch's DeviceMesh does (row-major): of `(("pp", 2), ("tp", 4))` rank 5 is pp1 tp1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from math import prod

from hangtop.records.parallel_layout import ORDER, ParallelLayout, Place

NAMES = {
    "tensor": "tp", "model": "tp", "pipeline": "pp", "pipe": "pp", "context": "cp", "sequence": "sp", "data": "dp",
}  # fmt: skip
"""What frameworks call a dimension, and its short name. DeepSpeed's `model` are tensor groups."""
ARGUMENT = re.compile(
    r"(?:^|\s)[-+]{0,2}(?:(?!rollout)\w+\.)*"
    r"(?:(?:ulysses[-_])?(?P<long>tensor|pipeline|context|sequence|data)[-_](?:model[-_])?parallel[-_](?:size|degree)|(?P<short>tp|pp|cp|dp)(?:[-_](?:size|degree))?)"
    r"[= ](?P<size>\d{1,5})(?=\s|$)"
)
"""`--tensor-model-parallel-size 4` (Megatron), `model.pipeline_model_parallel_size=2` (NeMo), `--tp-size 4` (SGLang)."""
PIPELINE_BEFORE_DATA = "--use-tp-pp-dp-mapping"
"""Megatron's option that counts through pipeline stages before replicas."""
HINTS = ("parallel", "-tp", "-pp", "-cp", " tp=", " pp=", " cp=")
"""One of these is in every command line that names a size that counts: most are not looked at any further."""
CUT = "…"
"""Ends a command line that is too long to be kept."""
SERVES = ("VLLM::", "vllm::", "sglang::")
TITLE = re.compile(r"(?:^|[_:])(DP|PP|TP|CP|EP)(\d+)(?=_|\s|$)")
"""`VLLM::Worker_PP1_TP0`, `sglang::scheduler_DP0_TP1`."""


def by_arguments(commands: Iterable[str]) -> ParallelLayout:
    """What the run's processes were started with, where all say the same."""
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
    """The sizes in a command line; none of one that is cut, where others may be missing. The same lines come each second."""
    found = () if command.endswith(CUT) or not any(hint in command for hint in HINTS) else ARGUMENT.finditer(command)
    return tuple((option["short"] or NAMES[option["long"]], int(option["size"])) for option in found)


def by_title(command: str) -> dict[str, int]:
    """The coordinates in the title of an engine's worker."""
    if not command.startswith(SERVES):
        return {}
    return {name.lower(): int(number) for name, number in TITLE.findall(command.split()[0])}


def places(mesh: ParallelLayout, world: int | None) -> dict[int, Place]:
    """The place of every rank that has one; nothing where what is said does not add up to the world."""
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
    """All dimensions with their sizes. What nothing is said of is one, but for the data groups: these are what is left."""
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
