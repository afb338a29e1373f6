"""Notices as they arrive: at a real HTTP receiver and a real mail server, without secrets and with the picture."""

from __future__ import annotations

import asyncio
import base64
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hangtop.common import reaper
from hangtop.feeds.redacted import RedactedFeed
from hangtop.guard import tell_others
from hangtop.guard.post import Notice
from hangtop.guard.send_notice import NOT_INSTALLED, UNKNOWN, Sent, problems_of, send, without_address
from hangtop.guard.tell_others import TellOthers
from hangtop.monitor.monitor import Monitor
from hangtop.records.log import LogReading
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState, fold
from tests.app.play import MemoryFeed, beat, session
from tests.fakes.processes import PATIENCE_S, eventually
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
    assert sent.failed == (0,)
    assert sent.why == "not taken by address 1 (json); try hangtop notify --test json://…"
    assert "Connection refused" in sent.said
    assert SECRET not in sent.said
    assert receiver.titles == ["hung"]


async def test_who_does_not_take_it_the_second_time_has_the_same_number() -> None:
    with Receiver().listening() as gone:
        pass
    sent = await send(Notice((gone.url,), "hung", "Rank 3 stands.", places=(4,)))
    assert (sent.failed, sent.why[:30]) == ((0,), "not taken by address 5 (json);")


def test_an_address_that_is_none_is_named_by_its_number() -> None:
    assert problems_of(["json://127.0.0.1/", f"nothing://{SECRET}"]) == [f"address 2: {UNKNOWN}"]


def test_without_apprise_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)
    assert problems_of(["json://127.0.0.1/"]) == [NOT_INSTALLED]


def test_a_test_notice_that_is_not_delivered_says_why(tmp_path: Path) -> None:
    with Receiver().listening() as gone:
        url = gone.url.replace("json://", f"json://me:{SECRET}@")
    command = [sys.executable, "-m", "hangtop", "notify", "--test", url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=dict(os.environ))
    assert done.returncode == 1
    assert done.stderr.startswith("hangtop notify: not delivered to address 1: A Connection error")
    assert "Connection refused" in done.stderr
    assert SECRET not in done.stderr


def test_a_test_notice_is_delivered_and_says_so(receiver: Receiver) -> None:
    command = [sys.executable, "-m", "hangtop", "notify", "--test", receiver.url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=dict(os.environ))
    assert (done.returncode, done.stdout) == (0, "delivered to 1 address\n")
    assert receiver.titles == ["hangtop: a test"]


class Watched:
    """A fleet whose rank 3 hangs, or that goes on, before the eyes of somebody who tells others."""

    def __init__(self, url: str) -> None:
        self.telling = TellOthers((url,))
        self.hung, self.goes_on = _state("fleet_hung"), _state("fleet_healthy")
        self.monitor = Monitor(self.hung[0], (self.telling,), (self.telling.look,))

    def looks(self, state: RunState, at: float) -> str:
        self.monitor.look(fold(state, beat(at)), at)
        return self.monitor.verdict.word

    async def until(self, true: Callable[[], object], state: RunState, at: float) -> None:
        """Looks on, from second to second, until this is so."""
        ends = time.monotonic() + PATIENCE_S
        while not true():
            assert time.monotonic() < ends, self.telling.problem
            at += 1
            assert self.looks(state, at) in ("hung", "running")
            await asyncio.sleep(0.05)


