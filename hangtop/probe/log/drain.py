"""Keeps a pipe open and empty for as long as a process writes into it, whatever becomes of hangtop.

A writer waits while its pipe is full, and dies of SIGPIPE when no reader is left. No fault of hangtop may do that to a training
run, so this separate program reads the pipe. It is started by path and uses the standard library alone. It never waits: the last
`KEPT_BYTES` lie in memory that the probe reads too, and no disk is touched. Without memory, or with a probe that lags, the oldest
bytes are lost and counted.

There are two processes, so that the end of either does not matter: the reader, and its guard, which wakes a reader that was
stopped and replaces one that was killed. A reader whose guard was killed becomes a guard itself and starts a new reader. When
hangtop is gone (its end of `lifeline` is closed), the memory is freed and the bytes are thrown away until the writer ends.

Limit: `kill -9` of both at the same moment closes the pipe, and the writer gets SIGPIPE as from any reader that ends.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import select
import signal
import struct
import sys
import time
from contextlib import suppress
from typing import NoReturn

CHUNK_BYTES = 1 << 20
KEPT_BYTES = 64 << 20
PIPE_BYTES = 1 << 20
"""Room for what comes while the machine lets others run: with a quarter of it a fast writer took up to 1.6 times as long."""
BOARD_BYTES = mmap.PAGESIZE
BOARD = struct.Struct("=5Q")
END, UNKEPT, CLOSED, ARRIVED_US, READER = range(5)
"""The numbers on the board, which stands before the kept bytes: bytes kept so far, bytes lost for want of memory, whether the
writer closed the pipe, when the last byte came (unix time in µs), the reader's pid."""
READY = b"\n"
NAMED = "named"
AGAIN_S = 0.1
"""How often a named pipe without a writer is tried again."""
CLAIMS, CLAIM_S = 500, 0.002
IGNORED = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGPIPE", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGUSR1", "SIGUSR2", "SIGALRM")

PIPE = 0


class SharedRing:
    """Memory shared with the probe: the board, then a ring of the last bytes."""

    def __init__(self, fd: int) -> None:
        """Raises `OSError` or `ValueError` where there is no memory, or it was given back."""
        self._fd = fd
        self._map = mmap.mmap(fd, BOARD_BYTES + KEPT_BYTES)
        whole = memoryview(self._map)
        self.board = whole[: BOARD.size].cast("Q")
        self._ring = whole[BOARD_BYTES:]

    def take(self) -> int:
        """Read up to a chunk of the pipe straight into the ring. Returns the number of bytes, 0 at the end. Raises `OSError`."""
        at = self.board[END] % KEPT_BYTES
        room = [self._ring[at : at + CHUNK_BYTES]]
        if (short := CHUNK_BYTES - len(room[0])) > 0:
            room.append(self._ring[:short])
        count = os.readv(PIPE, room)
        if count:
            self.board[ARRIVED_US] = int(time.time() * 1e6)
            self.board[END] += count
        return count

    def not_kept(self, count: int) -> None:
        self.board[ARRIVED_US] = int(time.time() * 1e6)
        self.board[UNKEPT] += count

    @property
    def is_given_back(self) -> bool:
        return os.fstat(self._fd).st_size == 0

    def give_back(self) -> None:
        """Free the memory at once, even if the probe still has it open."""
        with suppress(OSError):  # a file in a folder that is gone: it ends with us
            os.ftruncate(self._fd, 0)
        os.close(self._fd)


