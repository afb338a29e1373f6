"""Notices to people, by Apprise (optional: `pip install 'hangtop[notify]'`): grouped, and no more than one in a while.

They are sent by a process of its own, which gets the addresses on its stdin: an address may hold a password, and a mail server
may not answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from hangtop.guard.policy import Notices
from hangtop.system.hangtop_child import hangtop_command

LIMIT_S = 60.0
MOST_LINES = 20
NOT_INSTALLED = "apprise is not installed: pip install 'hangtop[notify]'"


class Notice(Struct, frozen=True):
    """What the sender is told. `urls`: of Apprise."""

    urls: tuple[str, ...]
    title: str
    body: str


class NoticeBox:
    """Keeps what was not sent yet. All times are unix seconds."""

    def __init__(self, settings: Notices) -> None:
        self._settings = settings
        self._waiting: list[tuple[str, str]] = []
        self._sent_at: float | None = None
        self._urgent = False

    def put(self, title: str, body: str, *, urgent: bool = False) -> None:
        """`urgent`: it is sent with the next look, however lately another was."""
        self._waiting.append((title, body))
        self._urgent = self._urgent or urgent

    def ready(self, now: float) -> Notice | None:
        """What is to be sent now: the newest title, and all that came since the last notice."""
        early = self._sent_at is not None and now - self._sent_at < self._settings.every_s
        if not self._waiting or not self._settings.urls or (early and not self._urgent):
            return None
        titles = [title for title, _ in self._waiting]
        bodies = [body if len(self._waiting) == 1 else f"{title}\n{body}" for title, body in self._waiting[-MOST_LINES:]]
        self._waiting, self._sent_at, self._urgent = [], now, False
        return Notice(self._settings.urls, titles[-1], "\n\n".join(bodies))


async def send(notice: Notice) -> str:
    """Send it. Empty, or why it was not sent, in one line without addresses."""
    process = await asyncio.create_subprocess_exec(
        *hangtop_command("hangtop.guard.notices"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(LIMIT_S):
            said, _ = await process.communicate(msgspec.json.encode(notice))
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        return f"no answer within {LIMIT_S:.0f} s"
    return said.decode(errors="replace").strip() or ("" if process.returncode == 0 else "the sender broke off")


def problems_of(urls: Sequence[str]) -> list[str]:
    """Why these addresses cannot be used: their number in the list, for they may hold secrets."""
    try:
        from apprise import Apprise
    except ImportError:
        return [NOT_INSTALLED]
    return [f"address {number}: no service that Apprise knows" for number, url in enumerate(urls, 1) if not Apprise().add(url)]


def main() -> None:
    """The sender: a notice on stdin, what went wrong on stdout."""
    notice = msgspec.json.decode(sys.stdin.buffer.read(), type=Notice)
    if problems := problems_of(notice.urls):
        sys.stdout.write("; ".join(problems))
        return
    import logging

    from apprise import Apprise

    logging.disable(logging.CRITICAL)  # its log names the addresses
    failed = []
    for number, url in enumerate(notice.urls, 1):
        service = Apprise()
        service.add(url)
        if not service.notify(title=notice.title, body=notice.body):
            failed.append(f"address {number} ({url.partition(':')[0]})")
    if failed:
        sys.stdout.write(f"not delivered: {', '.join(failed)}")


if __name__ == "__main__":
    main()
