"""What an action would do, exactly, before it does it; and what it did, step by step."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

StepKind = Literal["doing", "done", "skipped", "survived", "failed", "proof"]


class Target(Struct, frozen=True, omit_defaults=True):
    """A process that will be signalled: this one and no other of the same pid, by its start time."""

    pid: int
    start_ticks: int
    started_at: float
    command: str
    state: str
    user: str | None = None
    rank: int | None = None
    role: str = "other"
    rss_bytes: int | None = None


class Spared(Struct, frozen=True, omit_defaults=True):
    """Something near the plan that will not be touched, and why."""

    what: str
    why: str


class Plan(Struct, frozen=True, omit_defaults=True):
    """Shown word for word, then run as it is. `targets` in the order of their signals: children before parents.

    `word`: what a person must type to run it, if anything. `warnings`: what it will not achieve, and what would.
    """

    action: str
    title: str
    targets: tuple[Target, ...]
    spared: tuple[Spared, ...] = ()
    warnings: tuple[str, ...] = ()
    word: str = ""
    grace_s: float = 10.0


class Refusal(Struct, frozen=True):
    """Why there is no plan, in one line."""

    why: str


class Step(Struct, frozen=True, omit_defaults=True):
    """One line of what an action did. `at` is unix time."""

    at: float
    kind: StepKind
    text: str
    pid: int | None = None
    start_ticks: int | None = None
