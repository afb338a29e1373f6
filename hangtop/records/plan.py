"""What an action would do, exactly, before it does it; and what it did, step by step."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

StepKind = Literal["doing", "done", "skipped", "survived", "failed", "proof"]


class Target(Struct, frozen=True, omit_defaults=True):
    """A process that will be signalled: this one and no other of the same pid, by its start time.

    `gpus`: indices of the GPUs on which it holds memory or that it has open; `gpu_bytes`: how much, where the driver tells.
    """

    pid: int
    start_ticks: int
    started_at: float
    command: str
    state: str
    user: str | None = None
    rank: int | None = None
    role: str = "other"
    rss_bytes: int | None = None
    gpus: tuple[int, ...] = ()
    gpu_bytes: int | None = None


class Removal(Struct, frozen=True, omit_defaults=True):
    """A file or folder that will be removed: this one and no other of the same path, by its device, inode, owner and time.

    `newest_at`: unix time of the youngest thing in it. `allocated_bytes`: what it takes on the disk or of shared memory.
    """

    path: str
    kind: str
    device: int
    inode: int
    uid: int
    modified_ns: int
    newest_at: float
    allocated_bytes: int
    files: int = 1
    folder: bool = False


class Start(Struct, frozen=True, omit_defaults=True):
    """A command that will be started, in a session of its own, under a terminal whose output goes to `log`.

    `environ_file`: where the whole environment lies, mode 0600, on this machine only; without one it is that of hangtop.
    `set_env`: what is changed in it. `attempt`: how many times this run has been started, this one counted.
    """

    argv: tuple[str, ...]
    cwd: str
    log: str
    environ_file: str | None = None
    set_env: dict[str, str] = {}
    attempt: int = 1


class Spared(Struct, frozen=True, omit_defaults=True):
    """Something near the plan that will not be touched, and why."""

    what: str
    why: str


class Plan(Struct, frozen=True, omit_defaults=True):
    """Shown word for word, then run as it is. `targets` in the order of their signals: children before parents.

    First the targets end, then the removals go, then `start` begins; what a step needs and does not get ends the plan there.
    `word`: what a person must type to run it, if anything. `warnings`: what it will not achieve, and what would. `frees`: what
    is had back. `ports`: that must be free after it. `older_s`: nothing younger is removed.
    """

    action: str
    title: str
    targets: tuple[Target, ...] = ()
    spared: tuple[Spared, ...] = ()
    warnings: tuple[str, ...] = ()
    word: str = ""
    grace_s: float = 10.0
    removals: tuple[Removal, ...] = ()
    start: Start | None = None
    frees: str = ""
    ports: tuple[int, ...] = ()
    older_s: float = 600.0


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
