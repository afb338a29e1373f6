"""Imports modules that came as text: the head of the program that is sent to another node (`far_program`). Python 3.9 reads this.

A hangtop that is installed there is not looked at: what was sent is found first, and the packages above it are empty ones."""

from __future__ import annotations

import base64
import json
import sys
import zlib
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType


class SentModules(MetaPathFinder, InspectLoader):
    """`sources`: text by the name of its module."""

    def __init__(self, sources: dict[str, str]) -> None:
        self._sources = sources

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        known = fullname in self._sources or self.is_package(fullname)
        return spec_from_loader(fullname, self, is_package=self.is_package(fullname)) if known else None

    def get_source(self, fullname: str) -> str:
        return self._sources.get(fullname, "")

    def is_package(self, fullname: str) -> bool:
        return any(name.startswith(fullname + ".") for name in self._sources)


def unpacked(text: str) -> dict[str, str]:
    """The sources, from one word of ASCII."""
    return dict(json.loads(zlib.decompress(base64.b85decode(text))))


def run(sources: dict[str, str], name: str) -> None:
    """Calls `main` of the module of this name."""
    sys.meta_path.insert(0, SentModules(sources))
    import_module(name).main()
