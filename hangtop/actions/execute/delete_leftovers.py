"""Delete the leftovers of a plan: each is judged again, moved aside, judged once more, and only then deleted.

It is moved within its folder, so within its file system, by open folders and names, so that no link is ever followed. If we are
killed at any moment, a leftover is in its place, or aside as the action log says, or gone; never deleted in part.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass

from hangtop.actions.execute.steps import CancelFlag, step
from hangtop.common import clock, text
from hangtop.probe.leftovers.leftover_judge import LeftoverJudge
from hangtop.probe.leftovers.leftover_places import TRASH, Candidate
from hangtop.probe.leftovers.open_handles import Holds, open_handles
from hangtop.records.plan import LeftAlone, Plan, Removal, Step
from hangtop.system.guard import Guard
from hangtop.system.processes.table import ProcessTable

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


@dataclass
class MovedAside:
    """A leftover that was moved from `removal.path` to `name` in the open folder `trash`."""

    removal: Removal
    parent: int
    trash: int
    name: str
    path: str


class Trash:
    """One folder in each parent folder of a leftover, which takes what is deleted; removed at the end."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[int, int, str]] = {}

    def beside(self, path: str) -> tuple[int, int, str]:
        """(open parent folder, open trash folder, path of the trash); neither is a link. Raises `OSError`."""
        folder = os.path.dirname(path)
        if folder not in self._open:
            parent = os.open(folder, FOLDER_FLAGS)
            name = f"{TRASH}{os.getpid()}-{os.urandom(4).hex()}"
            os.mkdir(name, 0o700, dir_fd=parent)
            self._open[folder] = (parent, os.open(name, FOLDER_FLAGS, dir_fd=parent), os.path.join(folder, name))
        return self._open[folder]

    def close(self) -> None:
        """Remove the trash folders; one that is not empty stays, because what it holds could not be deleted."""
        for parent, trash, path in self._open.values():
            os.close(trash)
            with contextlib.suppress(OSError):
                os.rmdir(os.path.basename(path), dir_fd=parent)
            os.close(parent)


def remove(plan: Plan, table: ProcessTable, halt: CancelFlag) -> Iterator[Step]:
    """Remove what the plan names, nothing else. If broken off, it puts back what was moved."""
    folders = sorted({os.path.dirname(removal.path) for removal in plan.removals})
    guard = Guard[int, Holds]()
    trash = Trash()
    freed = gone = 0
    try:
        judge = LeftoverJudge(open_handles(table, folders, guard), clock.now(), plan.older_s)
        moved = yield from _move_all(plan.removals, judge, trash, halt)
        judge = LeftoverJudge(open_handles(table, folders, guard), clock.now(), plan.older_s)
        for aside in moved:
            if (why := _used(aside, judge)) is not None:
                yield from _put_back(aside, why)
            elif halt():
                yield from _put_back(aside, "it was not deleted")
            elif (yield from _delete(aside)):
                freed, gone = freed + aside.removal.allocated_bytes, gone + 1
    finally:
        trash.close()
    if gone:
        yield step("proof", f"{gone} of {text.some(len(plan.removals), 'path')} removed, {text.size(freed)} had back")


def _move_all(
    removals: Iterable[Removal], judge: LeftoverJudge, trash: Trash, halt: CancelFlag
) -> Generator[Step, None, list[MovedAside]]:
    moved = []
    for removal in removals:
        if halt():
            yield step("skipped", f"{removal.path} stays where it is")
            continue
        if (why := _changed(removal, judge.judge(Candidate(removal.path, removal.kind)))) is not None:
            yield step("skipped", f"{removal.path}: {why}")
            continue
        try:
            parent, place, path = trash.beside(removal.path)
            name = os.path.basename(removal.path)
            yield step("doing", f"{removal.path} is moved to {path}, and then deleted")
            os.rename(name, name, src_dir_fd=parent, dst_dir_fd=place)
            moved.append(MovedAside(removal, parent, place, name, os.path.join(path, name)))
        except OSError as error:
            yield step("skipped", f"{removal.path}: {error.strerror}")
    return moved


def _changed(removal: Removal, judged: Removal | LeftAlone | None) -> str | None:
    """Why it is no longer what the plan showed; `None` when it is."""
    if judged is None:
        return "it is gone, or belongs to another user now"
    if isinstance(judged, LeftAlone):
        return judged.why
    changed_at = removal.modified_ns if removal.changing else judged.modified_ns
    same = (judged.device, judged.inode, judged.uid, changed_at, judged.folder)
    shown = (removal.device, removal.inode, removal.uid, removal.modified_ns, removal.folder)
    return None if same == shown else "it is another one than was shown"


def _used(aside: MovedAside, judge: LeftoverJudge) -> str | None:
    """Why it must not be deleted: in use since, or exchanged before it was moved; `None` when it may."""
    found = os.stat(aside.name, dir_fd=aside.trash, follow_symlinks=False)
    if (found.st_dev, found.st_ino, found.st_uid) != (aside.removal.device, aside.removal.inode, aside.removal.uid):
        return "it was exchanged for another one"
    try:
        return judge.taken(aside.path, aside.removal.path, aside.removal.kind)
    except OSError as error:
        return error.strerror or "it cannot be looked at"


def _put_back(aside: MovedAside, why: str) -> Iterator[Step]:
    """Move it back, but never over something new of the same name."""
    try:
        if aside.removal.folder:
            os.mkdir(aside.name, 0o700, dir_fd=aside.parent)
            os.rename(aside.name, aside.name, src_dir_fd=aside.trash, dst_dir_fd=aside.parent)
        else:
            os.link(aside.name, aside.name, src_dir_fd=aside.trash, dst_dir_fd=aside.parent, follow_symlinks=False)
            os.unlink(aside.name, dir_fd=aside.trash)
        yield step("survived", f"{aside.removal.path}: {why}; it was put back")
    except OSError as error:
        yield step("survived", f"{aside.removal.path}: {why}; it is at {aside.path}, for its place is taken ({error.strerror})")


def _delete(aside: MovedAside) -> Generator[Step, None, bool]:
    try:
        if aside.removal.folder:
            shutil.rmtree(aside.name, dir_fd=aside.trash)
        else:
            os.unlink(aside.name, dir_fd=aside.trash)
    except OSError as error:
        yield step("survived", f"{aside.removal.path}: {error.strerror}; what is left of it is at {aside.path}")
        return False
    yield step("done", f"{aside.removal.path} is gone, {text.size(aside.removal.allocated_bytes)}")
    return True
