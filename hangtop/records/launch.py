"""How a run was started, and so what it takes to start it again. Bytes of the kernel are raw text (`hangtop.common.raw_text`)."""

from __future__ import annotations

from msgspec import Struct


class Conditions(Struct, frozen=True, omit_defaults=True):
    """What a process hands on to its children, beside environment and folder. Empty or `None`: not known.

    `limits`: (soft, hard) by the name in Python's `resource`, -1 for none; in the units of getrlimit(2): bytes, seconds or a
    count. `nice`: -20 to 19. `oom_score_adj`: -1000 to 1000, how readily the kernel kills it when memory is short.
    """

    limits: dict[str, tuple[int, int]] = {}
    umask: int | None = None
    nice: int | None = None
    oom_score_adj: int | None = None


class Launch(Struct, frozen=True, omit_defaults=True):
    """One start of a run. `environ_file`: its whole environment, mode 0600, on its machine only: it may hold secrets.

    `output`: the file that its standard output went to, `None` if that was no plain file. `logs`: real paths of its watched
    logs. `visible_devices`: its CUDA_VISIBLE_DEVICES. `shell`: its SHELL. `program`: the file that its pid ran when last seen.
    `attempt` counts from 1. `exit_code`, `ended_at`, `size_bytes` of the output: of its end, as its runner saw it.
    """

    argv: tuple[str, ...]
    cwd: str
    environ_file: str
    pid: int
    start_ticks: int
    started_at: float
    output: str | None = None
    logs: tuple[str, ...] = ()
    visible_devices: str | None = None
    attempt: int = 1
    exit_code: int | None = None
    ended_at: float | None = None
    size_bytes: int | None = None
    conditions: Conditions = Conditions()
    shell: str = ""
    program: str = ""


class NodeLaunch(Struct, frozen=True, omit_defaults=True):
    """How a process of another node was started; its environment stays there. `pid`: its number here. `output`: as in `Launch`.
    `by`: pid of the run's process here that was seen to have started it, and will do so again; 0 where none was. `in_session`:
    of ssh, perhaps through a gateway: then it may be one that the command here opened. `within`: the program in whose job it
    runs, by its environment: a person may have started it in a shell that they got so. `problem`: why nothing is known."""

    pid: int
    start_ticks: int
    argv: tuple[str, ...] = ()
    cwd: str = ""
    output: str = ""
    by: int = 0
    in_session: bool = False
    within: str = ""
    problem: str = ""


class LaunchReading(Struct, frozen=True, omit_defaults=True, tag="launch"):
    """The answer to a `LaunchAsk`: how the run was started, or in `problem` why that is unknown.

    `interfaces`: the network interfaces that are up, except the loopback, with that of the default route first.
    `elsewhere`: of the processes on other nodes that were asked for.
    """

    ask: int
    launch: Launch | None = None
    problem: str | None = None
    interfaces: tuple[str, ...] = ()
    elsewhere: tuple[NodeLaunch, ...] = ()
