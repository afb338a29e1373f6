"""What the machine's administrator set, as far as it can be told: quota, and a clock that is kept right."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator

from hangtop.doctor.check import Check, Subject, ok
from hangtop.text import size

ANSWER_S = 4.0
NEARLY_FULL = 0.95


def quota(subject: Subject) -> Iterator[Check]:
    """The person's quotas, where there is `quota` and any is set. statvfs knows nothing of them."""
    for place, used, soft in quotas(_answer("quota", "-w") or ""):
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


def clock(_: Subject) -> Iterator[Check]:
    """Whether something keeps the clock right. Nodes whose clocks differ break rendezvous, tokens and the order of logs."""
    answer = _answer("timedatectl", "show", "-p", "NTPSynchronized", "--value")
    if answer is None or answer.strip() not in ("yes", "no"):
        return
    if answer.strip() == "yes":
        yield ok("clock", "time", "kept by NTP")
    else:
        yield Check("clock", "time", "warn", "nothing keeps the clock right: nodes may differ", "sudo timedatectl set-ntp true")


def _answer(*command: str) -> str | None:
    """What the program says; `None` where there is none, or no answer: then nothing can be told."""
    if shutil.which(command[0]) is None:
        return None
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=ANSWER_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout
