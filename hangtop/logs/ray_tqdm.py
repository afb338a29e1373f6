"""Progress bars of `ray.experimental.tqdm_ray`: JSON lines in a worker's output file, at most one a second. Pure.

A ready machine-readable progress source: the driver shows bars instead of these lines (python/ray/experimental/tqdm_ray.py).
"""

from __future__ import annotations

import msgspec

MAGIC = "__ray_tqdm_magic_token__"
"""Every such line holds this text; look for it before parsing."""


class RayBar(msgspec.Struct, frozen=True):
    """One state of one bar. `uuid` tells bars apart; `total` is `None` for a bar without an end."""

    uuid: str
    desc: str
    x: float
    total: float | None = None
    unit: str = "it"
    pid: int | None = None
    ip: str | None = None
    pos: int = 0
    closed: bool = False


_decoder = msgspec.json.Decoder(RayBar, strict=False)


def parse_bar(line: str) -> RayBar | None:
    """The bar of this line; `None` for any other line. A bar may stand behind text that was printed without a line end."""
    start = line.find("{")
    if MAGIC not in line or start < 0:
        return None
    try:
        return _decoder.decode(line[start : line.rfind("}") + 1])
    except msgspec.DecodeError:
        return None
