"""Stdin as a log (`--log -`). A drain reads the pipe from the first moment on, so that the run lives whatever becomes of hangtop.

`keep` is called before the options are parsed, because a wrong option must not end the run that writes into the pipe. It does
something only if an argument is `-`; otherwise stdin is not ours.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hangtop.records.watch_spec import KeptPipe

if TYPE_CHECKING:
    from hangtop.probe.log.start_drain import Drain, DrainBoard

STDIN = "-"
OF_ITS_OWN = frozenset(("explain",))
"""Commands that read stdin to its end themselves."""
CLOSED_WITHIN_S = 0.02
"""The end of a writer is known by then."""
TOLD_WITHIN_S = 2.0
"""A drain says that it is ready a moment before its reader has a pid."""

_drain: Drain | None = None
_pipe = ""
_is_stranded = False
"""Whether a process writes into the pipe, and no drain could be started."""


class StdinError(Exception):
    """There is no stdin to read. The message is one line."""


def keep(words: Sequence[str]) -> None:
    """Give stdin to a drain, if these arguments name it as a log and it is a pipe or socket."""
    words = words[: words.index("--")] if "--" in words else words
    named = STDIN in words or f"--log={STDIN}" in words
    if named and not OF_ITS_OWN.intersection(words[:1]) and _is_stream():
        _keep()


def as_log() -> tuple[str, KeptPipe | None]:
    """What `--log -` means: `-` and the memory of its drain, or the path of the file that stdin is.

    Raises `StdinError`. Afterwards stdin is empty: only the drain has the pipe.
    """
    global _is_stranded
    try:
        if stat.S_ISREG(os.fstat(0).st_mode) and (path := _path()) is not None:
            return path, None
        if os.isatty(0):
            raise StdinError("--log - reads stdin, which is the terminal here: … | hangtop --log -")
        drain = _keep()
    except OSError as error:
        raise StdinError("--log - reads stdin, but stdin is closed: … | hangtop --log -") from error
    if not drain.reads():
        _is_stranded = True
        raise StdinError("--log -: the process that is to read the pipe does not start; HANGTOP_DEBUG=FILE tells more")
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    if drain.problem is not None:
        raise StdinError(f"--log -: nothing of the pipe can be kept: {drain.problem}: ulimit -f, ulimit -v; is there memory?")
    return STDIN, KeptPipe(drain.memory, _pipe)


def take_keys() -> bool:
    """Make stdin the terminal, if it is not, and there is one. True when keys can be read."""
    if _drain is None and os.isatty(0):
        return True
    try:
        keys = os.open("/dev/tty", os.O_RDONLY)
    except OSError:
        return False
    if keys != 0:
        os.dup2(keys, 0)
        os.close(keys)
    if sys.__stdin__ is None:  # it was closed; the screen asks for it by this name
        sys.stdin = sys.__stdin__ = os.fdopen(0)  # type: ignore[misc]
    return True


def farewell() -> str | None:
    """What to say at the end of hangtop: which process reads the pipe from now on. `None` once its writer has ended."""
    if _drain is None or not _drain.reads():
        return None
    board = _settled_board(_drain.memory)
    if board is not None and board.closed:
        return None
    reader = f"pid {board.reader}" if board is not None and board.reader else "a process of hangtop"
    said = f"hangtop: {reader} keeps reading the pipe, so that your run lives; it ends with the run."
    if os.isatty(2):
        said += " The prompt: Ctrl-Z, then bg (Ctrl-C would reach the run)."
    return said


def _settled_board(memory: int) -> DrainBoard | None:
    """The board of the drain, once it has had the time to tell that the writer has ended, and which process reads."""
    from hangtop.probe.log.start_drain import read_board

    closed_by, told_by = time.monotonic() + CLOSED_WITHIN_S, time.monotonic() + TOLD_WITHIN_S
    while (board := read_board(memory)) is not None and not board.closed:
        if time.monotonic() > (closed_by if board.reader else told_by):
            break
        time.sleep(0.002)
    return board


def farewell_to(drains: Mapping[str, int]) -> str:
    """The same for named pipes, by path, a line each."""
    from hangtop.common.text import printable

    said = "keeps reading {} for as long as anybody writes into it, so that no writer waits or ends"
    return "".join(f"hangtop: pid {pid} {said.format(printable(path))}\n" for path, pid in drains.items())


def read_on() -> None:
    """If no drain reads the pipe, read it to the end of the writer: our end would end the run."""
    if _is_stranded:
        from hangtop.probe.log.drain import discard

        discard()


def _is_stream() -> bool:
    """Whether stdin is a pipe or socket: with a file no writer waits."""
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _keep() -> Drain:
    """Raises `OSError` where there is no stdin, `StdinError` where no drain can be started for it."""
    global _drain, _pipe, _is_stranded
    from hangtop.probe.log.start_drain import Drain

    if _drain is None:
        try:
            _pipe = os.readlink("/proc/self/fd/0")
        except OSError:  # no Linux: then its writer cannot be found
            _pipe = ""
        os.fstat(0)
        try:
            _drain = Drain(0)
        except OSError as error:
            _is_stranded = True
            why = error.strerror or error
            raise StdinError(
                f"--log -: no process can be started that reads the pipe: {why}: ulimit -u, ulimit -n. This one reads on, "
                "shows nothing, and ends with your run"
            ) from error
    return _drain


def _path() -> str | None:
    """The path of the file that stdin is; `None` when it has none any more."""
    try:
        path = os.readlink("/proc/self/fd/0")
        return path if os.path.samestat(os.stat(path), os.fstat(0)) else None
    except OSError:
        return None
