"""What an action would do, exactly, before it runs; and what it did, step by step."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from hangtop.records.launch import Conditions
from hangtop.records.nodes import OtherNode
from hangtop.records.stopped import RunPlace
from hangtop.records.watch_spec import DEFAULT_STALL_S

StepKind = Literal["doing", "done", "skipped", "survived", "failed", "proof"]


class OwnProcess(Struct, frozen=True):
    """The hangtop that asks: its pid, the pids of its ancestors (shell, SSH session), its user and its machine.

    None of these processes is ever signalled. `host` as readings name it; empty when all readings are of this machine.
    """

    pid: int
    ancestors: frozenset[int]
    uid: int
    host: str = ""


class Target(Struct, frozen=True, omit_defaults=True):
    """A process that will be signalled. `start_ticks` tells it from a later process with the same pid.

    `gpus`: indices of the GPUs on which it holds memory or that it has open; `gpu_bytes`: how much, if the driver tells.
    `wave`: a higher wave gets no signal before all targets of the lower ones are gone, or given up.
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
    """A file or folder that will be removed. Device, inode, owner and time tell it from a later one at the same path.

    `newest_at`: unix time of the youngest file in it. `allocated_bytes`: its size on the disk or in shared memory. `changing`:
    the targets of the plan still write to it, so its time is not compared.
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
    """A command of hangtop itself that changes nothing in the run, such as `stacks`. It prints to `output`, if given.

    If it fails, or takes longer than `deadline_s`, the plan goes on: missing evidence must not delay the end of a hung run. Where
    it is `needed`, as what a person wants to have saved, the plan ends there instead, before anything is signalled.
    """

    words: tuple[str, ...]
    title: str
    deadline_s: float
    output: str | None = None
    needed: bool = False


class RayStart(Struct, frozen=True, omit_defaults=True):
    """A node of a Ray cluster that `ray start` will start, and what proves that it is up again.

    `argv` has `***` for secrets: they are in `environ_file`, mode 0600, with the environment of the raylet. `set_env`: changes to
    that environment, which all workers of the node inherit. `away`: how many nodes on other machines must join again.
    `gcs_address` and `dashboard`: `host:port`. `resources`: those of the old node, by Ray's names; memory in bytes.
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
    """What the new run must reach to have passed the point where the old one hung. `logs`, `profile`, `stall_s`: as in
    `WatchSpec`.

    `order`: ids of the stages of its framework, in order. `stage`: where the old run hung; `step`: at which step, if it had one.
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
    """The start that is repeated. `lives`: its process lived when the plan was made. Then it must still live when the first
    signal is sent, else something else has ended it, and perhaps restarted the run. `started_at` is unix time."""

    pid: int
    start_ticks: int
    started_at: float
    lives: bool = False


class Start(Struct, frozen=True, omit_defaults=True):
    """A command that will be started in a session of its own, under a terminal whose output goes to `log`.

    Words, paths and values are raw text (`hangtop.common.raw_text`). `environ_file`: the whole environment, mode 0600, on this
    machine only; without one the command gets hangtop's. `set_env`: changes to it, by presets and by hand. `changed`: options in
    `argv` that differ from `usual_argv`, to which the next start returns. `visible_devices`: the old CUDA_VISIBLE_DEVICES.
    `shell`: the program that reads a command line with shell syntax. `interfaces`: as in `LaunchReading`. `program`: the file
    that the old process ran. `conditions`: resource limits and the like of the old process. `repeats`: the start that this one
    repeats; `None` for a first one. `attempt`: the number of this start. `ray`: the Ray session that lives on: this command does
    not start its workers, so they do not get this environment.
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
    """Something that the plan will not touch although it looks related, and why."""

    what: str
    why: str


class NodeLeftovers(Struct, frozen=True, omit_defaults=True):
    """What dead runs left behind on another node. `problem`: why that is not known."""

    host: str
    found: tuple[Removal, ...] = ()
    kept: tuple[LeftAlone, ...] = ()
    problem: str | None = None


