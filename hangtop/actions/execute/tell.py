"""The process that runs a command which tells causes apart: programs that only read, without a shell. It writes nothing.

stdin: a `TellAsk` as JSON. stdout: one line, a `Told` as JSON. Any of it can block (a dead disk, a sick driver), so the one that
asks (`hangtop.actions.execute.client`) ends this process with its group when it is late. No terminal, no input.
"""

from __future__ import annotations

import contextlib
import os
import select
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from hangtop.common.clean_text import clean_text, decode
from hangtop.common.raw_text import to_os
from hangtop.records.advice import TellAsk, TellProgram, Told
from hangtop.system.hangtop_child import hangtop_command

WITHIN_S = 12.0
"""`hangtop stacks --again 5` takes more than five."""
ENDED_S = 0.5
MOST_LINES, MOST_BYTES = 24, 1 << 18
"""Of what is printed so many lines are shown, and so many bytes read."""
LATE = "broken off: it did not end in time"


class _BrokenOffError(Exception):
    """Why the command did not come to its end."""


def told(ask: TellAsk, within_s: float = WITHIN_S) -> Told:
    """Run it, and give what it printed, up to the moment at which it was broken off."""
    began, printed, problem = time.monotonic(), bytearray(), ""
    code: int | None = None
    try:
        for pipeline in ask.pipelines:
            code = None
            code = _run(pipeline, printed, began + within_s, _environ(ask.columns))
    except _BrokenOffError as broken:
        problem = str(broken)
    lines = [clean_text(decode(line)).rstrip() for line in bytes(printed).splitlines()]
    lines = [line for line in lines if line]
    took_s = time.monotonic() - began
    return Told(tuple(lines[:MOST_LINES]), max(0, len(lines) - MOST_LINES), took_s, code, problem)


def _run(pipeline: Sequence[TellProgram], printed: bytearray, until: float, environ: Mapping[str, str]) -> int:
    """The exit code of its last program. What it prints is added to `printed`, errors among it."""
    for program in pipeline:
        _refuse_streams(program)
    limits = [time.monotonic() + program.within_s for program in pipeline if program.within_s is not None]
    ends = min(until, *limits) if limits else until
    with contextlib.ExitStack() as held:
        reader, writer = os.pipe()
        held.callback(os.close, reader)
        try:
            children = [held.enter_context(_ended(child)) for child in _started(pipeline, writer, environ)]
        finally:
            os.close(writer)
        _read_all(reader, printed, ends)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return children[-1].wait(max(0.0, ends - time.monotonic()))
        raise _BrokenOffError(LATE)


def _refuse_streams(program: TellProgram) -> None:
    for path in program.files:
        try:
            kind = os.stat(to_os(path)).st_mode
        except OSError:
            continue  # the program says it itself
        if not stat.S_ISREG(kind):
            raise _BrokenOffError(
                f"not run: {clean_text(path)} is no plain file, and what is read of it would be gone for others"
            )


def _started(pipeline: Sequence[TellProgram], writer: int, environ: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Its programs, each reading from the one before. The last one, and all errors, go to `writer`."""
    before: subprocess.Popen[bytes] | None = None
    for program in pipeline:
        is_last = program is pipeline[-1]
        argv = program.argv if program.argv[0] != "hangtop" else hangtop_command(*program.argv)
        try:
            child = subprocess.Popen(
                [to_os(word) for word in argv],
                stdin=subprocess.DEVNULL if before is None else before.stdout,
                stdout=writer if is_last else subprocess.PIPE,
                stderr=subprocess.DEVNULL if program.quiet else writer,
                env=environ,
            )
        except OSError as error:
            raise _BrokenOffError(f"{program.argv[0]} cannot be run: {error.strerror or error}") from error
        if before is not None and before.stdout is not None:
            before.stdout.close()  # so that the one before ends when this one does
        before = child
        yield child


def _environ(columns: int) -> Mapping[str, str]:
    """Ours, with no folder on the path that changes with the place where hangtop was started, such as that of the run."""
    places = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.environ | {"PATH": os.pathsep.join(filter(os.path.isabs, places)), "COLUMNS": str(columns)}


@contextlib.contextmanager
def _ended(child: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """It does not outlive the block; one that sleeps in the kernel is not waited for."""
    try:
        yield child
    finally:
        if child.stdout is not None:
            child.stdout.close()
        if child.poll() is None:
            child.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(ENDED_S)


def _read_all(reader: int, printed: bytearray, ends: float) -> None:
    """Up to the end of output. Raises `_BrokenOffError` when that does not come in time, or there is too much of it."""
    while select.select([reader], [], [], max(0.0, ends - time.monotonic()))[0]:
        if not (block := os.read(reader, 1 << 16)):
            return
        printed += block
        if len(printed) > MOST_BYTES:
            raise _BrokenOffError("broken off: it prints too much")
    raise _BrokenOffError(LATE)


def main() -> None:
    ask = msgspec.json.decode(sys.stdin.buffer.read(), type=TellAsk)
    sys.stdout.buffer.write(msgspec.json.encode(told(ask)) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
