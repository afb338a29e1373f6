"""Why a file cannot be read, as one line for a person: the path, the error, the command that mends it."""

from __future__ import annotations

import errno
import os
import shlex
from pathlib import Path

from msgspec import Struct

from hangtop.common.clean_text import encoding_of
from hangtop.records.log import FileStatus


class ReadError(Struct, frozen=True):
    """Why a file is not followed as it should be. `problem` is one line."""

    status: FileStatus
    problem: str


class NotALog(OSError):
    """The path is there but can never be a log: a device or a socket."""


def shown(path: str | os.PathLike[str]) -> str:
    """A path as it may be shown and sent: control codes and bytes that are no UTF-8 are replaced."""
    return "".join(char if char.isprintable() else "�" for char in os.fsencode(path).decode("utf-8", "replace"))


_MENDS: dict[int, tuple[FileStatus, str]] = {
    errno.ENOENT: ("waiting", "not there yet, waiting for it: ls -l {parent}"),
    errno.ENOTDIR: ("waiting", "a part of the path is no directory: ls -ld {parent}"),
    errno.EISDIR: ("directory", "is a directory: hangtop --log {path}/*.log"),
    errno.EMFILE: ("failed", "too many open files: ulimit -n 65536, then start hangtop again"),
    errno.ENFILE: ("failed", "the machine has too many open files: sudo sysctl fs.file-max"),
    errno.ESTALE: ("failed", "the file server forgot this file: ls -l {parent}"),
    errno.ENOTCONN: ("failed", "the mount has lost its server: findmnt -T {parent}"),
    errno.EHOSTDOWN: ("failed", "the file server does not answer: findmnt -T {parent}"),
    errno.ETIMEDOUT: ("failed", "the file server does not answer: findmnt -T {parent}"),
    errno.EIO: ("failed", "the disk or the file server failed: sudo dmesg | tail"),
    errno.ELOOP: ("failed", "its symbolic links lead in a circle: namei -l {path}"),
    errno.ENAMETOOLONG: ("failed", "the name is too long: give a shorter path with --log"),
}
"""errno → status of the file, and what to say. Other errors are told in the system's own words."""


def in_words(path: str, error: OSError) -> ReadError:
    """This error, for the path that was to be read."""
    if isinstance(error, NotALog):
        return ReadError("failed", f"{shown(path)}: {error}")
    if error.errno in (errno.EACCES, errno.EPERM):
        return ReadError("denied", f"{shown(path)}: permission denied: {_grant(path)}")
    quoted = {"path": shown(shlex.quote(path)), "parent": shown(shlex.quote(os.path.dirname(path) or "."))}
    status, words = _MENDS.get(error.errno or 0, ("failed", f"{error.strerror or error}: ls -l {{path}}"))
    return ReadError(status, f"{shown(path)}: {words.format(**quoted)}")


_PACKED: dict[bytes, tuple[str, str]] = {
    b"\x1f\x8b": ("gzip", "zcat"),
    b"\x28\xb5\x2f\xfd": ("zstd", "zstdcat"),
    b"\xfd7zXZ": ("xz", "xzcat"),
    b"BZh": ("bzip2", "bzcat"),
}
_TEXT_CONTROLS = b"\0\a\b\t\n\f\r\x1b"
MOST_CONTROLS = 0.03


def binary(path: str, head: bytes) -> str | None:
    """What to say of a file that begins with these bytes and is no text; `None` for text. NUL bytes alone are the hole that a
    truncation leaves in a log."""
    for magic, (kind, program) in _PACKED.items():
        if head.startswith(magic):
            mend = f"{program} {shown(shlex.quote(path))} > unpacked.log; hangtop --log unpacked.log"
            return f"{shown(path)}: is packed with {kind}: {mend}"
    odd = len(head) - len(head.translate(None, bytes(set(range(32)) - set(_TEXT_CONTROLS))))
    if encoding_of(head) == "utf-8" and odd > MOST_CONTROLS * len(head.strip(b"\0")):
        return f"{shown(path)}: looks like a binary file, not a log: file {shown(shlex.quote(path))}"
    return None


def _grant(path: str) -> str:
    """The command that permits reading: for the first directory on the path that cannot be entered, else for the file."""
    for parent in reversed(Path(os.path.abspath(path)).parents):
        if not os.access(parent, os.X_OK, effective_ids=os.access in os.supports_effective_ids):
            return f"sudo chmod a+x {shown(shlex.quote(str(parent)))}"
    return f"sudo chmod a+r {shown(shlex.quote(path))}"
