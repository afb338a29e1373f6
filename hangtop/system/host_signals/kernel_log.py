"""The kernel's own log, read without a program and without waiting (Documentation/ABI/testing/dev-kmsg)."""

from __future__ import annotations

import errno
import os
import re
from functools import cache
from pathlib import Path

from msgspec import Struct

from hangtop.common.clean_words import clean_words
from hangtop.common.decode_toml import decode_toml
from hangtop.records.host_signals import KernelEvent
from hangtop.system.processes.linux import boot_at

DEVICE = "/dev/kmsg"
MOST_EVENTS = 64
MOST_RECORDS = 100_000
RECORD_BYTES = 8_192
REFUSED = "the kernel's log may not be read: sudo sysctl kernel.dmesg_restrict=0, or run hangtop with sudo"
NOT_HERE = "the kernel's log is not to be seen in this container"


class _Message(Struct, frozen=True, forbid_unknown_fields=True):
    kind: str
    contains: str
    regex: str
    example: str


class _Messages(Struct, frozen=True, forbid_unknown_fields=True):
    message: tuple[_Message, ...]


class KernelLog:
    """Remembers where it stands. `unread`: why it cannot be read."""

    def __init__(self, device: str = DEVICE) -> None:
        self.unread: str | None = None
        self._boot_at = boot_at()
        self._fd: int | None = None
        self._events: list[KernelEvent] = []
        try:
            self._fd = os.open(device, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            self.unread = NOT_HERE if error.errno == errno.ENOENT else REFUSED

    def read(self) -> tuple[KernelEvent, ...]:
        """The newest events of known kinds, oldest first."""
        for _ in range(MOST_RECORDS if self._fd is not None else 0):
            try:
                record = os.read(self._fd or 0, RECORD_BYTES)
            except BlockingIOError:
                break
            except BrokenPipeError:  # records were overwritten before we came
                continue
            except OSError as error:
                self.unread = REFUSED if error.errno in (errno.EPERM, errno.EACCES) else f"the kernel's log: {error.strerror}"
                break
            if not record:
                break
            if (event := parse_record(record.decode("utf-8", "replace"), self._boot_at)) is not None:
                self._events = [*self._events, event][-MOST_EVENTS:]
        return tuple(self._events)


def parse_record(record: str, boot_at: float) -> KernelEvent | None:
    """`6,339,5140900,-;text`, with the microseconds since boot in its third field; `None` for a line of no known kind, and
    for one that a program wrote there: its facility is not the kernel's."""
    head, _, text = record.partition(";")
    fields = head.split(",")
    line = clean_words(text.partition("\n")[0])
    if len(fields) < 3 or not fields[0].isdecimal() or int(fields[0]) >> 3 or not fields[2].isdecimal():
        return None
    for message, pattern in _messages():
        if message.contains in line and (found := pattern.search(line)) is not None:
            told = {name: value for name, value in found.groupdict().items() if value}
            pid, code = told.get("pid"), told.get("code")
            return KernelEvent(
                at=round(boot_at + int(fields[2]) / 1e6, 1),
                kind=message.kind,
                text=line[:400],
                pid=None if pid is None else int(pid),
                what=told.get("what") or told.get("device") or "",
                code=None if code is None else int(code),
            )
    return None


@cache
def _messages() -> tuple[tuple[_Message, re.Pattern[str]], ...]:
    text = Path(__file__).with_name("kernel_messages.toml").read_text("utf-8")
    return tuple((message, re.compile(message.regex)) for message in decode_toml(text, _Messages).message)
