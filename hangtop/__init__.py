"""hangtop: the terminal monitor that people open when a training run hangs.

For programs: `hangtop.check` and `hangtop.watch`, of `hangtop.api`, which is loaded when one of them is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
__all__ = ["__version__", "check", "check_async", "watch"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("hangtop.api"), name)
    raise AttributeError(f"module 'hangtop' has no attribute {name!r}")
