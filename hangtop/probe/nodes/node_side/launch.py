"""How a process was started, and the same again: its words, folder, output, limits and, kept in memory here alone, its
environment, which may hold secrets and goes nowhere."""

from __future__ import annotations

import os
import re
import resource
import stat
import subprocess
from contextlib import suppress
from typing import Any

from hangtop.probe.nodes.node_side.proc import link, raw_text, read, stat_of, to_os

LIMITS = ("CORE", "CPU", "DATA", "FSIZE", "MEMLOCK", "NOFILE", "NPROC", "STACK", "AS")
STARTED_BY = {"PMIX_NAMESPACE": "mpirun", "OMPI_COMM_WORLD_RANK": "mpirun", "PMI_RANK": "mpirun", "SLURM_STEP_ID": "srun"}
"""By a variable of the environment: in what it runs. That may also be a shell that a person got so. Under `srun --mpi` a task has
the variables of MPI too: `ports_of` finds who it was."""
HUB = re.compile(rb"(?:hnp_uri|control-port)\W+(\S+)")
"""Where mpirun is to be reached, as its daemons have it on their command line: orted(1), prted(1), Hydra's hydra_pmi_proxy."""
MOST_ABOVE = 8
STEP_DAEMON = "slurmstepd: ["
"""The title of the parent of a step's tasks."""


def words_of(raw: bytes) -> list[str]:
    """Each argument ends with a zero byte, empty ones at the end too."""
    return [raw_text(os.fsdecode(word)) for word in raw.removesuffix(b"\0").split(b"\0")] if raw else []


def environ_of(pid: int) -> dict[bytes, bytes]:
    pairs = (entry.partition(b"=") for entry in read(f"/proc/{pid}/environ").split(b"\0"))
    return {name: value for name, equals, value in pairs if equals}


def ports_of(pid: int, environ: dict[bytes, bytes]) -> list[int]:
    """Where the srun (SLURM_SRUN_COMM_PORT, srun(1)) or mpirun listens that started it, as far as anything names that."""
    found = {int(port) for port in [environ.get(b"SLURM_SRUN_COMM_PORT", b"")] if port.isdigit()}
    words = [name + b"=" + value for name, value in environ.items() if name.endswith(b"hnp_uri")]
    for _ in range(MOST_ABOVE):
        words.append(read(f"/proc/{pid}/cmdline").replace(b"\0", b" "))
        known = stat_of(pid)
        pid = known[0][1] if known is not None else 0
        if pid <= 1:
            break
    uris = [uri for text in words for uri in HUB.findall(text)]
    return sorted(found | {int(port) for uri in uris for port in re.findall(rb":(\d{3,5})(?!\d)", uri)})


def ports_of_step(daemon: int) -> list[int]:
    """Where the srun listens that started the tasks of this step daemon: they know it, and it does not."""
    tasks = [int(word) for word in read(f"/proc/{daemon}/task/{daemon}/children").split()]
    return sorted({port for task in tasks for port in ports_of(task, environ_of(task))})


def launch_of(pid: int, start_ticks: int) -> dict[str, Any]:
    """Without the environment. `client`: the port of the ssh client whose session it is in; `within`: what else it runs in, and
    `ports`: where that is to be reached."""
    argv, cwd, output = words_of(read(f"/proc/{pid}/cmdline")), link(f"/proc/{pid}/cwd"), link(f"/proc/{pid}/fd/1")
    environ = environ_of(pid)
    known = stat_of(pid)
    told: dict[str, Any] = {"pid": pid, "start_ticks": start_ticks}
    if known is None or known[0][6] != start_ticks:
        return dict(told, problem="it has ended")
    if argv and argv[0].startswith(STEP_DAEMON):
        return dict(told, argv=argv, within="srun", ports=ports_of_step(pid))
    if not argv or " " in argv[0] or not cwd or not environ:
        return dict(told, problem="its command line, folder or environment cannot be read")
    is_plain = is_file(pid) and not output.endswith(" (deleted)")
    session = environ.get(b"SSH_CONNECTION", b"").split()
    within = next((who for name, who in STARTED_BY.items() if name.encode() in environ), "")
    client = int(session[1]) if len(session) == 4 and session[1].isdigit() else 0
    shown = {"argv": argv, "cwd": raw_text(cwd), "output": raw_text(output) if is_plain else ""}
    return dict(told, **shown, client=client, within=within, ports=ports_of(pid, environ))


def is_file(pid: int) -> bool:
    """Whether its output goes to a plain file: a named pipe has a path as well, and waits for a reader."""
    try:
        return stat.S_ISREG(os.stat(f"/proc/{pid}/fd/1").st_mode)
    except OSError:
        return False


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

        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
        file = os.open(to_os(output), flags, 0o666 & ~max(self.umask, 0))  # without waiting for the reader of a pipe
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise OSError(f"{output} is no plain file")
            os.set_blocking(file, True)
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
