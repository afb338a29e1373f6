"""The processes of the run. A process is a pid *and* its start time, since pids are reused."""

from __future__ import annotations

import signal
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from hangtop.records.nodes import NamedNodes, OtherNode

WROTE_MOST_BYTES = 64 << 10
"""Whoever wrote more than this is simply one that writes."""

ProcessRole = Literal["launcher", "rank", "data worker", "compiler", "engine core", "ray daemon", "ray worker", "other"]


class Writer(Struct, frozen=True, omit_defaults=True):
    """A process that writes a watched log, itself or `via` a relay such as `tee`.

    `start_ticks` (clock ticks after boot, exact) tells it from a later process with the same pid. `exit_code`: 0…255, or minus
    the signal that ended it; `None` while it lives and if the kernel does not tell. `copies`: all that it does is to copy what
    comes to it over a socket: the run is behind that. `started_here`: it is the run itself, which hangtop started.
    """

    pid: int
    started_at: float
    name: str
    command: str
    start_ticks: int = 0
    paths: tuple[str, ...] = ()
    via: str | None = None
    alive: bool = True
    gone_at: float | None = None
    exit_code: int | None = None
    copies: bool = False
    started_here: bool = False


class RecentActivity(Struct, frozen=True, omit_defaults=True):
    """What a process did in the last `seconds`, over `samples` samples. Parts are of 1, rates per second, `None` unknown.

    `running_part` and `blocked_part`: share of samples in state R and D; the former no more than the exact share in which the
    main thread ran or waited for a core, for of few samples one in R is chance. `wchan`: where it was in every sample in state D,
    `None` if that changed. `io_b_s`: bytes from and to storage. `passed_b_s`: bytes through read and write calls, pipes and
    sockets included. `switches_s`: voluntary context switches of the main thread; other threads are no sign of life, since those
    of a hung gloo group go on (measured). `main_cpu_part`, `delay_part`: share of time that the main thread ran, and that it
    waited for a core; both exact to the nanosecond, while CPU times come in steps of 10 ms.
    """

    seconds: float
    samples: int
    running_part: float
    blocked_part: float = 0.0
    wchan: str | None = None
    cpu_percent: float | None = None
    io_b_s: float | None = None
    passed_b_s: float | None = None
    switches_s: float | None = None
    main_cpu_part: float | None = None
    delay_part: float | None = None


class Process(Struct, frozen=True, omit_defaults=True):
    """One process. `state`: the letter of proc(5). CPU in percent of one core, since the previous sample.

    `reaped_percent`: CPU of children that ended since then, such as compilers. `state_since`: unix time since which every sample
    saw this state (and wait channel). `subtree_…`: with all descendants but other ranks, also those that ended since; a launcher
    or the parent of a compiler is judged by these. `subtree_started_at`: start of the youngest one. `devices`: numbers N of the
    `/dev/nvidiaN` that it holds open, once for each open file. `log_rank`: the number in the name of the log that only it and its
    descendants hold open. `wrote_bytes`: what it wrote itself so far, through all its write calls, up to `WROTE_MOST_BYTES`.
    `missing_right`: the command that would show what is `None` because the process is another user's. `can_be_asked`: it has run
    `import hangtop.agent`. `restarts_left`: how often torchrun may still start all ranks again, as it told this one.
    """

    pid: int
    started_at: float
    start_ticks: int
    ppid: int
    name: str
    command: str
    state: str
    role: ProcessRole = "other"
    rank: int | None = None
    local_rank: int | None = None
    world: int | None = None
    uid: int | None = None
    user: str | None = None
    state_since: float | None = None
    wchan: str | None = None
    tracer_pid: int | None = None
    exit_code: int | None = None
    threads: int = 0
    rss_bytes: int | None = None
    cpu_percent: float | None = None
    reaped_percent: float | None = None
    read_b_s: float | None = None
    write_b_s: float | None = None
    recent: RecentActivity | None = None
    subtree_size: int = 1
    subtree_cpu_percent: float | None = None
    subtree_io_b_s: float | None = None
    subtree_running_part: float | None = None
    subtree_started_at: float | None = None
    devices: tuple[int, ...] = ()
    visible_devices: str | None = None
    log_rank: int | None = None
    wrote_bytes: int | None = None
    missing_right: str | None = None
    can_be_asked: bool = False
    restarts_left: int | None = None

    @property
    def exited(self) -> bool:
        """Whether it has ended: a zombie (Z), or gone (X)."""
        return self.state in "ZX"

    @property
    def doing(self) -> str:
        """Its state in words."""
        match self.state:
            case "D":
                return f"blocked in {self.wchan}" if self.wchan else "blocked in the kernel"
            case "Z" | "X":
                return "zombie" if self.exit_code is None else f"zombie, {exit_words(self.exit_code)}"
            case "T" | "t" if self.tracer_pid:
                return f"held by a debugger (pid {self.tracer_pid})"
            case "T" | "t":
                return "stopped"
        return STATE_WORDS.get(self.state, self.state)


