"""Environments for a restart, as data in presets.toml."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import msgspec

FILE = Path(__file__).with_name("presets.toml")


class Preset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`does`: one line on what it gives and costs. `frameworks`: only for these; empty: for all."""

    id: str
    title: str
    does: str
    env: dict[str, str]
    frameworks: tuple[str, ...] = ()


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    preset: tuple[Preset, ...]


@lru_cache(maxsize=1)
def presets() -> tuple[Preset, ...]:
    """All of them, in the order of the file."""
    return msgspec.toml.decode(FILE.read_bytes(), type=_File).preset


def presets_for(frameworks: frozenset[str]) -> tuple[Preset, ...]:
    """Those that fit a run of these frameworks."""
    return tuple(one for one in presets() if not one.frameworks or frameworks.intersection(one.frameworks))
