"""The book of a guard on disk: one file for each watched run, each of whose logs is held by one guard at a time.

A disk that is full loses the memory, not the guard: it goes on with what it knows, and says so.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from pathlib import Path

import msgspec

from hangtop.actions.execute import lock
from hangtop.guard.episodes import Book, opened_again
from hangtop.records.watch_spec import WatchSpec
from hangtop.system.own_folders import state_folder
from hangtop.system.stores.launch_store import write_whole

NAME_BYTES = 8


class HeldError(Exception):
    """Another guard watches this run: two would act twice."""


class BookFile:
    """Opens the file of this run, and holds it. Raises `HeldError`, `OSError`.

    `dry_run`: a book of its own, for what would have been done was not. `book`: what is known now. `problem`: why the file does
    not hold that.
    """

    def __init__(self, spec: WatchSpec, folder: Path | None = None, *, dry_run: bool = False) -> None:
        place = folder or state_folder() / "guard"
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        watched = [*map(os.path.realpath, spec.logs), *map(str, spec.pids)]
        suffix = ".dry" if dry_run else ""
        self.path = place / f"{_name_of(chr(10).join(watched))}{suffix}.json"
        self._locks: list[int] = []
        for each in dict.fromkeys(watched):
            self._hold(place / f"{_name_of(each)}{suffix}.lock")
        self.problem = ""
        self.book = self._read()

    def _hold(self, place: Path) -> None:
        self._locks.append(lock.opened(place))
        try:
            fcntl.flock(self._locks[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.close()
            raise HeldError("another hangtop guard watches this run: two would act twice") from error

    def _read(self) -> Book:
        """What the guard before knew; a file that cannot be read is an empty one, and `problem` says so."""
        try:
            return opened_again(msgspec.json.decode(self.path.read_bytes(), type=Book))
        except FileNotFoundError:
            return Book()
        except (OSError, msgspec.DecodeError) as error:
            self.problem = f"{self.path} cannot be read, so nothing is known of earlier deeds: {error}"
            return Book()

    def keep(self, book: Book) -> bool:
        """This is known from now on. Whether it is on disk; else `problem` says why not."""
        if book == self.book and not self.problem:
            return True
        self.book = book
        try:
            write_whole(self.path, msgspec.json.encode(book))
        except OSError as error:
            self.problem = f"{self.path} cannot be written: {error.strerror or error}"
            return False
        self.problem = ""
        return True

    def close(self) -> None:
        for held in self._locks:
            os.close(held)
        self._locks.clear()


def _name_of(watched: str) -> str:
    return hashlib.sha256(watched.encode("utf-8", "surrogateescape")).hexdigest()[: 2 * NAME_BYTES]
