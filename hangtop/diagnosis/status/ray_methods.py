"""What the method in a Ray worker's process title means (`ray_methods.toml`): the stage it belongs to, in a few words. Pure."""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path

import msgspec

from hangtop.common.decode_toml import decode_toml

LEADS = "leads the run"
"""What the file says of the method that calls all others."""


class Method(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`says`: what an actor does meanwhile. `stage`: id of the stage; empty where it tells none. `classes`: none means any."""

    says: str
    names: tuple[str, ...]
    stage: str = ""
    classes: frozenset[str] = frozenset()


class _Methods(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    method: tuple[Method, ...]


@cache
def methods() -> tuple[Method, ...]:
    """All that is known, as it stands in the file."""
    return decode_toml(Path(__file__).with_name("ray_methods.toml").read_bytes(), _Methods).method


@lru_cache(maxsize=1_024)
def meaning(cls: str, name: str) -> Method | None:
    """What method `name` of class `cls` does; `None` for one that is not known. The longest known name decides."""
    of_class = (method for method in methods() if not method.classes or cls in method.classes)
    fits = ((known, method) for method in of_class for known in method.names if _is(name, known))
    return max(fits, key=lambda fit: len(fit[0]), default=("", None))[1]


def in_words(cls: str, name: str) -> str:
    """`trains: actor_rollout_update_actor`; a method that is not known stands for itself."""
    known = meaning(cls, name)
    return f"{known.says}: {name}" if known else name


def stage(cls: str, name: str) -> str | None:
    """Id of the stage that this method is of."""
    known = meaning(cls, name)
    return (known.stage or None) if known else None


def _is(name: str, known: str) -> bool:
    return name == known or ("_" in known.strip("_") and name.endswith(f"_{known}"))