class LeftoversReading(Struct, frozen=True, omit_defaults=True, tag="leftovers"):
    """The answer to a `LeftoversAsk`. `kept`: what has the name of a leftover but stays, with the reason.

    `writing`: the asked pids that have written to a file lately, with its path: they are in use, whatever their parent is.
    `elsewhere`: on the nodes that were named.
    """

    ask: int
    found: tuple[Removal, ...] = ()
    kept: tuple[LeftAlone, ...] = ()
    writing: dict[int, str] = {}
    problem: str | None = None
    elsewhere: tuple[NodeLeftovers, ...] = ()


class NodePart(Struct, frozen=True, omit_defaults=True):
    """What a plan does on another node. `host`: its name. `known`: which machine that was when the plan was made. `targets`: by
    their numbers here (`hangtop.records.nodes`), in the order of their signals. `newest_ticks`: as in `Plan`. `start`: what
    starts there again; its environment stays there. `starts`: the target that was started so. `removals`: what goes
    there then."""

    host: str
    known: OtherNode
    targets: tuple[Target, ...] = ()
    newest_ticks: int = 0
    start: Start | None = None
    starts: int = 0
    removals: tuple[Removal, ...] = ()


class Plan(Struct, frozen=True, omit_defaults=True):
    """An action, shown in full and then run as shown. `targets`: in the order of their signals, children before parents.

    The order: run `evidence`, end `targets` wave by wave, remove `removals`, start Ray (`ray`), start `start`, follow it by
    `watch`. A step that cannot be done ends the plan there. With a `signal` (`SIGCONT`) targets get that one alone and are not
    ended. `beyond`: processes of the run that belong to another user: never signalled, but named if they live on. `word`: what
    the user must type to confirm, if anything. `warnings`: what it will not achieve, and what would. `frees`: what it frees.
    `ports`: ports that must be free afterwards. `older_s`: nothing younger is removed. `stops`: the run that it ends, and where
    that stood. `logs`: real paths that the run writes: a process that begins to write them meanwhile is named. `newest_ticks`:
    start of the youngest process known when the plan was made. A child that a target started later is unknown to the plan; an
    older one was seen, and is left alone if it is no target. `advised`: what of the start differs because the advice says so,
    why, and how a person leaves it out. `elsewhere`: what it does on other nodes, at the same time. `unseen`: named nodes that
    cannot be seen, each with why: nothing is done there, and what runs there is never taken to be gone. `saving`: what saves the
    weights first, where processes can be asked for them; a person chooses it, and then it is one of `evidence`.
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
    evidence: tuple[EvidenceCommand, ...] = ()
    ray: tuple[RayStart, ...] = ()
    watch: Watch | None = None
    signal: str = ""
    frees: str = ""
    ports: tuple[int, ...] = ()
    older_s: float = 600.0
    stops: RunPlace | None = None
    logs: tuple[str, ...] = ()
    newest_ticks: int = 0
    advised: str = ""
    elsewhere: tuple[NodePart, ...] = ()
    unseen: tuple[str, ...] = ()
    saving: EvidenceCommand | None = None

    @property
    def everywhere(self) -> tuple[Target, ...]:
        """The targets on all nodes."""
        return (*self.targets, *(target for part in self.elsewhere for target in part.targets))


class Refusal(Struct, frozen=True):
    """The reason why there is no plan, in one line. `nothing_to_do`: nothing is wrong, and nothing is left to do."""

    why: str
    nothing_to_do: bool = False


class Step(Struct, frozen=True, omit_defaults=True):
    """One line of what an action did. `at` is unix time."""

    at: float
    kind: StepKind
    text: str
    pid: int | None = None
    start_ticks: int | None = None


class FitAsk(Struct, frozen=True, omit_defaults=True):
    """Can this be started? `removed`: paths that will be gone by then."""

    start: Start
    removed: tuple[str, ...] = ()


class Fit(Struct, frozen=True, omit_defaults=True):
    """The answer, one line each. `problems`: why it would not start; empty if nothing is in the way. `warnings`: what will not be
    as before, or could not be checked."""

    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def fit_ask(plan: Plan) -> FitAsk | None:
    """The question to ask before this plan runs; `None` if it starts no run."""
    return None if plan.start is None else FitAsk(plan.start, tuple(removal.path for removal in plan.removals))
