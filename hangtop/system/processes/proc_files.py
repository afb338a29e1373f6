"""Files of /proc and /sys (proc(5))."""

from __future__ import annotations

import os


def read_proc(path: str | os.PathLike[str]) -> bytes:
    """The whole file: unbuffered, since a buffered open costs twice the calls. Raises `OSError`."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = [os.read(fd, 65_536)]
        while parts[-1]:
            parts.append(os.read(fd, 65_536))
        return b"".join(parts)
    finally:
        os.close(fd)


def read_optional(path: str) -> bytes | None:
    """The same; `None` where the kernel does not have it or refuses it to us."""
    try:
        return read_proc(path)
    except (PermissionError, FileNotFoundError):
        return None


def read_text(path: str | os.PathLike[str]) -> str:
    """The same as text, without blanks at its ends; empty where it cannot be read, for whatever reason."""
    try:
        return read_proc(path).decode("utf-8", "replace").strip()
    except OSError:
        return ""


FIRST_PID_NAMESPACE = "pid:[4026531836]"
"""That of the machine itself (`PROC_PID_INIT_INO`, include/linux/proc_ns.h)."""


def namespace(pid: int | str, kind: str) -> str | None:
    """The namespace of this kind that it lives in, such as `net:[4026531840]` (namespaces(7)); `None` when it is gone, another
    user's, or there are none on this system."""
    try:
        return os.readlink(f"/proc/{pid}/ns/{kind}")
    except OSError:
        return None


def fields_of(text: bytes) -> dict[str, str]:
    """The lines `Name: value` of a file by name."""
    pairs = (line.partition(":") for line in text.decode("utf-8", "replace").splitlines())
    return {key: value.strip() for key, _, value in pairs}


def status_of(pid: int | str) -> dict[str, str]:
    """The lines of `/proc/PID/status`; none where the process is gone, or where there is no /proc."""
    return fields_of(read_text(f"/proc/{pid}/status").encode())
