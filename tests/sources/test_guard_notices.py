"""Notices as they arrive: at a real HTTP receiver and a real mail server, without secrets and with the picture."""

from __future__ import annotations

import asyncio
import base64
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from hangtop.feeds.redacted import RedactedFeed
from hangtop.guard.post import Notice
from hangtop.guard.send_notice import NOT_INSTALLED, problems_of, send
from hangtop.guard.tell_others import TellOthers
from hangtop.records.log import LogReading
from hangtop.records.reading import Reading
from hangtop.records.verdict import Verdict, VerdictChanged
from tests.app.play import MemoryFeed
from tests.fakes.processes import eventually
from tests.fakes.receiver import Mailbox, Receiver

pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated")  # apprise imports it

SECRET = "hf_abcdefghijklmnopqrstuvwxyz"
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(64)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver().listening() as listening:
        yield listening


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    place = tmp_path / "screen.png"
    place.write_bytes(PICTURE)
    return place


async def test_what_is_sent_arrives_with_its_picture_and_without_secrets(receiver: Receiver, picture: Path) -> None:
    sent = await send(Notice((receiver.url,), "hung: train.log", f"HF_TOKEN={SECRET} was refused", str(picture)))
    (got,) = receiver.got
    assert (sent.failed, sent.why) == ((), "")
    assert (got["title"], got["message"]) == ("hung: train.log", "HF_TOKEN=[redacted] was refused")
    assert [base64.b64decode(part["base64"]) for part in got["attachments"]] == [PICTURE]


async def test_mail_arrives_with_its_picture_and_foreign_text_is_no_markup(picture: Path) -> None:
    smtp = pytest.importorskip("aiosmtpd.smtp", reason="no mail server here: pip install aiosmtpd")
    mailbox = Mailbox()
    server = await asyncio.get_running_loop().create_server(lambda: smtp.SMTP(mailbox), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    url = f"mailto://127.0.0.1:{port}?from=guard@example.org&to=me@example.org&mode=insecure"
    sent = await send(Notice((url,), "hung: train.log", "Rank 3 stands. <script>", str(picture)))
    server.close()
    assert sent.why == ""
    (mail,) = mailbox.got
    assert mail["Subject"] == "hung: train.log"
    parts = {part.get_content_type(): part.get_payload(decode=True) for part in mail.walk() if not part.is_multipart()}
    assert "Rank 3 stands. <script>" in parts["text/plain"].decode()
    assert "text/html" not in parts
    assert PICTURE in parts.values()


async def test_who_does_not_take_it_is_named_without_its_address(receiver: Receiver) -> None:
    with Receiver().listening() as gone:
        url = gone.url.replace("json://", f"json://me:{SECRET}@")
    sent = await send(Notice((url, receiver.url), "hung", "Rank 3 stands."))
    assert (sent.failed, sent.why) == ((0,), "not delivered: address 1 (json)")
    assert receiver.titles == ["hung"]


def test_an_address_that_is_none_is_named_by_its_number() -> None:
    assert problems_of(["json://127.0.0.1/", f"nothing://{SECRET}"]) == ["address 2: no service that Apprise knows"]


def test_without_apprise_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)
    assert problems_of(["json://127.0.0.1/"]) == [NOT_INSTALLED]


def test_a_test_notice_is_delivered_and_says_so(receiver: Receiver) -> None:
    command = [sys.executable, "-m", "hangtop", "notify", "--test", receiver.url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=dict(os.environ))
    assert (done.returncode, done.stdout) == (0, "delivered to 1 address\n")
    assert receiver.titles == ["hangtop: a test"]


async def test_who_watches_lets_others_know_what_changes(receiver: Receiver) -> None:
    telling = TellOthers((receiver.url,), ("train.log",))
    running, hung = Verdict("running", "Step 3.", ""), Verdict("hung", f"Rank 3 stands: {SECRET} was refused", "")
    telling(VerdictChanged(0.0, None, running))
    telling(VerdictChanged(1.0, running, hung))
    telling(VerdictChanged(2.0, hung, replace(hung, headline="Rank 4 stands.")))
    telling(VerdictChanged(3.0, hung, running))
    await asyncio.to_thread(eventually, lambda: len(receiver.got) == 2, "both notices")
    told = {notice["title"]: notice["message"] for notice in receiver.got}
    assert told["hangtop: hung: train.log"] == "Rank 3 stands: [redacted] was refused"
    assert "Rank 4 stands." in told["hangtop: it goes on again: train.log"]


async def test_what_is_shown_to_others_holds_no_secrets() -> None:
    log = LogReading(files=(), last_line=f"login with {SECRET}")
    feed = MemoryFeed([Reading("log", "n1", 1.0, log)])
    reading = await anext(RedactedFeed(feed).readings())
    assert reading == Reading("log", "n1", 1.0, LogReading(files=(), last_line="login with [redacted]"))
