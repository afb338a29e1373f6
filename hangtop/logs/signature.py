"""A signature: a known message with its meaning, cause and fixes, as data. This file is its schema."""

from __future__ import annotations

from msgspec import Struct

from hangtop.records.log import Role, Severity


class Fix(Struct, frozen=True, forbid_unknown_fields=True):
    """One thing to do. `where`: environment, config, command, code or machine. `set`: what to paste, if anything.
    `frameworks`: only for these (empty: all)."""

    text: str
    where: str = "machine"
    set: str | None = None
    frameworks: tuple[str, ...] = ()


class Signature(Struct, frozen=True, forbid_unknown_fields=True):
    """`literal`: every match of `regex` holds at least one of these, so the scan finds it. `regex` is searched in one message
    after its prefixes were taken off. `negative`: texts that look alike and must not match. `*_zh`: the same in Chinese."""

    id: str
    category: str
    severity: Severity
    role: Role
    literal: tuple[str, ...]
    regex: str
    cause: str
    fix: tuple[Fix, ...]
    example: str
    cite: tuple[str, ...]
    stage: tuple[str, ...] = ()
    frameworks: tuple[str, ...] = ()
    hang: str = ""
    negative: tuple[str, ...] = ()
    folklore: str = ""
    evidence: str = ""
    cause_zh: str = ""
    fix_zh: tuple[str, ...] = ()
