"""py-spy, run as a program: the stacks of many processes at once, none of them stopped, none waited for longer than its limit.

`--nonblocking` reads the memory of the target without ptrace: it works on a process in state D or T, where a stopping dump gives
nothing. Killing py-spy half-way leaves the target unharmed (measured for `--native` too, which has to stop it for about 0.1 s).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

import msgspec
from msgspec import structs

from hangtop.common.clean_text import clean_text
from hangtop.records.stack import Frame, Thread

AT_ONCE = 16
LIMIT_S = 3.0
TRIES = 3
"""A dump that reads while the stack changes may fail; the next one mostly does not."""
LONGEST_REPR = 200


class SpyLocal(msgspec.Struct, frozen=True):
    name: str
    repr: str | None = None


class SpyFrame(msgspec.Struct, frozen=True):
    name: str
    filename: str
    line: int = 0
    locals: tuple[SpyLocal, ...] | None = None


class SpyThread(msgspec.Struct, frozen=True):
    """One thread as py-spy prints it (`py-spy dump --json`, 0.3.12 to 0.4)."""

    thread_id: int
    frames: tuple[SpyFrame, ...]
    thread_name: str | None = None
    os_thread_id: int | None = None
    owns_gil: bool = False
    active: bool = False


class Dump(msgspec.Struct, frozen=True):
    """What py-spy said of one process: threads, or why not. `late`: it was ended at its limit. `argv`: how it was called."""

    pid: int
    threads: tuple[SpyThread, ...] = ()
    error: str | None = None
    late: bool = False
    argv: tuple[str, ...] = ()


_threads = msgspec.json.Decoder(tuple[SpyThread, ...])


def find() -> str | None:
    """The py-spy of this Python environment, else that of the PATH, else `None`."""
    beside = Path(sys.executable).with_name("py-spy")
    return str(beside) if beside.exists() else shutil.which("py-spy")


def command(tool: str, pid: int, *, native: bool = False, with_locals: bool = False) -> tuple[str, ...]:
    """What is run for one process. py-spy takes native frames only while it stops the process."""
    options = ["--native" if native else "--nonblocking", *(["--locals"] if with_locals else [])]
    return (tool, "dump", "--json", *options, "--pid", str(pid))


class _Running:
    """One py-spy at work. Its output goes into files, so that no pipe can fill and nobody has to read meanwhile."""

    def __init__(self, argv: tuple[str, ...], pid: int, tries: int, ends_at: float) -> None:
        self.argv, self.pid, self.tries, self.ends_at = argv, pid, tries, ends_at
        self._out: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by dump() or end()
        self._err: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=self._out, stderr=self._err)

    def finished(self) -> bool:
        return self._process.poll() is not None

    def end(self) -> None:
        """Kill it, and do not wait for long: stuck in the kernel itself, it may never end."""
        self._process.kill()
        with suppress(subprocess.TimeoutExpired), self._out, self._err:
            self._process.wait(0.2)

    def dump(self) -> Dump:
        with self._out as out, self._err as err:
            out.seek(0)
            err.seek(0)
            if self._process.returncode == 0:
                return read(self.pid, out.read())
            return Dump(self.pid, error=first_words(err.read()))


def dumps(pids: Iterable[int], command_of: Callable[[int], tuple[str, ...]], limit_s: float = LIMIT_S) -> Iterator[Dump]:
    """Run py-spy once for each pid, at most `AT_ONCE` at a time. Gives each result as it comes, each within `limit_s`.

    `command_of` is asked right before each start: whether a process may be stopped can change while others are looked at.
    Raises `OSError` when the program cannot be run.
    """
    waiting = deque((pid, TRIES, 0.0) for pid in pids)
    running: list[_Running] = []
    try:
        while waiting or running:
            while waiting and len(running) < AT_ONCE:
                pid, tries, ends_at = waiting.popleft()
                running.append(_Running(command_of(pid), pid, tries, ends_at or time.monotonic() + limit_s))
            time.sleep(0.004)
            for dump in [dump for dump in running if dump.finished() or time.monotonic() > dump.ends_at]:
                running.remove(dump)
                if dump.finished():
                    result = dump.dump()
                else:
                    dump.end()
                    result = Dump(dump.pid, error=f"no answer within {limit_s:g} s", late=True)
                if dump.tries > 1 and "stack trace" in (result.error or "").lower():  # it read while the stack changed
                    waiting.append((dump.pid, dump.tries - 1, dump.ends_at))
                else:
                    yield structs.replace(result, argv=dump.argv)
    finally:
        for dump in running:
            dump.end()


def read(pid: int, output: bytes) -> Dump:
    """The threads in py-spy's output."""
    try:
        return Dump(pid, threads=_threads.decode(output))
    except msgspec.DecodeError as error:
        return Dump(pid, error=f"py-spy printed what this hangtop cannot read: {error}")


def first_words(stderr: bytes) -> str:
    """The message of a failed dump, without its backtrace."""
    lines = [clean_text(line).strip() for line in stderr.decode("utf-8", "replace").splitlines()]
    said = next((line for line in lines if line), "py-spy failed and said nothing")
    return said.removeprefix("Error: ")


def frame(spied: SpyFrame) -> Frame:
    """A frame as hangtop keeps it, its text cleaned."""
    kept = tuple((clean_text(local.name), clean_text(local.repr or "")[:LONGEST_REPR]) for local in spied.locals or ())
    return Frame(clean_text(spied.name), clean_text(spied.filename), spied.line, kept)


def thread(spied: SpyThread) -> Thread:
    """A thread as hangtop keeps it. Of its state py-spy tells only whether it runs."""
    name = spied.thread_name or (f"thread {spied.os_thread_id}" if spied.os_thread_id else "thread")
    frames = tuple(map(frame, spied.frames))
    return Thread(clean_text(name), frames, spied.os_thread_id, spied.owns_gil, "R" if spied.active else "S")
