"""A run that writes into a pipe, as `python train.py | hangtop --log -` does, and who holds that pipe."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from hangtop.probe.log.start_drain import Drain
from hangtop.records.watch_spec import KeptPipe
from tests.fakes.processes import eventually, running

WRITER = """
import os, signal, sys, time
folder = sys.argv[1]
signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # as `tee` and any program in C: it dies when nobody can read
signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as under nohup
def told(name, text):
    with open(f"{folder}/{name}.new", "w") as file:
        file.write(text)
    os.rename(f"{folder}/{name}.new", f"{folder}/{name}")
def put(data):
    while data:
        data = data[os.write(1, data):]
told("pipe", os.readlink("/proc/self/fd/1"))
step = 0
while not os.path.exists(f"{folder}/go"):
    step += 1
    put(b"[rank0]: step %d/100000000 loss 2.0\\n" % step)
    time.sleep(0.02)
block = b"[rank0]: step %d/100000000 loss 2.0\\n" % step * LINES
for _ in range(BLOCKS):
    put(block)
told("wrote", str(step))
"""
BLOCKS, LINES = 56, 40_000
"""Some 90 MB: more than the pipe and the drain hold."""


class Run:
    """It writes a line now and then; when let go, some 90 MB as fast as it can; then it ends."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def command(self) -> tuple[str, ...]:
        program = WRITER.replace("BLOCKS", str(BLOCKS)).replace("LINES", str(LINES))
        return (sys.executable, "-c", program, str(self.folder))

    @property
    def pipe(self) -> str:
        """What the pipe is called in /proc."""
        return eventually(
            lambda: (self.folder / "pipe").exists() and (self.folder / "pipe").read_text(), "the start of the writer"
        )

    def let_go(self) -> None:
        (self.folder / "go").touch()

    def has_written_all(self) -> None:
        """It was neither held up nor ended."""
        self.let_go()
        assert eventually(
            lambda: (self.folder / "wrote").exists() and (self.folder / "wrote").read_text(), "the writer's last line"
        )

    @property
    def readers(self) -> list[psutil.Process]:
        """Everybody who holds the end of the pipe from which it is read."""
        return [process for process in psutil.process_iter() if _reads(process.pid, self.pipe)]

    def drained(self) -> list[psutil.Process]:
        """The two processes of the drain, once nobody else holds the pipe."""
        return eventually(lambda: drain if _is_drain(drain := self.readers) else None, "the drain, alone with the pipe")


def _is_drain(processes: list[psutil.Process]) -> bool:
    with suppress(psutil.NoSuchProcess):  # it has ended since: then it was none
        return len(processes) == 2 and all("drain.py" in " ".join(process.cmdline()) for process in processes)
    return False


def _reads(pid: int, pipe: str) -> bool:
    with suppress(OSError):  # not ours, or gone
        for fd in os.listdir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                link = f"/proc/{pid}/fd/{fd}"
                if os.readlink(link) == pipe and os.lstat(link).st_mode & stat.S_IRUSR:
                    return True
    return False


@contextmanager
def piped(
    folder: Path, *hangtop: str, **options: object
) -> Iterator[tuple[Run, subprocess.Popen[bytes], subprocess.Popen[bytes]]]:
    """The run, its process, and the command that reads its output. Nobody of them is left at the end."""
    run = Run(folder)
    with running(*run.command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        with running(*hangtop, stdin=writer.stdout, **options) as reader:
            writer.stdout.close()
            yield run, writer, reader
    eventually(lambda: not run.readers, "the end of the drain")


@contextmanager
def kept(fd: int) -> Iterator[KeptPipe]:
    """What is read of this pipe, as the command line gives it to the probe."""
    drain = Drain(fd)
    assert drain.reads()
    try:
        yield KeptPipe(drain.memory, os.readlink(f"/proc/self/fd/{fd}"))
    finally:
        drain.close()
