"""Pickles without classes, which can run no code. In a module of its own: most runs leave no pickle, and what reads it takes 2 ms
to load."""

from __future__ import annotations

import io
import pickle
from typing import Any


class Refused(ValueError):
    """A pickle that asks for more than plain data. The message is one line."""


class _PlainUnpickler(pickle.Unpickler):
    """Loads containers, strings and numbers; refuses every class and function by name."""

    def find_class(self, module: str, name: str) -> Any:
        raise Refused(f"refused: it wants to load {module}.{name}, which a dump never does")

    def persistent_load(self, pid: Any) -> Any:
        raise Refused("refused: it refers to something outside itself")


def plain(data: bytes) -> Any:
    """The value. Raises `Refused`, and for a broken pickle nearly anything."""
    return _PlainUnpickler(io.BytesIO(data)).load()
