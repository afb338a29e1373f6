"""What the administrator of the machine set: disk quota, and clock synchronisation."""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator

from hangtop.common.text import size
from hangtop.doctor.check import Check, Subject, ok, unknown, warn
from hangtop.system.files.network_filesystems import file_system_of

ANSWER_S = 4.0
NEARLY_FULL = 0.95
TIME_ERROR = 5
SERVER_TIMED = ("NFS", "SMB")
"""File systems whose server gives a new file its time; with others the client does."""
SKEW_S, WRONG_S = 2.0, 60.0
"""Network file systems cache times for a second or so; tokens and TLS allow for about a minute."""


def quota(subject: Subject) -> Iterator[Check]:
    """The user's quotas, if the program `quota` is there and reports any. statvfs does not know them."""
    try:
        answer = subprocess.run(("quota", "-w"), capture_output=True, text=True, timeout=ANSWER_S, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):  # most machines have no such program
        return
    for place, used, soft in quotas(answer):
        detail = f"{size(used)} of {size(soft)} used on {place}"
        if used >= soft * NEARLY_FULL:
            mend = f"du -xh -d1 {subject.cwd} | sort -h | tail"
            yield Check("disk", "quota", "fail" if used >= soft else "warn", detail, mend)
        else:
            yield ok("disk", "quota", detail)


def quotas(answer: str) -> Iterator[tuple[str, int, int]]:
    """(file system, bytes used, bytes allowed) of each line of `quota -w`; blocks are KiB, `*` marks those over. 0: no limit."""
    for line in answer.splitlines():
        words = line.split()
        if len(words) < 4 or (not words[0].startswith("/") and ":" not in words[0]):
            continue
        numbers = [word.rstrip("*") for word in words[1:4]]
        if all(number.isdigit() for number in numbers):
            used, soft, hard = map(int, numbers)
            if allowed := soft or hard:
                yield words[0], used * 1024, allowed * 1024


def clock(subject: Subject) -> Iterator[Check]:
    """Whether the clock is synchronised, and how far it is from that of the file server, which all nodes share. Different clocks
    break rendezvous, tokens and the order of logs."""
    synchronised = is_synchronised()
    if synchronised is True:
        yield ok("clock", "time", "synchronised (NTP, PTP)")
    elif synchronised is False:
        yield warn("clock", "time", "not synchronised: nodes may differ", "sudo timedatectl set-ntp true")
    else:
        yield unknown("clock", "time", "the kernel does not tell whether its clock is synchronised", "chronyc tracking")
    if file_system_of(subject.cwd).network in SERVER_TIMED:
        yield _against_server(subject.cwd)


def is_synchronised() -> bool | None:
    """Whether the kernel says that its clock is synchronised, in containers too; `None` if it does not say (adjtimex(2))."""
    try:
        state = ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(512))
    except (OSError, AttributeError):
        return None
    return None if state < 0 else state != TIME_ERROR


def _against_server(place: str) -> Check:
    """Compare with the time that the server gives to a temporary file."""
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            before = time.time()
            file.write(b"hangtop")
            file.flush()
            os.fsync(file.fileno())
            return skew(os.fstat(file.fileno()).st_mtime, before, time.time())
    except OSError as error:
        return unknown("clock", "file server", f"{place}: {error.strerror or error}", f"ls -ld {place}")


def skew(server: float, before: float, after: float) -> Check:
    """How far this clock is from that of a server which was read between two readings of ours. Unix seconds. Pure."""
    away_s = max(before - server, server - after, 0.0)
    if away_s <= SKEW_S:
        return ok("clock", "file server", f"within {SKEW_S:.0f} s of this machine's clock")
    word = "behind" if server > after else "ahead of"
    detail = f"this clock is {away_s:.0f} s {word} the file server's: logs, tokens and rendezvous of several nodes go wrong"
    return Check("clock", "file server", "warn" if away_s < WRONG_S else "fail", detail, "sudo chronyc makestep")
