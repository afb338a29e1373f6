"""The layout of the ranks in parallel groups: tensor, pipeline, context, data (torch's DeviceMesh)."""

from __future__ import annotations

from msgspec import Struct

ORDER = ("pp", "dp", "cp", "tp")
"""Dimensions from the slowest to the fastest, as Megatron, DeepSpeed, NeMo and torchtitan number their ranks."""

Place = tuple[tuple[str, int], ...]
"""The coordinates of a rank in the dimensions larger than 1, slowest first: `(("pp", 1), ("tp", 2))`."""


class ParallelLayout(Struct, frozen=True, omit_defaults=True):
    """The groups as far as they are known. `sizes`: by dimension, in `order`; a single dimension without a size gets what is left
    of the world size. `told`: coordinates by rank, if they were told outright."""

    sizes: dict[str, int] = {}
    order: tuple[str, ...] = ORDER
    told: dict[int, dict[str, int]] = {}
