"""One check before a run, and the run that is checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from msgspec import Struct

Status = Literal["ok", "warn", "fail", "unknown"]


class Check(Struct, frozen=True, omit_defaults=True):
    """`detail` says what was seen, `mend` is the command or setting that mends it. `unknown`: could not look, and why."""

    group: str
    title: str
    status: Status
    detail: str
    mend: str = ""


class Subject(Struct, frozen=True):
    """What is going to run: its command and where. `environ` is the environment it would get, `python` its interpreter."""

    command: tuple[str, ...]
    cwd: str
    environ: Mapping[str, str]
    python: str
    framework: str | None = None


Checker = Callable[[Subject], Iterable[Check]]
"""A group of checks. It may block: it runs in a thread of the doctor, which waits only until its deadline."""


def ok(group: str, title: str, detail: str) -> Check:
    return Check(group, title, "ok", detail)


def warn(group: str, title: str, detail: str, mend: str = "") -> Check:
    return Check(group, title, "warn", detail, mend)


def fail(group: str, title: str, detail: str, mend: str = "") -> Check:
    return Check(group, title, "fail", detail, mend)


def unknown(group: str, title: str, detail: str, mend: str = "") -> Check:
    return Check(group, title, "unknown", detail, mend)


def graded(group: str, title: str, detail: str, mend: str, *, fails: bool = False, warns: bool = False) -> Check:
    """Failed, a warning, or well; then there is nothing to mend."""
    return fail(group, title, detail, mend) if fails else warn(group, title, detail, mend) if warns else ok(group, title, detail)