class PipeReader:
    """Reads until the writer closes the pipe. `lifeline` closes when hangtop ends, `_bond` when the guard ends.

    `named`: a named pipe, which may get another writer and another hangtop as its reader.
    """

    def __init__(self, kept: SharedRing | None, lifeline: int, *, named: bool) -> None:
        self._kept = kept
        self._lifeline = lifeline
        self._named = named
        self._left_alone = False
        self._spare = bytearray(CHUNK_BYTES)
        self._bond: int | None = None
        self._events = select.poll()
        self._events.register(PIPE, select.POLLIN)
        self._events.register(lifeline, 0)

    def run(self) -> NoReturn:
        self._fork()
        while True:
            for fd, _ in self._events.poll():
                if fd == self._bond:
                    self._events.unregister(fd)
                    os.close(fd)
                    self._fork()
                elif fd == self._lifeline:
                    self._let_go()
                elif self._is_anothers() or not self._read():
                    self._at_end()

    def _fork(self) -> None:
        """The caller becomes the guard. Only readers return: the first one, and each that replaces it."""
        while True:
            ours, theirs = os.pipe()
            try:
                reader = os.fork()
            except OSError:  # no more processes for this user: then without a guard
                os.close(theirs)
                os.close(ours)
                self._bond = None
                return
            if reader == 0:
                os.close(theirs)
                self._begin(ours)
                return
            os.close(ours)
            status = _awaited(reader)
            os.close(theirs)
            if os.WIFEXITED(status):
                if os.WEXITSTATUS(status) == 0:
                    os._exit(0)
                self._kept = None  # the shared memory is the likely cause: the next reader does without
                time.sleep(AGAIN_S)

    def _begin(self, bond: int) -> None:
        self._bond = bond
        self._events.register(bond, 0)
        if self._kept is not None and self._kept.is_given_back:
            self._kept = None
        if self._kept is not None:
            self._kept.board[READER] = os.getpid()

    def _read(self) -> int:
        """The number of bytes read; 0 at the end."""
        try:
            if self._kept is None:
                return os.readv(PIPE, [self._spare])
            try:
                return self._kept.take()
            except OSError as error:
                if error.errno not in (errno.EFAULT, errno.ENOMEM):
                    raise
                count = os.readv(PIPE, [self._spare])  # no memory for it
                self._kept.not_kept(count)
                return count
        except BlockingIOError:  # the pipe was made non-blocking, and another reader was faster
            return 1
        except OSError:  # a terminal that hung up, a connection that broke: nothing more will come
            return 0

    def _let_go(self) -> None:
        """hangtop is gone: free the memory."""
        self._events.unregister(self._lifeline)
        if self._kept is not None:
            self._kept.give_back()
            self._kept = None
        if self._named:
            self._named, self._left_alone = False, True
            fcntl.flock(PIPE, fcntl.LOCK_UN)
            if not self._read():  # where there never was a writer, no end is told
                os._exit(0)

    def _is_anothers(self) -> bool:
        """Whether another hangtop has come to read this named pipe, after ours ended."""
        if not self._left_alone:
            return False
        if ours := _claim():
            fcntl.flock(PIPE, fcntl.LOCK_UN)
        return not ours

    def _at_end(self) -> None:
        if self._named:
            time.sleep(AGAIN_S)
            return
        if self._kept is not None:
            self._kept.board[CLOSED] = 1
        os._exit(0)


def _awaited(reader: int) -> int:
    """The reader's exit status. A stopped reader is continued: it is our child, so its pid cannot have been reused."""
    while True:
        _, status = os.waitpid(reader, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            return status
        os.kill(reader, signal.SIGCONT)


def _claim() -> bool:
    """Lock the named pipe, which is for one hangtop alone; true when we have it."""
    try:
        fcntl.flock(PIPE, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _claim_soon() -> None:
    """Lock it within a second: the drain of a hangtop that ended gives way. Otherwise both read, and share what comes."""
    for _ in range(CLAIMS):
        if _claim():
            return
        time.sleep(CLAIM_S)


def _silence_outputs() -> None:
    """Close what we inherited: a reader of hangtop's output must not wait for our end."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)


def _stay() -> None:
    """Ignore all signals that can be ignored, and keep no folder in use."""
    for name in IGNORED:
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    os.chdir("/")


def discard() -> None:
    """Read the pipe to the end of its writer and keep nothing: hangtop itself does this when no drain can be started."""
    _stay()
    while True:
        select.select([PIPE], [], [])
        try:
            if not os.read(PIPE, CHUNK_BYTES):
                return
        except BlockingIOError:  # the pipe was made non-blocking, and another reader was faster
            continue
        except OSError:  # a connection that broke: nothing more will come
            return


def main(lifeline: int, memory: int, *flags: str) -> NoReturn:
    _stay()
    with suppress(OSError):  # no pipe, or this user's limit is reached: its size stays
        fcntl.fcntl(PIPE, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    kept = None
    with suppress(OSError, ValueError):  # without memory the pipe is read all the same
        kept = SharedRing(memory)
    named = NAMED in flags
    if named:
        _claim_soon()
    with suppress(OSError):  # hangtop has ended meanwhile
        os.write(1, READY)
    _silence_outputs()
    PipeReader(kept, lifeline, named=named).run()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
