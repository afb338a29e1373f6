"""The program that is sent to another node: the modules of `node_side`, joined into one text that imports them from memory."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

PACKAGE = "hangtop.probe.nodes.node_side"
JOINED = '''
import importlib.abc, importlib.util, sys

SOURCES = {sources!r}


class Sent(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports what came with this text, and the packages above it as empty ones."""

    def find_spec(self, name, path, target=None):
        if name in SOURCES or "{package}.".startswith(name + "."):
            return importlib.util.spec_from_loader(name, self, is_package=self.is_package(name))

    def get_source(self, name):
        return SOURCES.get(name, "")

    def is_package(self, name):
        return "{package}.".startswith(name + ".")


sys.meta_path.insert(0, Sent())
from {package}.main import main

main()
'''
"""Python 3.9 reads this. A hangtop that is installed there is not looked at."""


@cache
def program() -> bytes:
    """The whole text."""
    modules = (file for file in files(PACKAGE).iterdir() if file.name.endswith(".py") and file.name != "__init__.py")
    sources = {f"{PACKAGE}.{file.name[:-3]}": file.read_text(encoding="utf-8") for file in modules}
    return JOINED.format(sources=dict(sorted(sources.items())), package=PACKAGE).encode()
