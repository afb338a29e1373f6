"""What is known of the run's processes. A process is a pid *and* its start time: pids are reused."""

from __future__ import annotations

import signal
from typing import Literal

from msgspec import Struct

ProcessRole = Literal["launcher", "rank", "data worker", "compiler", "engine core", "ray daemon", "ray worker", "other"]


class Writer(Struct, frozen=True, omit_defaults=True):
    """A process that writes a watched log, itself or `via` a relay such as `tee`.

    `started_at` and `start_ticks` (clock ticks after boot, exact) make it this process and no other of the same pid.
    `exit_code`: 0…255, or minus the signal that ended it; `None` while it lives and when the kernel does not tell.
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


class RecentActivity(Struct, frozen=True, omit_defaults=True):
    """What a process did lately: over `seconds`, looked at `samples` times. Parts are of 1, rates per second, `None` not known.

    `running_part` and `blocked_part`: share of looks in state R and D. `wchan`: where it was in every look in state D, `None`
    when that changed. `io_b_s`: bytes from and to storage. `passed_b_s`: bytes through read and write calls, pipes and sockets
    included. `switches_s`: voluntary switches of the main thread alone, for those of the process are no sign of life: the
    threads of a hung gloo group go on (measured). `main_cpu_part`, `delay_part`: time that the main thread ran, and that it
    waited for a core; both to the nanosecond, where CPU times come in steps of 10 ms.
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
    """One process. `state` is the letter of proc(5). CPU in percent of one core, over the last look.

    `reaped_percent`: CPU of its children that ended meanwhile, such as compilers. `state_since`: unix time since when every
    look saw this state (and wait channel). `subtree_…`: with all descendants, those that ended meanwhile included; it is by
    these that a launcher or the parent of a compiler is judged; `subtree_started_at` of the youngest. `devices`: numbers N of the
    `/dev/nvidiaN` it holds open, each as often as it is open. `log_rank`: the number in the name of the log that it holds open,
    and no process beside those below it. `missing_right`: the command that would show what is `None` here because the process
    belongs to someone else.
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
    missing_right: str | None = None

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
    """The meeting point of the ranks (MASTER_ADDR, MASTER_PORT) by the sockets that the run's processes on this machine hold.

    `listening`: a process of the run listens on the port here. `established`: connections that this listener has, else those of
    the run's processes to it. `from_elsewhere`: of these, those whose other end is not on this machine. `joined`: ranks of this
    machine that hold such a connection; `missing`: those of this machine that do not. `None`: hidden. `another_listens`: the
    port is taken here, by a process that is not the run's.
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

    `answers`: whether that file system answers statfs; `None` when it has not been long enough to tell.
    """

    pid: int
    file: str
    mount: str
    kind: str = ""
    device: str = ""
    answers: bool | None = None


RayTieKind = Literal["drives", "works", "holds", "log", "argument", "environment"]
"""How a process of the run is tied to Ray: it drives a job, is a worker of one, holds a file of the session's folder open or has
its log there; or its command line or environment names an address or a session."""


class RayTie(Struct, frozen=True, omit_defaults=True):
    """A fact that ties a process of the run to Ray. `name`: the folder of a session, the name of one, or `host:port`.

    `job`: of which it is the driver or a worker. `process`: its name. `gone`: it lives no more; the fact was seen while it did.
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
    """Who writes the logs, and the tree of the run's processes: parents before their children.

    `writers` keeps those that are gone, with the time when that was seen. `hidden`: how many processes might write the logs as
    well, but belong to a user whose files we may not see. No writer and nothing hidden proves that nobody writes. `orphans`:
    training processes of the log's user that lost their parent, each followed by its descendants. `zombies`: ended processes
    that their parent, of the run or of Ray, does not reap. `ended`: ranks that were seen and are gone. `blocked_on`: for
    what those wait that are blocked in the kernel. `note`, `missing_right`: one line each on what is missing, and the
    command that grants it. `taken`: where nobody holds the log open, the pids that are taken for its writers, for the log itself
    tells of them or of their ranks; good enough to look at, never to be stopped. `leads`: where none is, the pids that may write
    it by what they were started with, and nothing tells that they do: they are not among `processes`. `weighed`: the log
    had been read to its end when it was asked about them. `pointing`: orphans that the run may have left, where nobody writes it.
    `shell`: a person's shell, whose own output goes to the log, and with it that of all that it starts; it is no writer. `jobs`:
    the first processes of its jobs, where several write the log, so that a person must say which of them is the run.
    `ray`: what ties processes of the run to Ray, one process for each fact, where its writers were seen. `of_ray`: pids that are
    here because their Ray session was proven to be the run's: they prove nothing of it.
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


def exit_words(code: int) -> str:
    """An exit code as a person says it: `exit code 1`, `killed by SIGKILL`."""
    if code >= 0:
        return f"exit code {code}"
    known = -code in set(signal.Signals)
    return f"killed by {signal.Signals(-code).name if known else f'signal {-code}'}"
