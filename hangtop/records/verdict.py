"""The verdict of `diagnose(state, now)`: the contract of `hangtop check --json`, schema 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from hangtop.records.nodes import node_of, pid_text, pid_there

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


class State(Struct, frozen=True):
    """What follows from the word of a verdict.

    `exit_code`: of `hangtop check`. `urgency`: a graver state is said at once, a calmer one must last. `healthy`: nothing to do.
    `works`: to stop the run would cost work. `silent`: nothing moves, though processes may live. `ended`: the run is over.
    `trouble`: the alarm rings and culprits are red. A run that is waiting or blind never rings.
    """

    exit_code: int
    urgency: int
    healthy: bool = False
    works: bool = False
    silent: bool = False
    ended: bool = False
    trouble: bool = False


STATES: dict[VerdictWord, State] = {
    "running": State(0, 0, healthy=True, works=True),
    "finished": State(0, 0, healthy=True, ended=True),
    "slow": State(0, 1, works=True),
    "waiting": State(1, 2),
    "blind": State(4, 2),
    "stalled": State(1, 3, silent=True, trouble=True),
    "hung": State(1, 4, silent=True, trouble=True),
    "crashed": State(3, 5, ended=True, trouble=True),
}
"""The only table of the states: what else is to be known of one is a column here."""

ENDED = frozenset(word for word, state in STATES.items() if state.ended)
"""A watch without a screen ends with these."""


class Evidence(Struct, frozen=True):
    """One fact with its source. `supports`: true for, false against the verdict; `None`: it could not be checked, and the text
    says what would permit that. `page`: the place that says what to do about it (`hangtop explain PAGE`), of a
    run that goes on."""

    source: str
    text: str
    supports: bool | None = True
    page: str | UnsetType = UNSET


Quiet = Literal["", "explained", "overdue"]
"""Of a slow run for which nothing speaks but its log: its stage or an announced wait explains the silence; or only its stage
does, and the stall limit is over."""


class Culprit(Struct, frozen=True):
    """A rank that stands out, and why. Never a healthy waiter. `pid`: its process, or the helper of the run that it waits for in
    vain."""

    rank: int | None
    pid: int | None
    host: str | None
    confidence: Confidence
    why: tuple[str, ...]

    @property
    def told(self) -> Culprit:
        """With its pid on its own machine, for whatever leaves hangtop."""
        return self if self.pid is None else replace(self, pid=pid_there(self.pid))

    @property
    def with_node(self) -> str:
        """Its name, and its node where that is another one."""
        away = self.host is not None and self.pid is not None and node_of(self.pid)
        return f"{self.name} @ {self.host}" if away else self.name

    @property
    def name(self) -> str:
        """Its rank, else its pid, else its machine (of a GPU whose rank is unknown)."""
        if self.rank is None and self.pid is None:
            return self.host or "unknown"
        return f"rank {self.rank}" if self.pid is None or self.rank is not None else pid_text(self.pid)


class StageNow(Struct, frozen=True):
    """The stage the run is in. `since_s` and `limit_s` are seconds; `None` when unknown."""

    id: str
    title: str
    since_s: float | None
    limit_s: float | None


class Verdict(Struct, frozen=True):
    """The answer. Its text holds clock times, never ages, so it changes only when the verdict does.

    `message`: id of the known message in the headline; its fix is the one to print. `rule`: the one that held (RULES.md); empty
    where none did. `quiet`: empty where a sign of life was seen. `at_work`: the few ranks that work while the others wait for
    them: why a quiet run is not hung. Only the screen shows these two.
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
    quiet: Quiet = ""
    rule: str = ""

    @property
    def state(self) -> State:
        """What follows from its word."""
        return STATES[self.word]

    @property
    def advised(self) -> bool:
        """Whether there is something to do: it is not green, or a hint beside it names the place that makes it slow."""
        return not self.state.healthy or any(fact.page for fact in self.evidence)

    @property
    def rings(self) -> bool:
        """Whether the screen flashes: there is trouble, or silence for the stall limit without a sign of life, in every stage."""
        return self.state.trouble or self.quiet == "overdue"

    @property
    def apart(self) -> tuple[int, ...]:
        """The ranks to list first: the culprits, else the ranks at work."""
        return tuple(culprit.rank for culprit in self.culprits if culprit.rank is not None) or self.at_work


class VerdictChanged(Struct, frozen=True):
    """Since `at` (unix time) another thing is said of the run: another state, cause or culprit, or another sentence.

    `before`: what was said until then; `None` for the first verdict.
    """

    at: float
    before: Verdict | None
    verdict: Verdict


Subscriber = Callable[[VerdictChanged], None]
"""Whatever is to learn of each change: a line of plain output, a webhook. `hangtop.monitor.monitor` calls it."""
