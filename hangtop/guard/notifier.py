"""Hands notices to the sender, one at a time, and keeps in the book what was not sent yet."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from hangtop.guard.book_file import BookFile
from hangtop.guard.episodes import Done
from hangtop.guard.events import GuardEvent
from hangtop.guard.policy import Notices
from hangtop.guard.post import Notice, Part, Post, next_notice, not_delivered, put
from hangtop.guard.send_notice import send
from hangtop.guard.teller import Teller
from hangtop.records.verdict import VerdictChanged
from hangtop.translations import say

LAST_TRIES = 3
"""A guard that ends tries so often to deliver what is left."""


class Notifier:
    """The notices of one guard. `run`: the logs, as typed, for the title."""

    def __init__(self, file: BookFile, teller: Teller, settings: Notices, run: tuple[str, ...]) -> None:
        self._file, self._teller, self._settings, self._run = file, teller, settings, run
        self._sending: asyncio.Task[None] | None = None

    def put(self, event: GuardEvent) -> None:
        """What the policy wants told: verdict, culprit, cause and remedy, and what was kept as evidence so far."""
        book = self._file.book
        episode = None if event.name is None else book.episodes.get(event.name)
        kept = [done for done in book.done if done.went and episode is not None and done.began == episode.began]
        part = Part(self._title(str(event.name)), "\n".join(_lines(event, kept)), _picture(kept))
        post = put(book.post, part)
        self._keep(replace(post, troubled=post.troubled or event.name != "finished"))

    def changed(self, change: VerdictChanged) -> None:
        """That a run goes on of which trouble was told is told too, at once."""
        post = self._file.book.post
        if post.troubled and change.verdict.word == "running":
            part = Part(self._title("it goes on again"), say(change.verdict.headline))
            self._keep(replace(put(post, part, urgent=True), troubled=False))

    def send_ready(self, now: float) -> None:
        """Send what is ready, beside the watch. It is out of the book before it is sent: nothing is sent twice."""
        if self._sending is not None and not self._sending.done():
            return
        post, notice, tries = next_notice(self._file.book.post, self._settings, now)
        self._keep(post)
        if notice is not None:
            self._sending = asyncio.create_task(self._send(notice, tries, now))

    async def finish(self, now: float) -> None:
        """The last notices, without their pauses. What cannot be delivered stays in the book, for the next guard of this run."""
        for _ in range(LAST_TRIES):
            if self._sending is not None:
                await self._sending
            post = self._file.book.post
            if not post.waiting and not post.undelivered:
                return
            soon = tuple(replace(each, next_at=now) for each in post.undelivered)
            self._keep(replace(post, undelivered=soon, urgent=True))
            self.send_ready(now)
        if self._sending is not None:
            await self._sending

    async def _send(self, notice: Notice, tries: int, now: float) -> None:
        sent = await send(notice)
        if sent.why:
            self._teller.say("guard", f"a notice was not sent: {sent.why}")
        if sent.failed:
            self._keep(not_delivered(self._file.book.post, notice, sent.failed, tries, self._settings, now))

    def _keep(self, post: Post) -> None:
        if post != self._file.book.post:
            self._file.keep(replace(self._file.book, post=post))

    def _title(self, word: str) -> str:
        return f"hangtop: {say(word)}: {' '.join(self._run)}"


def _lines(event: GuardEvent, kept: list[Done]) -> list[str]:
    lines = [say(event.text)]
    if event.verdict is not None and event.verdict.culprits:
        lines.append(f"{say('culprit')}: {', '.join(culprit.name for culprit in event.verdict.culprits)}")
    lines += [f"{say('why')}: {say(each.cause)}\n{say('do')}: {say(each.remedy)}" for each in event.advice[:1]]
    return lines + [f"{say(done.deed)}: {done.outcome}" for done in kept if done.deed not in ("notify", "picture")]


def _picture(kept: list[Done]) -> str:
    return next((done.outcome for done in reversed(kept) if done.deed == "picture"), "")
