"""What an action would do, exactly, before it does it; and what it did, step by step."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from hangtop.records.launch import Conditions
from hangtop.records.stopped import RunPlace
from hangtop.records.watch_spec import DEFAULT_STALL_S

StepKind = Literal["doing", "done", "skipped", "survived", "failed", "proof"]


class Target(Struct, frozen=True, omit_defaults=True):
    """A process that will be signalled: this one and no other of the same pid, by its start time.

    `gpus`: indices of the GPUs on which it holds memory or that it has open; `gpu_bytes`: how much, where the driver tells.
    `wave`: who has a higher one gets no signal before all of the lower ones are gone, or were given up.
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
    wave: int = 0


class Removal(Struct, frozen=True, omit_defaults=True):
    """A file or folder that will be removed: this one and no other of the same path, by its device, inode, owner and time.

    `newest_at`: unix time of the youngest thing in it. `allocated_bytes`: what it takes on the disk or of shared memory.
    `changing`: the targets of the plan still write to it, so its time is not compared.
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
    changing: bool = False


class EvidenceCommand(Struct, frozen=True):
    """A command of hangtop itself that changes nothing of the run, such as `stacks`. What it prints goes to `output`, if given.

    Where it fails, or takes longer than `deadline_s`, the plan goes on: evidence is worth having, but not worth a hung run.
    """

    words: tuple[str, ...]
    title: str
    deadline_s: float
    output: str | None = None


class RayStart(Struct, frozen=True, omit_defaults=True):
    """A node of a Ray cluster that will be started by `ray start`, and what proves that it is there again.

    `argv` without secrets: what stands there as `***` lies in `environ_file`, mode 0600, with the environment of the raylet.
    `set_env`: what is changed in that environment, which all workers of the node get. `away`: how many nodes on other machines
    must join again.
    `gcs_address` and `dashboard`: `host:port`. `resources`: what the node had, by Ray's names; memory in bytes.
    """

    argv: tuple[str, ...]
    cwd: str
    environ_file: str
    gcs_address: str
    head: bool = True
    dashboard: str | None = None
    resources: dict[str, float] = {}
    deadline_s: float = 300.0
    set_env: dict[str, str] = {}
    away: int = 0


class Watch(Struct, frozen=True, omit_defaults=True):
    """What the new run must do to have passed the place where the old one hung. `logs`, `pids` …: as in `WatchSpec`.

    `order`: ids of the stages of its framework, in order. `stage`: where it hung; `step`: at which step, if it had one.
    """

    logs: tuple[str, ...]
    stage: str = ""
    title: str = ""
    order: tuple[str, ...] = ()
    step: int | None = None
    profile: str | None = None
    stall_s: float = DEFAULT_STALL_S
    deadline_s: float = 1_800.0


class Repeats(Struct, frozen=True, omit_defaults=True):
    """The start that is done again. `lives`: whether its process lived when the plan was made; then it must still live when the
    first signal is sent, else another hand has ended it, and perhaps started it again. `started_at` is unix time."""

    pid: int
    start_ticks: int
    started_at: float
    lives: bool = False


class Start(Struct, frozen=True, omit_defaults=True):
    """A command that will be started, in a session of its own, under a terminal whose output goes to `log`.

    Words, paths and values are raw text (`hangtop.common.raw_text`).
    `environ_file`: where the whole environment lies, mode 0600, on this machine only; without one it is that of hangtop.
    `set_env`: what is changed in it, by presets and by hand. `changed`: options in `argv` that are not as in `usual_argv`, to
    which the next start goes back. `visible_devices`: what its CUDA_VISIBLE_DEVICES was. `shell`: what reads a command line that
    is no plain command. `interfaces`: as in `LaunchReading`. `program`: the file that the old process ran. `conditions`: limits
    and the like, as they were. `repeats`: the start that this one repeats; `None` for a first one. `attempt`: how many times this
    run has been started, this one counted. `ray`: the Ray session of the run that lives on: its workers are not started by this
    command, and have not its environment.
    """

    argv: tuple[str, ...]
    cwd: str
    log: str
    environ_file: str | None = None
    set_env: dict[str, str] = {}
    changed: tuple[str, ...] = ()
    usual_argv: tuple[str, ...] = ()
    visible_devices: str | None = None
    attempt: int = 1
    shell: str = ""
    interfaces: tuple[str, ...] = ()
    program: str = ""
    conditions: Conditions = Conditions()
    repeats: Repeats | None = None
    ray: str = ""


class LeftAlone(Struct, frozen=True, omit_defaults=True):
    """Something near the plan that will not be touched, and why."""

    what: str
    why: str


class Plan(Struct, frozen=True, omit_defaults=True):
    """Shown word for word, then run as it is. `targets` in the order of their signals: children before parents.

    First the errands are run, then the targets end, wave by wave, then the removals go, then Ray starts (`ray`), then `start`
    begins, then `watch` looks at it; what a step needs and does not get ends the plan there.
    `beyond`: processes of the run that are another user's: never signalled, but named where they live on.
    `word`: what a person must type to run it, if anything. `warnings`: what it will not achieve, and what would. `frees`: what
    is had back. `ports`: that must be free after it. `older_s`: nothing younger is removed. `stops`: the run that it ends as a
    whole, and where that stood. `logs`: real paths that the run writes: who begins to write them while it ends is named.
    `newest_ticks`: start of the youngest process that was known when the plan was made: what a target started later was not seen;
    what it started before was, and is spared if it is no target.
    """

    action: str
    title: str
    targets: tuple[Target, ...] = ()
    spared: tuple[LeftAlone, ...] = ()
    beyond: tuple[Target, ...] = ()
    warnings: tuple[str, ...] = ()
    word: str = ""
    grace_s: float = 10.0
    removals: tuple[Removal, ...] = ()
    start: Start | None = None
    errands: tuple[EvidenceCommand, ...] = ()
    ray: tuple[RayStart, ...] = ()
    watch: Watch | None = None
    frees: str = ""
    ports: tuple[int, ...] = ()
    older_s: float = 600.0
    stops: RunPlace | None = None
    logs: tuple[str, ...] = ()
    newest_ticks: int = 0


class Refusal(Struct, frozen=True):
    """Why there is no plan, in one line. `nothing_to_do`: that is well, and no failure."""

    why: str
    nothing_to_do: bool = False


class Step(Struct, frozen=True, omit_defaults=True):
    """One line of what an action did. `at` is unix time."""

    at: float
    kind: StepKind
    text: str
    pid: int | None = None
    start_ticks: int | None = None
