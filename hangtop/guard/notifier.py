"""Hands notices to the sender, one at a time, and again what was not delivered: for a guard, and for who watches a screen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from hangtop.guard.policy import Notices
from hangtop.guard.post import Notice, Part, Post, at_once, next_notice, not_delivered, put
from hangtop.guard.send_notice import leave_to_sender, send
from hangtop.records.advice import Advice
from hangtop.records.verdict import Culprit, VerdictChanged
from hangtop.records.watch_spec import WatchSpec, as_options
from hangtop.translations import say

LAST_TRIES = 3
"""A guard that ends tries so often to deliver what is left."""


def part_of(
    word: str, said: str, spec: WatchSpec, culprits: Sequence[Culprit], advice: Sequence[Advice], kept: Sequence[tuple[str, str]]
) -> Part:
    """What is told of one event: what stands, who, why, what to do, and what was kept as evidence: its kind and where it is."""
    lines = [say(said)]
    if culprits:
        lines.append(f"{say('culprit')}: {', '.join(culprit.with_node for culprit in culprits)}")
    lines += [f"{say('why')}: {say(each.cause)}\n{say('do')}: {say(each.remedy)}" for each in advice[:1]]
    lines += [f"{say(kind)}: {place}" for kind, place in kept if kind != "picture"]
    picture = next((place for kind, place in reversed(kept) if kind == "picture"), "")
    run = " ".join(spec.logs) or " ".join(f"pid {pid}" for pid in spec.pids)
    return Part(f"hangtop: {say(word)}: {run}", "\n".join(lines), picture)


def paint_of(spec: WatchSpec) -> tuple[str, ...]:
    """How the screen of this run is painted; a pipe can be read by one only."""
    return () if spec.stdin is not None or "-" in spec.logs else as_options(spec)


class Notifier:
    """`post`: what waits. `keep`: is given each new one. `failed`: is told why a notice was not delivered; empty once one was."""

    def __init__(
        self, settings: Notices, spec: WatchSpec, post: Post, keep: Callable[[Post], None], failed: Callable[[str], None]
    ) -> None:
        self._settings, self._spec, self._post, self._keep_it, self._failed = settings, spec, post, keep, failed
        self._sending: asyncio.Task[None] | None = None

    @property
    def told_trouble(self) -> bool:
        """Whether trouble was told that is not over."""
        return self._post.troubled

    def put(self, part: Part, *, trouble: bool) -> None:
        """One more part of the next notice. `trouble`: that it goes on again is to be told then."""
        post = put(self._post, part)
        self._keep(replace(post, troubled=post.troubled or trouble))

    def changed(self, change: VerdictChanged) -> None:
        """That a run goes on of which trouble was told is told too, at once."""
        if self._post.troubled and change.verdict.word == "running":
            part = part_of("it goes on again", change.verdict.headline, self._spec, (), (), ())
            self._keep(replace(put(self._post, part, urgent=True), troubled=False))

    def send_ready(self, now: float) -> None:
        """Send what is ready, beside the watch. It is out of the post before it is sent: nothing is sent twice."""
        if self._sending is not None and not self._sending.done():
            return
        post, notice, tries = next_notice(self._post, self._settings, now)
        self._keep(post)
        if notice is not None:
            self._sending = asyncio.create_task(self._send(notice, tries, now))

    async def finish(self, now: float) -> None:
        """The last notices, without their pauses. What cannot be delivered stays in the post, for the next guard of this run."""
        for _ in range(LAST_TRIES):
            if self._sending is not None:
                await self._sending
            if not self._post.waiting and not self._post.undelivered:
                return
            self._keep(at_once(self._post, now))
            self.send_ready(now)
        if self._sending is not None:
            await self._sending

    def leave(self, now: float) -> None:
        """Leave the last notices to senders that outlive this process; nothing is waited for."""
        post, notice, _ = next_notice(at_once(self._post, now), self._settings, now)
        while notice is not None:
            leave_to_sender(notice)
            post, notice, _ = next_notice(at_once(post, now), self._settings, now)
        self._keep(post)

    async def _send(self, notice: Notice, tries: int, now: float) -> None:
        sent = await send(notice)
        self._failed(f"{sent.why}: {sent.said}" if sent.said else sent.why)
        if sent.failed:
            self._keep(not_delivered(self._post, notice, sent.failed, tries, self._settings, now))

    def _keep(self, post: Post) -> None:
        if post != self._post:
            self._post = post
            self._keep_it(post)