def _state(name: str) -> tuple[WatchSpec, RunState, float]:
    spec, readings, at = session(name)
    state = RunState()
    for reading in readings:
        state = fold(state, reading)
    return spec, state, at


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run of a recording is not there any more."""
    monkeypatch.setattr(tell_others, "paint_of", lambda _: ())
    monkeypatch.setattr(tell_others, "PATIENCE_S", 2.0)  # nobody looks at its stacks, either


async def test_who_watches_tells_the_cause_the_remedy_the_culprit_and_the_bundle_once(receiver: Receiver, alone: None) -> None:
    watched = Watched(receiver.url)
    _, state, at = watched.hung
    await watched.until(lambda: receiver.got, state, at)
    (got,) = receiver.got
    assert got["title"].startswith("hangtop: hung: ")
    assert "culprit: rank 3\n" in got["message"]
    assert "\nwhy: " in got["message"]
    assert "\ndo: " in got["message"]
    watched.telling.bundled("/evidence/b.tar.gz")
    watched.looks(state, at + 20)
    assert len(receiver.got) == 1  # not yet: at most one a minute
    await watched.until(lambda: len(receiver.got) > 1, state, at + 140)
    assert receiver.got[1]["message"].endswith("bundle: /evidence/b.tar.gz")
    watched.looks(state, at + 300)
    assert len(receiver.got) == 2


async def test_who_watches_tells_that_it_goes_on_again_at_once(receiver: Receiver, alone: None) -> None:
    watched = Watched(receiver.url)
    _, state, at = watched.hung
    await watched.until(lambda: receiver.got, state, at)
    _, well, then = watched.goes_on
    assert watched.looks(well, then) == "running"
    await watched.until(lambda: len(receiver.got) > 1, well, then)
    assert receiver.got[1]["title"].startswith("hangtop: it goes on again: ")


async def test_what_was_not_sent_yet_is_sent_when_who_watches_leaves(receiver: Receiver, alone: None) -> None:
    watched = Watched(receiver.url)
    _, state, at = watched.hung
    await watched.until(lambda: receiver.got, state, at)
    watched.telling.bundled("/evidence/b.tar.gz")
    watched.telling.around(MemoryFeed()).close()
    await asyncio.to_thread(eventually, lambda: len(receiver.got) == 2, "the last notice")
    left = reaper._abandoned
    await asyncio.to_thread(eventually, lambda: all(sender.poll() is not None for sender in left), "the end of its sender")


async def test_a_notice_that_nobody_took_is_said_beside_the_sources_until_one_is_taken(alone: None) -> None:
    with Receiver(refuses=1).listening() as refusing:
        watched = Watched(refusing.url)
        _, state, at = watched.hung
        feed = watched.telling.around(MemoryFeed([beat(at), beat(at + 1)]))
        await watched.until(lambda: watched.telling.problem, state, at)
        (told,) = (await anext(feed.readings())).value.sources
        assert told.name == "notify"
        assert told.problem.startswith("not taken by address 1 (json); try hangtop notify --test json://…: ")
        assert "503" in told.problem
        await watched.until(lambda: refusing.got, state, at + 80)
        await watched.until(lambda: not watched.telling.problem, state, at + 80)
        (told,) = (await anext(feed.readings())).value.sources
        assert (told.problem, told.absent) == (None, "well again")


def test_a_complaint_holds_no_word_of_the_address() -> None:
    url = f"json://me:{SECRET}@hooks.example.org/T123/B456?token=abcdef"
    said = without_address(f"Could not reach hooks.example.org as me with {SECRET} or abcdef at T123.", url)
    assert said == "Could not reach … as me with … or … at …."
    assert without_address("refused p@ssw0rd", "json://me:p%40ssw0rd@hooks.example.org") == "refused …", "as it is decoded"


async def test_a_notice_takes_along_what_the_screen_shows_now(receiver: Receiver, tmp_path: Path) -> None:
    pytest.importorskip("resvg_py", reason="a PNG needs resvg-py")
    (tmp_path / "train.log").write_text("step 1/9 loss=1.0\n")
    sent = await send(Notice((receiver.url,), "stalled", "It stands.", paint=("--log", str(tmp_path / "train.log"))))
    assert sent == Sent()
    (part,) = receiver.got[0]["attachments"]
    assert base64.b64decode(part["base64"]).startswith(b"\x89PNG")
    assert list(tmp_path.iterdir()) == [tmp_path / "train.log"]


def test_plain_lines_that_end_with_the_run_leave_their_notice_to_a_sender(tmp_path: Path, receiver: Receiver) -> None:
    (tmp_path / "train.log").write_text("step 1/9 loss=1.0\nTraceback (most recent call last):\nMemoryError\n")
    command = [sys.executable, "-m", "hangtop", "--plain", "--log", "train.log", "--notify", receiver.url]
    environ = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environ, cwd=tmp_path)
    assert done.returncode == 3
    eventually(lambda: receiver.got, "the notice")
    assert receiver.titles == ["hangtop: crashed: train.log"]
    assert len(receiver.got[0]["attachments"]) == 1


async def test_what_is_shown_to_others_holds_no_secrets() -> None:
    log = LogReading(files=(), last_line=f"login with {SECRET}")
    feed = MemoryFeed([Reading("log", "n1", 1.0, log)])
    reading = await anext(RedactedFeed(feed).readings())
    assert reading == Reading("log", "n1", 1.0, LogReading(files=(), last_line="login with [redacted]"))
