"""The verdict of `diagnose(state, now)`: the contract of `hangtop check --json`, schema 1."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

VerdictWord = Literal["running", "slow", "stalled", "hung", "waiting", "crashed", "finished", "blind"]
Kind = Literal[
    "nccl",
    "cpu_collective",
    "desync",
    "dataloader",
    "rendezvous",
    "io_blocked",
    "driver_hung",
    "dead_process",
    "stopped",
    "resources",
    "python_loop",
    "weight_sync",
    "generation",
    "unknown",
]
Confidence = Literal["certain", "likely", "possible"]

EXIT_CODES: dict[VerdictWord, int] = {
    "running": 0,
    "slow": 0,
    "finished": 0,
    "stalled": 1,
    "hung": 1,
    "waiting": 1,
    "crashed": 3,
    "blind": 4,
}
ENDED: frozenset[VerdictWord] = frozenset({"crashed", "finished"})
"""Verdicts on a run that has ended."""


class Evidence(Struct, frozen=True):
    """One fact with its source. `supports`: true for, false against the verdict; `None`: it could not be checked, and the text
    says what would permit that."""

    source: str
    text: str
    supports: bool | None = True


class Culprit(Struct, frozen=True):
    """A rank that stands out, and why. Never a healthy waiter."""

    rank: int | None
    pid: int | None
    host: str | None
    confidence: Confidence
    why: tuple[str, ...]

    @property
    def name(self) -> str:
        """Its rank, else its pid, else its machine (of a GPU whose rank is unknown)."""
        if self.rank is None and self.pid is None:
            return self.host or "unknown"
        return f"pid {self.pid}" if self.rank is None else f"rank {self.rank}"


class StageNow(Struct, frozen=True):
    """The stage the run is in. `since_s` and `limit_s` are seconds; `None` when unknown."""

    id: str
    title: str
    since_s: float | None
    limit_s: float | None


class Verdict(Struct, frozen=True):
    """The answer. Its text holds clock times, never ages, so it changes only when the verdict does.

    `message`: id of the known message in the headline; its fix is the one to print.
    `at_work`: the few ranks that work while the others wait for them: why a quiet run is not hung. Only the screen shows it.
    """

    word: VerdictWord
    headline: str
    refute: str
    kind: Kind | None = None
    confidence: Confidence = "likely"
    silence_s: float | None = None
    limit_s: float | None = None
    stage: StageNow | None = None
    culprits: tuple[Culprit, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    next: tuple[tuple[str, str], ...] = ()
    detail: str = ""
    message: str | None = None
    at_work: tuple[int, ...] = ()

    @property
    def apart(self) -> tuple[int, ...]:
        """The ranks to list first: the culprits, else the ranks at work."""
        return tuple(culprit.rank for culprit in self.culprits if culprit.rank is not None) or self.at_work