STATE_WORDS = {"R": "running", "S": "sleeping", "I": "idle", "W": "waking", "P": "parked"}


class Rendezvous(Struct, frozen=True, omit_defaults=True):
    """The rendezvous of the ranks (MASTER_ADDR, MASTER_PORT), by the sockets of the run's processes on this machine.

    `listening`: a process of the run listens on the port here. `established`: number of connections of this listener, else of
    the run's processes to it. `from_elsewhere`: how many of these come from another machine. `joined`: ranks on this machine
    with such a connection; `missing`: ranks on this machine without one. `None`: hidden. `another_listens`: a process that is not
    the run's has taken the port.
    """

    address: str
    port: int
    world: int | None = None
    listening: bool | None = None
    established: int | None = None
    joined: tuple[int, ...] = ()
    missing: tuple[int, ...] = ()
    from_elsewhere: int | None = None
    another_listens: bool = False


class BlockedOn(Struct, frozen=True, omit_defaults=True):
    """What a process blocked in the kernel waits for: a file, on a mount of this kind (`nfs4`) and device (`server:/export`).

    `answers`: whether that file system answers statfs; `None` if it is too early to tell.
    """

    pid: int
    file: str
    mount: str
    kind: str = ""
    device: str = ""
    answers: bool | None = None


class ShellLoop(Struct, frozen=True, omit_defaults=True):
    """A shell in a loop of its program, which sleeps now. `pid`: of the shell, `sleeper`: of its `sleep`, which takes `sleep_s`
    and ends at `until` (unix time). `head`: the condition of the loop."""

    pid: int
    sleeper: int
    sleep_s: float
    until: float
    head: str = ""


class UnfinishedScript(Struct, frozen=True, omit_defaults=True):
    """A shell that waits for some of its children, and whose script starts another program behind that.

    `pid`: of the shell, `awaited`: of these children. `next`: what it comes to then, as its script has it. `in_wait`: only jobs
    are left, so that it is in `wait`; else it waits for what it runs in the foreground. `outside`: nobody writes the logs now,
    but its script did before and does in `next`. `until`: when the `sleep` that it waits for ends (unix time)."""

    pid: int
    awaited: tuple[int, ...]
    next: str
    in_wait: bool = False
    outside: bool = False
    until: float | None = None


RayTieKind = Literal["drives", "works", "holds", "log", "argument", "environment"]
"""How a process of the run is tied to Ray: it drives a job, is a worker of one, holds a file of the session's folder open or has
its log there; or its command line or environment names an address or a session."""


class RayTie(Struct, frozen=True, omit_defaults=True):
    """A fact that ties a process of the run to Ray. `name`: the folder or name of a session, or `host:port`.

    `job`: the job that it drives or works for. `process`: its name. `gone`: the process has ended since.
    """

    kind: RayTieKind
    name: str
    pid: int = 0
    started_at: float = 0.0
    start_ticks: int = 0
    process: str = ""
    job: str = ""
    gone: bool = False


