"""Sends a notice by Apprise (optional: `pip install 'hangtop[notify]'`), in a process of its own.

It gets the addresses on its stdin, for one may hold a password; a mail server that never answers holds up nobody. What it sends
is redacted as a bundle is.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from hangtop.common.secrets.redactor import Redactor
from hangtop.guard.post import Notice
from hangtop.system.hangtop_child import hangtop_command

LIMIT_S = 60.0
NOT_INSTALLED = "apprise is not installed: pip install 'hangtop[notify]'"


class Sent(Struct, frozen=True):
    """`failed`: the places of the addresses that did not take it. `why`: in one line, without addresses."""

    failed: tuple[int, ...] = ()
    why: str = ""


async def send(notice: Notice) -> Sent:
    """Send it. Never raises."""
    everybody = tuple(range(len(notice.urls)))
    try:
        process = await asyncio.create_subprocess_exec(
            *hangtop_command("hangtop.guard.send_notice"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        return Sent(everybody, f"the sender could not be started: {error.strerror}")
    try:
        async with asyncio.timeout(LIMIT_S):
            said, _ = await process.communicate(msgspec.json.encode(notice))
        return msgspec.json.decode(said, type=Sent)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        return Sent(everybody, f"no answer within {LIMIT_S:.0f} s")
    except msgspec.DecodeError:
        return Sent(everybody, "the sender broke off")


def problems_of(urls: Sequence[str]) -> list[str]:
    """Why these addresses cannot be used: their number in the list, for they may hold secrets."""
    try:
        from apprise import Apprise
    except ImportError:
        return [NOT_INSTALLED]
    return [f"address {number}: no service that Apprise knows" for number, url in enumerate(urls, 1) if not Apprise().add(url)]


def main() -> None:
    """The sender: a notice on stdin, what became of it on stdout."""
    import logging

    notice = msgspec.json.decode(sys.stdin.buffer.read(), type=Notice)
    if problems := problems_of(notice.urls):
        sent = Sent(tuple(range(len(notice.urls))), "; ".join(problems))
    else:
        logging.disable(logging.CRITICAL)  # its log names the addresses
        sent = _sent(notice)
    sys.stdout.buffer.write(msgspec.json.encode(sent))


def _sent(notice: Notice) -> Sent:
    redactor = Redactor()
    title, body = redactor.text(notice.title), redactor.text(notice.body)
    failed = [place for place, url in enumerate(notice.urls) if not _delivered(url, title, body, notice.picture)]
    named = ", ".join(f"address {place + 1} ({notice.urls[place].partition(':')[0]})" for place in failed)
    return Sent(tuple(failed), f"not delivered: {named}" if failed else "")


def _delivered(url: str, title: str, body: str, picture: str) -> bool:
    """With the picture, and without where a service does not take it."""
    from apprise import Apprise, NotifyFormat

    service = Apprise()
    service.add(url)
    if picture and service.notify(title=title, body=body, body_format=NotifyFormat.TEXT, attach=picture):
        return True
    return bool(service.notify(title=title, body=body, body_format=NotifyFormat.TEXT))


if __name__ == "__main__":
    main()
