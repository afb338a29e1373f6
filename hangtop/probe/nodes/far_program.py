"""The program that is sent to another node: the modules of `node_side`, joined into one text that imports them from memory."""

from __future__ import annotations

import json
from base64 import b85encode
from functools import cache
from importlib.resources import files
from zlib import compress

PACKAGE = "hangtop.probe.nodes.node_side"
MAIN = f"{PACKAGE}.main"
BESIDE = ("hangtop.system.waits.sock_diag", "hangtop.system.processes.batch_shell")
"""Modules that are sent along: as theirs, they are Python 3.9 and import its library alone."""


@cache
def program() -> bytes:
    """The whole text, shorter than what a pipe holds (64 KiB, pipe(7)): nobody waits for a line that is still being opened."""
    modules = (file for file in files(PACKAGE).iterdir() if file.name.endswith(".py") and file.name != "__init__.py")
    sources = {f"{PACKAGE}.{file.name[:-3]}": file.read_text(encoding="utf-8") for file in modules}
    for name in BESIDE:
        folder, _, module = name.rpartition(".")
        sources[name] = (files(folder) / f"{module}.py").read_text(encoding="utf-8")
    head = (files("hangtop.probe.nodes") / "sent_modules.py").read_text(encoding="utf-8")
    packed = b85encode(compress(json.dumps(sources, sort_keys=True).encode())).decode()
    return f"{head}\n\nrun(unpacked({packed!r}), {MAIN!r})\n".encode()
