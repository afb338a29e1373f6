"""Removes leftovers of this node that a plan names: each is judged again, moved aside within its folder, judged once more, and
only then deleted. If the line ends meanwhile, each is in its place, or aside under the name that was told, or gone."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from hangtop.probe.nodes.node_side.leftovers import Judge

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
SAME = ("device", "inode", "uid", "modified_ns")
Told = list[list[str]]
"""[kind of a step, path, what became of it]."""


def remove(rules: dict[str, Any], older_s: float, removals: list[dict[str, Any]], trash: str) -> dict[str, Any]:
    """`trash`: name of the folder into which they are moved. The answer: each path with what became of it."""
    told: Told = []
    moved: list[tuple[dict[str, Any], int, int]] = []
    folders: dict[str, tuple[int, int]] = {}
    judge = Judge(rules, older_s)
    try:
        for each in removals:
            why = changed(each, judge.judge(each["path"], each["kind"]))
            if why is None:
                try:
                    parent, aside = place(os.path.dirname(each["path"]), trash, folders)
                    name = os.path.basename(each["path"])
                    os.rename(name, name, src_dir_fd=parent, dst_dir_fd=aside)
                    moved.append((each, parent, aside))
                    continue
                except OSError as error:
                    why = error.strerror or str(error)
            told.append(["skipped", each["path"], why])
        judge = Judge(rules, 0.0)
        for each, parent, aside in moved:
            told.append(deleted(each, parent, aside, trash, judge))
    finally:
        for folder, (parent, aside) in folders.items():
            os.close(aside)
            with suppress(OSError):  # what could not be deleted keeps it
                os.rmdir(os.path.join(folder, trash))
            os.close(parent)
    return {"told": told}


def place(folder: str, trash: str, folders: dict[str, tuple[int, int]]) -> tuple[int, int]:
    """The open folder and the open one in it into which things are moved; neither is a link. Raises `OSError`."""
    if folder not in folders:
        parent = os.open(folder, FOLDER)
        try:
            os.mkdir(trash, 0o700, dir_fd=parent)
            folders[folder] = parent, os.open(trash, FOLDER, dir_fd=parent)
        except OSError:
            os.close(parent)
            raise
    return folders[folder]


def changed(shown: dict[str, Any], judged: dict[str, Any] | None) -> str | None:
    """Why it is no longer what the plan showed."""
    if judged is None:
        return "it is gone, or belongs to another user now"
    if "why" in judged:
        return str(judged["why"]) or "it was used meanwhile"
    return None if all(judged[name] == shown[name] for name in SAME) else "it is another one than was shown"


def deleted(each: dict[str, Any], parent: int, aside: int, trash: str, judge: Judge) -> list[str]:
    """Deletes what was moved, or puts it back where it is in use by now; never over something new of the same name."""
    name, path = os.path.basename(each["path"]), each["path"]
    there = os.path.join(os.path.dirname(path), trash, name)
    try:
        about = os.stat(name, dir_fd=aside, follow_symlinks=False)
        if (about.st_dev, about.st_ino) != (each["device"], each["inode"]):
            why: str | None = "it was exchanged for another one"
        else:
            why = judge.why_used(there, about)
        if why is None:
            os.unlink(name, dir_fd=aside)
            return ["done", path, ""]
        os.link(name, name, src_dir_fd=aside, dst_dir_fd=parent, follow_symlinks=False)
        os.unlink(name, dir_fd=aside)
        return ["survived", path, why + "; it was put back"]
    except OSError as error:
        return ["survived", path, f"{error.strerror}; it is at {there}"]