class ProcessReading(Struct, frozen=True, omit_defaults=True, tag="procs"):
    """The writers of the logs, and the process tree of the run, parents before their children.

    `writers`: also those that are gone, with the time when hangtop saw that. `hidden`: how many other processes might write the
    logs, but their open files may not be read. No writer and nothing hidden proves that no process writes. `orphans`: training
    processes of the log's user that lost their parent, each followed by its descendants. `zombies`: ended processes whose parent,
    of the run or of Ray, does not reap them. `ended`: ranks that were seen and are gone. `blocked_on`: what the processes blocked
    in the kernel wait for. `note`, `missing_right`: one line on what is missing, and the command that grants it. `contained`:
    hangtop runs in a container, and sees no process outside of it. `node`: another machine, of which this was read.
    `named`: other nodes that the run names.

    If no process holds the log open: `taken`: pids that the log itself names, or names the ranks of; they are shown as its
    writers, but never stopped. `leads`: pids that may write it by their arguments, without any proof; they are not among
    `processes`. `weighed`: the log had been read to its end when these were chosen. `pointing`: orphans that the run may have
    left.

    `shell`: an interactive shell whose output, with that of all that it starts, goes to the log; it is no writer. `jobs`: the
    first processes of its jobs, if several write the log: the user must say which of them is the run. `ray`: the facts that tie
    the run to Ray, one process each, if its writers were seen. `of_ray`: pids that belong to the run only because their Ray
    session does: they prove nothing about that session.

    `began_at`: unix time at which the oldest process began that runs the program now, kept when it ends; `older`: by real path of
    a log, the byte below which everything was written before. `sought`: the files were known whose writers are to be found; those
    of a directory or pattern the log source tells first, and until then no writer is seen of any of them. `loops`: shells that
    sleep and then try again, tied to the run by its logs; `scripts`: shells that write the logs and have more to do.
    """

    writers: tuple[Writer, ...] = ()
    hidden: int = 0
    note: str | None = None
    processes: tuple[Process, ...] = ()
    orphans: tuple[Process, ...] = ()
    zombies: tuple[Process, ...] = ()
    ended: tuple[Process, ...] = ()
    rendezvous: Rendezvous | None = None
    missing_right: str | None = None
    blocked_on: tuple[BlockedOn, ...] = ()
    taken: tuple[int, ...] = ()
    leads: tuple[int, ...] = ()
    weighed: bool = False
    pointing: tuple[int, ...] = ()
    shell: int | None = None
    jobs: tuple[int, ...] = ()
    ray: tuple[RayTie, ...] = ()
    of_ray: tuple[int, ...] = ()
    began_at: float | None = None
    older: dict[str, int] = {}
    sought: bool = True
    loops: tuple[ShellLoop, ...] = ()
    scripts: tuple[UnfinishedScript, ...] = ()
    contained: bool = False
    node: OtherNode | None = None
    named: NamedNodes | None = None


LONGER_S = 0.5


def unchanged(old: ProcessReading, new: ProcessReading) -> bool:
    """True if only sample counts changed. The observation time must be about the same too, since rules use it."""
    if len(old.processes) != len(new.processes) or replace(old, processes=()) != replace(new, processes=()):
        return False
    return all(map(_is_calm, old.processes, new.processes))


def _is_calm(old: Process, new: Process) -> bool:
    if old.recent is None or new.recent is None:
        return old == new
    recent = replace(new.recent, seconds=old.recent.seconds, samples=old.recent.samples)
    return new.recent.seconds < old.recent.seconds + LONGER_S and replace(new, recent=recent) == old


def exit_words(code: int) -> str:
    """An exit code in words: `exit code 1`, `killed by SIGKILL`."""
    if code >= 0:
        return f"exit code {code}"
    known = -code in set(signal.Signals)
    return f"killed by {signal.Signals(-code).name if known else f'signal {-code}'}"
