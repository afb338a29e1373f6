"""What a frame tells by its function and file (`frames.toml`): whose code it is, what it waits for, what it is about."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal

import msgspec

from hangtop.common.decode_toml import decode_toml
from hangtop.common.late_pattern import late_pattern
from hangtop.records.stack import Frame

DoingKind = Literal[
    "prompt",
    "collective", "rendezvous", "backward", "dataloader", "loader_worker", "build_lock", "compile", "checkpoint", "load", "gpu",
    "remote", "idle", "child", "queue", "join", "lock",
    "sleep", "network", "pipe", "io", "stopped", "user", "waits",
]  # fmt: skip
"""What a thread does; down to `lock` the strongest explanation first. `backward` computes, or waits for its peers in C++.
`prompt` waits for a person.
`user` works in its own code, `waits` in an unknown way."""
Phase = Literal["weights", "checkpoint", "load", "reward", "eval", "compile", "generate", "data"]
Owner = Literal["user", "package", "framework", "plumbing", "python", "native"]
"""Whose code: nobody's package, a package not known here, a training framework, libraries below it, the standard library, C."""


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A frame in one of `files` (none: any) says `kind`, if its function is one of `functions` (none: any). `bare`: only where
    all that it called is Python's own."""

    kind: DoingKind
    files: tuple[str, ...] = ()
    functions: frozenset[str] = frozenset()
    bare: bool = False

    def says(self, frame: Frame) -> bool:
        if self.functions and frame.name not in self.functions and frame.function not in self.functions:
            return False
        path = "/" + frame.file
        return not self.files or any(f"/{end}" in path if end.endswith("/") else path.endswith(f"/{end}") for end in self.files)


class Packages(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    plumbing: frozenset[str]
    frameworks: frozenset[str]


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole of `frames.toml`. `named`, `phase`: patterns of names of the user's functions."""

    rule: tuple[Rule, ...]
    named: dict[DoingKind, str]
    phase: dict[Phase, str]
    packages: Packages
    compiled: tuple[str, ...]
    """What a source line looks like that calls a collective in compiled code; group 1 is its name."""


@cache
def table() -> Table:
    return decode_toml(Path(__file__).with_name("frames.toml").read_bytes(), Table)


_PACKAGE = late_pattern(r"/(?:site|dist)-packages/([^/]+)")
_STANDARD = late_pattern(r"^<frozen |/lib(?:64)?/python3(?:\.\d+)?t?/|/lib/python3\d+\.zip/|Python\.framework/.*/lib/")
_NATIVE = late_pattern(r"^<compiled>$|\.(?:so(?:\.[\w.]+)?|dylib|c|cc|cpp|cxx|cu|cuh|h|hpp|rs|S)$|^/?python3(?:\.\d+)?t?$")

NO_FILE = "<string>"
COMPILED = "<compiled>"
PYTHON = "python"


@lru_cache(maxsize=4096)
def owner(file: str) -> Owner:
    """Whose code a file holds."""
    if _NATIVE.search(file):
        return "native"
    name, known = package_of(file), table().packages
    if name is None or name == PYTHON:
        return "user" if name is None else "python"
    return "plumbing" if name in known.plumbing else "framework" if name in known.frameworks else "package"


def package_of(file: str) -> str | None:
    """The package that a file was installed with; `python` for the standard library, `None` for any other file."""
    if package := _PACKAGE.search(file):
        return package[1].removesuffix(".py")
    return PYTHON if _STANDARD.search(file) else None


def own(frames: tuple[Frame, ...]) -> tuple[int, ...]:
    """Places of the frames that are the user's own; where there are none those of packages not known, else of the framework.

    Code without a file counts only where there is no other: libraries make some (the shared values of multiprocessing), and
    `python -c` runs the user's. Its outermost line alone says less than a package: so multiprocessing starts a process anew.
    """
    owners = [owner(frame.file) for frame in frames]
    named = any(whose == "user" and frame.file != NO_FILE for whose, frame in zip(owners, frames, strict=True))
    packed = not {"package", "framework"}.isdisjoint(owners)
    for place, frame in enumerate(frames):
        if frame.file == NO_FILE and (named or (packed and frame.name == "<module>")):
            owners[place] = "python"
    for wanted in ("user", "package", "framework"):
        if wanted in owners:
            return tuple(place for place, whose in enumerate(owners) if whose == wanted)
    return ()


def rule(frame: Frame, inner: tuple[Frame, ...] = ()) -> DoingKind | None:
    """What a frame of a known library says. `inner`: what it called."""
    says = _rule(frame.function, frame.file)
    if says is None or (says.bare and any(owner(each.file) not in ("python", "native") for each in inner)):
        return None
    return says.kind


@lru_cache(maxsize=4096)
def _rule(function: str, file: str) -> Rule | None:
    frame = Frame(function, file, 0)
    return next((rule for rule in table().rule if rule.says(frame)), None)


def named(frame: Frame) -> DoingKind | None:
    """What a user's function says by its name alone; only to be believed of a thread that waits."""
    return next((kind for kind, pattern in table().named.items() if re.fullmatch(pattern, frame.name)), None)


def phase(frame: Frame) -> Phase | None:
    """What a function is about, by its name."""
    return next((about for about, pattern in table().phase.items() if re.search(pattern, frame.name)), None)
