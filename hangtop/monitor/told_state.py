"""What a running hangtop or guard says of its run now, in a small file for `hangtop status`.

The file stands in a folder of memory that the system keeps for each user (`XDG_RUNTIME_DIR`), else in /tmp: a home folder may be
on the file system that hangs, and the screen must not wait for it. It is written anew when what is said changes, and every
`BEAT_S` else; one that is older than `FRESH_S` is no longer true, for its writer is gone or stands.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from hangtop.records.verdict import Confidence, Kind, Quiet, Verdict, VerdictWord

if TYPE_CHECKING:  # who only reads what was told does without the judge
    from hangtop.diagnosis.snapshot import Snapshot

BEAT_S, FRESH_S = 5.0, 15.0
CHANGES_S = 1.0
"""Steps that come faster are told this often."""


class ToldState(Struct, frozen=True, omit_defaults=True):
    """`at`: unix time of the look. `logs`: with their folders. `title`: names the run. `silence_s`: at that look."""

    at: float
    logs: tuple[str, ...]
    title: str
    word: VerdictWord
    headline: str
    kind: Kind | None = None
    confidence: Confidence = "likely"
    quiet: Quiet = ""
    silence_s: float | None = None
    step: int | None = None
    total: int | None = None

    @property
    def verdict(self) -> Verdict:
        """As much of the verdict as a label needs."""
        return Verdict(self.word, self.headline, "", self.kind, self.confidence, quiet=self.quiet)

    def silent_s(self, now: float) -> float | None:
        return None if self.silence_s is None else max(0.0, self.silence_s + now - self.at)


class StatesTold(Struct, frozen=True):
    """The answer of `hangtop status --json`."""

    schema: int = 1
    runs: tuple[ToldState, ...] = ()


def told_state(case: Snapshot, verdict: Verdict) -> ToldState:
    """What is said of this look."""
    paths = tuple(os.path.abspath(log) for log in case.spec.logs)
    progress = case.log.progress
    return ToldState(
        at=case.now,
        logs=paths,
        title=os.path.basename(paths[0]) if paths else f"pid {next(iter(case.spec.pids), '?')}",
        word=verdict.word,
        headline=verdict.headline,
        kind=verdict.kind,
        confidence=verdict.confidence,
        quiet=verdict.quiet,
        silence_s=verdict.silence_s,
        step=progress.step,
        total=progress.total,
    )


def folder() -> Path:
    """Of this user alone."""
    return Path(os.environ.get("XDG_RUNTIME_DIR") or "/tmp") / f"hangtop-{os.getuid()}" / "told"


class StateTeller:
    """Tells each look to the file of this process. A folder that cannot be written is given up at once: `hangtop status` then
    looks for itself."""

    def __init__(self, place: Path | None = None) -> None:
        self._place = (place or folder()) / f"{os.getpid()}.json"
        self._told: ToldState | None = None
        self.problem: str | None = None

    def look(self, case: Snapshot, verdict: Verdict) -> None:
        """As `Looker`."""
        if self.problem is not None:
            return
        new, old = told_state(case, verdict), self._told
        age_s = BEAT_S if old is None else new.at - old.at
        changed = old is None or msgspec.structs.replace(old, at=new.at, silence_s=new.silence_s) != new
        moved = old is not None and (new.silence_s or 0.0) < (old.silence_s or 0.0)
        if old is not None and new.word == old.word and (age_s < CHANGES_S or not (changed or moved or age_s >= BEAT_S)):
            return
        self._told = new
        try:
            self._write(msgspec.json.encode(new))
        except OSError as error:
            self.problem = f"{self._place}: {error.strerror}"

    def _write(self, text: bytes) -> None:
        parent = self._place.parent
        for each in (parent.parent, parent):
            with suppress(FileExistsError):
                os.mkdir(each, 0o700)
            if os.lstat(each).st_uid != os.getuid() or os.path.islink(each):
                raise PermissionError(13, "belongs to another user")
        new = self._place.with_suffix(".new")
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, text)
        finally:
            os.close(fd)
        os.replace(new, self._place)

    def close(self) -> None:
        """Nothing is said of the run any more."""
        with suppress(OSError):  # another user's, or never written
            self._place.unlink()


def told_states(now: float, place: Path | None = None) -> Iterator[ToldState]:
    """What is said now, by whoever watches. What is old is left out; a file that is being removed too."""
    with suppress(OSError):  # no folder: nobody watches
        for path in sorted((place or folder()).glob("*.json")):
            with suppress(OSError, msgspec.DecodeError):  # going, or of a later version
                told = msgspec.json.decode(path.read_bytes(), type=ToldState)
                if path.stat().st_uid == os.getuid() and now - told.at + CHANGES_S >= 0 and now - told.at <= FRESH_S:
                    yield told
