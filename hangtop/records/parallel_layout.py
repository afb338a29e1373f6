"""How the ranks of a run are laid out in parallel groups: tensor, pipeline, context, data (torch's DeviceMesh in words)."""

from __future__ import annotations

from msgspec import Struct

ORDER = ("pp", "dp", "cp", "tp")
"""Dimensions from the slowest to the fastest, as Megatron, DeepSpeed, NeMo and torchtitan count ranks through them."""

Place = tuple[tuple[str, int], ...]
"""Where a rank stands in each dimension that has more than one place, slowest first: `(("pp", 1), ("tp", 2))`."""


class ParallelLayout(Struct, frozen=True, omit_defaults=True):
    """What is said of the groups. `sizes` by dimension, counted through in `order`; one that is in `order` and not in `sizes` is
    as large as is left, if it is the only one. `told`: by rank, coordinates that were said outright."""

    sizes: dict[str, int] = {}
    order: tuple[str, ...] = ORDER
    told: dict[int, dict[str, int]] = {}
