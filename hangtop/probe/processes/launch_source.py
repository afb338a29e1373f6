"""How a run was started, to start it again: as the launch store knows it, or read from the living process and stored."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress

from hangtop.common.raw_text import from_os, text_of, to_os
from hangtop.probe.context import ProbeContext
from hangtop.probe.source import Source
from hangtop.records.ask import LaunchAsk
from hangtop.records.launch import Launch, LaunchReading, NodeLaunch
from hangtop.records.reading import Value
from hangtop.system.processes.limits import conditions_of
from hangtop.system.processes.open_table import open_table
from hangtop.system.processes.proc_files import read_optional, read_text
from hangtop.system.processes.table import ProcessTable
from hangtop.system.stores import launch_store

NET = "/sys/class/net"
"""Read as files: some ioctls wait for a lock of the kernel that a hanging network card may hold."""
IFF_UP = 1


class LaunchSource(Source):
    def __init__(self, context: ProbeContext, table: ProcessTable | None = None) -> None:
        self._context = context
        self._logs = context.spec.logs
        self._table = table or open_table()

    def answer(self, ask: LaunchAsk, now: float) -> Iterable[Value]:
        """The environment is not in the answer: it can hold secrets, and readings are recorded."""
        try:
            found = self._of_log() if ask.pid is None else self._of_process(ask.pid, ask.start_ticks)
        except OSError as error:
            yield LaunchReading(ask.ask, problem=f"how it was started cannot be read: {error.strerror}: {error.filename}")
            return
        except LookupError as error:
            yield LaunchReading(ask.ask, problem=str(error))
            return
        yield LaunchReading(ask.ask, found, interfaces=interfaces(), elsewhere=self._elsewhere(ask))

    def _elsewhere(self, ask: LaunchAsk) -> tuple[NodeLaunch, ...]:
        if not ask.elsewhere:
            return ()
        from hangtop.probe.nodes.node_launches import launches

        return launches(self._context.nodes, ask.ask, ask.elsewhere, self._context.members or ())

    def _of_log(self) -> Launch:
        """The launch of a run that has ended."""
        found = [known for log in self._logs if (known := launch_store.latest(os.path.realpath(log))) is not None]
        if not found:
            raise LookupError("no process of this run is known here, and hangtop did not start it: its command line is not known")
        return found[-1]

    def _of_process(self, pid: int, start_ticks: int) -> Launch:
        """The launch of a living process: known if hangtop started it, else read from the process and stored."""
        if (known := launch_store.of_process(pid, start_ticks)) is not None:
            return known
        raw = read_optional(f"/proc/{pid}/cmdline") or b""  # each argument ends with a zero byte, empty ones at the end too
        argv = tuple(text_of(word) for word in raw.removesuffix(b"\0").split(b"\0")) if raw else ()
        environ = self._table.environ(pid)
        cwd = from_os(_folder_of_start(argv, self._table.cwd(pid), to_os(environ.get("PWD", ""))))
        output = os.readlink(f"/proc/{pid}/fd/1")
        is_plain = os.path.isfile(f"/proc/{pid}/fd/1") and not output.endswith(" (deleted)")  # a named pipe has a path as well
        program, conditions = "", conditions_of(pid)
        with suppress(OSError):  # not ours to know
            program = from_os(os.readlink(f"/proc/{pid}/exe"))
        self._table.refresh((pid,))
        stat = self._table.stats.get(pid)
        if stat is None or stat.start_ticks != start_ticks:
            raise LookupError(f"pid {pid} has ended")
        if not argv or argv[0].startswith("ray::") or " " in argv[0]:
            raise LookupError(f"pid {pid} has written another title over its command line: start it again yourself")
        kept = Launch(
            argv,
            cwd,
            launch_store.keep_environ(environ),
            pid,
            start_ticks,
            self._table.started_at(start_ticks),
            from_os(output) if is_plain else None,
            logs=tuple(from_os(os.path.realpath(log)) for log in self._logs),
            visible_devices=environ.get("CUDA_VISIBLE_DEVICES"),
            conditions=conditions,
            shell=environ.get("SHELL", ""),
            program=program,
        )
        launch_store.keep(kept)
        return kept


def interfaces() -> tuple[str, ...]:
    """As `LaunchReading` has them; empty where the system does not tell."""
    try:
        known = [name for name in os.listdir(NET) if name != "lo" and int(read_text(f"{NET}/{name}/flags") or "0", 16) & IFF_UP]
    except OSError:
        return ()
    routes = (line.split() for line in read_text("/proc/net/route").splitlines()[1:])
    first = next((route[0] for route in routes if len(route) > 1 and route[1] == "00000000"), "")  # that of 0.0.0.0
    return tuple(sorted(known, key=lambda name: (name != first, name)))


def _folder_of_start(argv: Sequence[str], cwd: str, pwd: str) -> str:
    """The folder in which it was started. A program may have changed it since, as Hydra's `job.chdir` does: then a file that its
    command line names is not below its present folder, but below that of its shell (PWD)."""
    words = [to_os(word) for word in argv[1:] if word and not word.startswith(("-", "/"))]
    left = [word for word in words if not os.path.exists(os.path.join(cwd, word))]
    there = pwd.startswith("/") and any(os.path.isfile(os.path.join(pwd, word)) for word in left)
    return pwd if there else cwd
