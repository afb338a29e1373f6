"""How a process was started, and the same again: its words, folder, output, limits and, kept in memory here alone, its
environment, which may hold secrets and goes nowhere."""

from __future__ import annotations

import os
import resource
import subprocess
from contextlib import suppress
from typing import Any

from hangtop.probe.nodes.node_side.proc import link, raw_text, read, stat_of

LIMITS = ("CORE", "CPU", "DATA", "FSIZE", "MEMLOCK", "NOFILE", "NPROC", "STACK", "AS")
STARTED_BY = {"SLURM_STEP_ID": "slurm", "PMIX_RANK": "mpi", "OMPI_COMM_WORLD_RANK": "mpi", "PMI_RANK": "mpi"}


def words_of(raw: bytes) -> list[str]:
    """Each argument ends with a zero byte, empty ones at the end too."""
    return [raw_text(os.fsdecode(word)) for word in raw.removesuffix(b"\0").split(b"\0")] if raw else []


def to_os(text: str) -> str:
    """Undoes `raw_text`."""
    return text.translate({code + 0x10_0000: code for code in range(0xDC80, 0xDD00)})


def environ_of(pid: int) -> dict[bytes, bytes]:
    pairs = (entry.partition(b"=") for entry in read(f"/proc/{pid}/environ").split(b"\0"))
    return {name: value for name, equals, value in pairs if equals}


def launch_of(pid: int, start_ticks: int) -> dict[str, Any]:
    """Without the environment. `client`: the port of the ssh client whose session it is in; `by`: what else started it."""
    argv, cwd, output = words_of(read(f"/proc/{pid}/cmdline")), link(f"/proc/{pid}/cwd"), link(f"/proc/{pid}/fd/1")
    environ = environ_of(pid)
    known = stat_of(pid)
    told: dict[str, Any] = {"pid": pid, "start_ticks": start_ticks}
    if known is None or known[0][6] != start_ticks:
        return dict(told, problem="it has ended")
    if not argv or " " in argv[0] or not cwd or not environ:
        return dict(told, problem="its command line, folder or environment cannot be read")
    is_plain = output.startswith("/") and not output.startswith("/dev/") and not output.endswith(" (deleted)")
    session = environ.get(b"SSH_CONNECTION", b"").split()
    by = next((who for name, who in STARTED_BY.items() if name.encode() in environ), "")
    client = int(session[1]) if len(session) == 4 and session[1].isdigit() else 0
    shown = {"argv": argv, "cwd": raw_text(cwd), "output": raw_text(output) if is_plain else ""}
    return dict(told, **shown, client=client, by=by)


class Kept:
    """A start that can be repeated once its process is gone. Raises `OSError` when it cannot be read."""

    def __init__(self, pid: int, start_ticks: int) -> None:
        self.environ = environ_of(pid)
        self.argv = words_of(read(f"/proc/{pid}/cmdline"))
        if not self.environ or not self.argv:
            raise OSError("its command line and environment cannot be read")
        self.limits = {name: resource.prlimit(pid, number) for name, number in numbers().items()}
        status = read(f"/proc/{pid}/status").split(b"Umask:")
        self.umask = int(status[1].split()[0], 8) if len(status) > 1 else -1
        known = stat_of(pid)
        if known is None or known[0][6] != start_ticks:
            raise OSError("it has ended")

    def start(self, argv: list[str], cwd: str, output: str, set_env: dict[str, str]) -> tuple[int, int]:
        """(pid, start ticks) of the new process, in a session of its own; its output is added to the file. Raises `OSError`."""
        environ = dict(self.environ)
        environ.update((os.fsencode(to_os(name)), os.fsencode(to_os(value))) for name, value in set_env.items())

        def before() -> None:
            for name, number in numbers().items():
                with suppress(OSError, ValueError):  # a limit that may not be raised stays
                    resource.setrlimit(number, self.limits[name])
            if self.umask >= 0:
                os.umask(self.umask)

        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        file = os.open(to_os(output), flags, 0o666 & ~max(self.umask, 0))
        try:
            child = subprocess.Popen(
                [to_os(word) for word in argv],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                cwd=to_os(cwd),
                env=environ,
                start_new_session=True,
                preexec_fn=before,
            )
        finally:
            os.close(file)
        known = stat_of(child.pid)
        children.append(child)
        return child.pid, known[0][6] if known is not None else 0


children: list[subprocess.Popen[bytes]] = []
"""They live on without us: kept, so that none is waited for."""


def numbers() -> dict[str, int]:
    """getrlimit(2) by name, as far as this Python knows them."""
    return {name: getattr(resource, f"RLIMIT_{name}") for name in LIMITS if hasattr(resource, f"RLIMIT_{name}")}
