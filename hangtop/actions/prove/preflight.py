"""The process that checks whether a start would succeed, before anything is ended for it. It leaves nothing behind.

stdin: a `FitAsk` as JSON. stdout: one line, a `Fit` as JSON. All of it can block (a dead file server), so it has a process of its
own (`hangtop.actions.execute.client` asks it), with the rights, the limits and the disk that the start will have.
"""

from __future__ import annotations

import errno
import os
import resource
import stat
import sys
from collections.abc import Iterator

import msgspec

from hangtop.actions.execute.runner import environ_of
from hangtop.actions.prove.startable import Finding, NotFoundError, SearchPlace, findings, found
from hangtop.common import text
from hangtop.common.clean_words import clean_words
from hangtop.common.raw_text import from_os, to_os
from hangtop.records.plan import Fit, FitAsk, Start
from hangtop.system.processes.limits import take_on
from hangtop.system.stores import launch_store

LEAST_BYTES, LITTLE_BYTES = 16 << 20, 1 << 30
"""With less free than the first a run ends at its first lines; with less than the second at its first checkpoint."""


def examined(ask: FitAsk) -> Fit:
    """The answer, clean to be shown. Takes on the limits of the start for this process, so call it once."""
    results = list(dict.fromkeys(_all(ask)))
    return Fit(
        problems=tuple(clean_words(from_os(line)) for kind, line in results if kind == "problem"),
        warnings=tuple(clean_words(from_os(line)) for kind, line in results if kind == "warning"),
    )


def _all(ask: FitAsk) -> Iterator[Finding]:
    start = ask.start
    if not start.argv:
        yield "problem", "an empty command starts nothing"
        return
    cwd = to_os(start.cwd)
    yield from _folder(cwd)
    yield from _removed(ask)
    yield from _log(to_os(start.log))
    yield from _records()
    for place in dict.fromkeys((os.path.dirname(to_os(start.log)), cwd)):
        yield from _room(place)
    try:
        environ = {to_os(name): to_os(value) for name, value in (environ_of(start) | start.set_env).items()}
    except (OSError, msgspec.DecodeError) as error:
        why = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
        yield "problem", f"its environment is lost: {why}"
        return
    if os.path.isdir(cwd):
        os.chdir(cwd)
        scene = SearchPlace(environ, cwd)
        argv = tuple(to_os(word) for word in start.argv)
        yield from findings(argv, scene)
        yield from _same_program(start, argv, scene)
    for line in take_on(start.conditions):
        yield "warning", line


def _folder(cwd: str) -> Iterator[Finding]:
    if not os.path.isdir(cwd):
        yield "problem", f"{cwd}: no such folder"
    elif not os.access(cwd, os.X_OK):
        yield "problem", f"{cwd}: this folder may not be entered"


def _removed(ask: FitAsk) -> Iterator[Finding]:
    """Paths that the start needs and the plan itself removes."""
    for path in ask.removed:
        for needed in (ask.start.cwd, ask.start.log, *ask.start.argv):
            if needed == path or needed.startswith(f"{path}/"):
                yield "problem", f"{to_os(needed)} lies in {to_os(path)}, which this plan removes"


def _log(log: str) -> Iterator[Finding]:
    """Whether its output can be appended. A missing file is not created."""
    folder = os.path.dirname(log) or "."
    if not os.path.lexists(log):
        if not os.path.isdir(folder):
            yield "problem", f"{folder}: no such folder, and the output goes there"
        elif not os.access(folder, os.W_OK | os.X_OK):
            yield "problem", f"{folder}: may not be written to, and the output goes there"
        return
    try:
        fd = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        pipe = error.errno == errno.ENXIO
        yield "problem", f"{log}: the output cannot be appended: {'it is a pipe' if pipe else (error.strerror or '').lower()}"
        return
    try:
        mode, size = os.fstat(fd).st_mode, os.fstat(fd).st_size
    finally:
        os.close(fd)
    if stat.S_ISFIFO(mode):
        yield "problem", f"{log} is a pipe: its reader ends with the run. Give a file that takes the output: --log FILE"
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if stat.S_ISREG(mode) and most != resource.RLIM_INFINITY and size >= most:
        yield "problem", f"{log} is as long as a file may be here (ulimit -f: {text.size(most)})"


def _room(folder: str) -> Iterator[Finding]:
    """Free space of the disk that this folder is on. Some file systems have no size (proc, some of the network)."""
    try:
        disk = os.statvfs(folder or ".")
    except OSError:  # reported by another check
        return
    free = disk.f_bavail * disk.f_frsize
    if not disk.f_blocks:
        return
    if free < LEAST_BYTES:
        yield "problem", f"{folder}: the disk is full ({text.size(free)} free)"
    elif disk.f_files and not disk.f_favail:
        yield "problem", f"{folder}: the disk takes no more files (no inode is free)"
    elif free < LITTLE_BYTES:
        yield "warning", f"{folder}: the disk has only {text.size(free)} free"


def _records() -> Iterator[Finding]:
    """Each start is recorded first: without its record nobody could start it again."""
    try:
        draft = launch_store.folder() / f"{os.urandom(8).hex()}.draft"
        draft.write_bytes(b"x")
        draft.unlink()
    except OSError as error:
        what = error.filename or "the records of starts"
        yield "problem", f"{what}: {(error.strerror or str(error)).lower()}: a start must be recorded"


def _same_program(start: Start, argv: tuple[str, ...], scene: SearchPlace) -> Iterator[Finding]:
    """Whether the first word still means the file that ran: a PATH may lead elsewhere by now."""
    if not start.program:
        return
    try:
        now = os.path.realpath(found(argv[0], scene))
        with open(now, "rb") as file:
            is_script = file.read(2) == b"#!"
    except (NotFoundError, OSError):  # reported already, or to be run and not to be read
        return
    if now != to_os(start.program) and not is_script:
        yield "warning", f"{argv[0]} is {now} now; the old process runs {to_os(start.program)}"


def main() -> None:
    ask = msgspec.json.decode(sys.stdin.buffer.read(), type=FitAsk)
    sys.stdout.buffer.write(msgspec.json.encode(examined(ask)) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
