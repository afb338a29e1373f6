"""Tells others, by Apprise, what changes in a run while somebody watches it: trouble, the end, and that it goes on again."""

from __future__ import annotations

import asyncio
import contextlib
import os

import msgspec
from msgspec.structs import replace

from hangtop.common.reaper import reap_later
from hangtop.guard.policy import Notices
from hangtop.guard.post import Notice, Part, Post, next_notice, put
from hangtop.records.verdict import Verdict, VerdictChanged
from hangtop.system.hangtop_child import start_hangtop
from hangtop.system.memory import unnamed_memory
from hangtop.translations import say


class TellOthers:
    """A subscriber of the monitor. `urls`: of Apprise. Nothing waits for the senders, which outlive the screen."""

    def __init__(self, urls: tuple[str, ...], run: tuple[str, ...]) -> None:
        self._settings, self._run = Notices(urls=urls), " ".join(run) or "the run"
        self._post = Post()
        self._timer: asyncio.TimerHandle | None = None

    def __call__(self, change: VerdictChanged) -> None:
        verdict = change.verdict
        if verdict.state.trouble or (verdict.state.ended and change.before is not None):
            self._put(verdict.word, verdict)
            self._post = replace(self._post, troubled=verdict.state.trouble)
        elif self._post.troubled and verdict.word == "running":
            self._put("it goes on again", verdict, urgent=True)
            self._post = replace(self._post, troubled=False)
        self._send(change.at)

    def _put(self, word: str, verdict: Verdict, *, urgent: bool = False) -> None:
        named = ", ".join(culprit.name for culprit in verdict.culprits)
        lines = [say(verdict.headline), *([f"{say('culprit')}: {named}"] if named else []), *filter(None, (say(verdict.detail),))]
        self._post = put(self._post, Part(f"hangtop: {say(word)}: {self._run}", "\n".join(lines)), urgent=urgent)

    def _send(self, now: float) -> None:
        """What is ready now; the rest in its time."""
        self._post, notice, _ = next_notice(self._post, self._settings, now)
        if notice is not None:
            _begin_sender(notice)
        if self._timer is not None:
            self._timer.cancel()
        if self._post.waiting and self._post.sent_at is not None:
            pause_s = self._post.sent_at + self._settings.every_s - now
            self._timer = asyncio.get_running_loop().call_later(pause_s, self._send, now + pause_s)


def _begin_sender(notice: Notice) -> None:
    """The process that sends it. Where none can be started there are worse troubles, and the screen shows this one."""
    with contextlib.suppress(OSError), os.fdopen(unnamed_memory(0), "w+b") as told:
        told.write(msgspec.json.encode(notice))
        told.seek(0)
        reap_later(start_hangtop("hangtop.guard.send_notice", stdin=told))
