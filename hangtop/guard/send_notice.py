"""Sends a notice by Apprise (optional: `pip install 'hangtop[notify]'`), in a process of its own.

It gets the addresses on its stdin, for one may hold a password; a mail server that never answers holds up nobody. What it sends
is redacted as a bundle is. It outlives who has started it, and paints the screen of the run for the notice.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import IO
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from hangtop.common.reaper import reap_later
from hangtop.common.secrets.redactor import Redactor
from hangtop.guard.post import Notice
from hangtop.system.hangtop_child import hangtop_command, start_hangtop
from hangtop.system.memory import unnamed_memory

LIMIT_S, PAINT_S = 60.0, 90.0
"""For the services, and for the picture before."""
LOOK_S = 0.1
NOT_INSTALLED = "apprise is not installed: pip install 'hangtop[notify]'"
UNKNOWN = "no service that Apprise knows (appriseit.com/services); a webhook of your own is json://HOST/PATH, or jsons://"
PICTURE = "png" if find_spec("resvg_py") else "svg"
ERRNO = re.compile(r"\[Errno -?\d+\] ([A-Z][A-Za-z ]+)")
"""What the kernel or the resolver said, among the words of a library."""
SHORT = 3
"""Shorter words of an address tell nothing of it."""


class Sent(Struct, frozen=True):
    """`failed`: the places of the addresses that did not take it. `why`: who, in one line without addresses, and what tries it.
    `said`: what the services said."""

    failed: tuple[int, ...] = ()
    why: str = ""
    said: str = ""


async def send(notice: Notice) -> Sent:
    """Send it. Never raises but when it is cancelled; then the sender goes on by itself."""
    everybody, limit_s = tuple(range(len(notice.urls))), LIMIT_S + (PAINT_S if notice.paint else 0.0)
    with contextlib.ExitStack() as opened:
        try:
            said = opened.enter_context(os.fdopen(unnamed_memory(0), "w+b"))
            process = _started(notice, said)
        except OSError as error:
            return Sent(everybody, f"the sender could not be started: {error.strerror}")
        try:
            for _ in range(round(limit_s / LOOK_S)):
                if process.poll() is not None:
                    break
                await asyncio.sleep(LOOK_S)
            else:
                process.kill()
                return Sent(everybody, f"no answer within {limit_s:.0f} s")
            said.seek(0)
            return msgspec.json.decode(said.read(), type=Sent)
        except msgspec.DecodeError:
            return Sent(everybody, "the sender broke off")
        finally:
            reap_later(process)


def leave_to_sender(notice: Notice) -> None:
    """Have it sent by a process that outlives this one. Where none can be started nobody is left who could tell."""
    with contextlib.suppress(OSError):
        reap_later(_started(notice, subprocess.DEVNULL))


def _started(notice: Notice, said: int | IO[bytes]) -> subprocess.Popen[bytes]:
    """The sender of this notice. Raises `OSError`."""
    with os.fdopen(unnamed_memory(0), "w+b") as told:
        told.write(msgspec.json.encode(notice))
        told.seek(0)
        return start_hangtop("hangtop.guard.send_notice", stdin=told, stdout=said)


def problems_of(urls: Sequence[str]) -> list[str]:
    """Why these addresses cannot be used: their number in the list, for they may hold secrets."""
    try:
        from apprise import Apprise
    except ImportError:
        return [NOT_INSTALLED]
    return [f"address {number}: {UNKNOWN}" for number, url in enumerate(urls, 1) if not Apprise().add(url)]


def main() -> None:
    """The sender: a notice on stdin, what became of it on stdout."""
    notice = msgspec.json.decode(sys.stdin.buffer.read(), type=Notice)
    if problems := problems_of(notice.urls):
        sent = Sent(tuple(range(len(notice.urls))), "; ".join(problems))
    else:
        with _painted(notice) as picture:
            sent = _sent(notice, picture)
    sys.stdout.buffer.write(msgspec.json.encode(sent))


@contextlib.contextmanager
def _painted(notice: Notice) -> Iterator[str]:
    """The picture that goes with it, while it is sent; none where it cannot be painted."""
    if not notice.paint or notice.picture:
        yield notice.picture
        return
    with tempfile.TemporaryDirectory(prefix="hangtop-notice-") as folder:
        place = Path(folder) / f"hangtop-screen.{PICTURE}"
        command = hangtop_command("hangtop", "picture", *notice.paint, "-o", str(place))
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):  # a notice without a picture tells enough
            subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PAINT_S, check=False)
        yield str(place) if place.exists() else ""


def _sent(notice: Notice, picture: str) -> Sent:
    redactor = Redactor()
    title, body = redactor.text(notice.title), redactor.text(notice.body)
    whys = {place: _not_delivered(url, title, body, picture) for place, url in enumerate(notice.urls)}
    failed = tuple(place for place, why in whys.items() if why is not None)
    if not failed:
        return Sent()
    services = [notice.urls[place].partition(":")[0] for place in failed]
    numbers = [(notice.places or range(len(notice.urls)))[place] + 1 for place in failed]
    named = ", ".join(f"address {number} ({service})" for number, service in zip(numbers, services, strict=True))
    said = "; ".join(dict.fromkeys(filter(None, whys.values())))
    return Sent(failed, f"not taken by {named}; try hangtop notify --test {services[0]}://…", said)


def _not_delivered(url: str, title: str, body: str, picture: str) -> str | None:
    """Send it, with the picture, and without where a service does not take it. Why it was not delivered, as far as
    Apprise says it; `None` if it was."""
    from apprise import Apprise, NotifyFormat

    service, complaints = Apprise(), _Complaints()
    service.add(url)
    with complaints.heard():
        if picture and service.notify(title=title, body=body, body_format=NotifyFormat.TEXT, attach=picture):
            return None
        if service.notify(title=title, body=body, body_format=NotifyFormat.TEXT):
            return None
    return without_address(complaints.said, url)


class _Complaints(logging.Handler):
    """What Apprise says of a failure: in its log only."""

    def __init__(self) -> None:
        super().__init__()
        self._last = self._cause = ""

    @property
    def said(self) -> str:
        return f"{self._last.rstrip('.')} ({self._cause})" if self._cause else self._last.rstrip(".")

    def emit(self, record: logging.LogRecord) -> None:
        message = " ".join(record.getMessage().split())
        if record.levelno >= logging.WARNING:
            self._last = message
        elif (found := ERRNO.search(message)) is not None:
            self._cause = found[1]

    @contextlib.contextmanager
    def heard(self) -> Iterator[None]:
        log = logging.getLogger("apprise")
        log.propagate = False
        log.setLevel(logging.DEBUG)
        log.addHandler(self)
        try:
            yield
        finally:
            log.removeHandler(self)


def without_address(said: str, url: str) -> str:
    """What was said, without any word of the address, as it was given or decoded: each may be a password."""
    given = {word for word in re.split(r"[/@:?&=#,]+", url.partition("://")[2]) if len(word) >= SHORT}
    words = given | {unquote(word) for word in given}
    for word in sorted(words, key=len, reverse=True):
        said = said.replace(word, "…")
    return said


if __name__ == "__main__":
    main()
