"""How a guard tells what happens: an event as one line of JSON, and the same as a line for people, in their language."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from hangtop.common.text import cells, clock, printable
from hangtop.guard.due import Due
from hangtop.guard.events import GuardEvent, What, iso, told
from hangtop.guard.lines_out import LinesOut
from hangtop.guard.policy import Event
from hangtop.records.verdict import Verdict
from hangtop.translations import say

LAST_S = 2.0
KIND_CELLS = 8
MARK = {True: "done:", False: "not done:", None: ""}


class Teller:
    """Writes both. A reader that takes nothing, a full disk: the events wait, and the journal says so once."""

    def __init__(
        self, run: tuple[str, ...], out: LinesOut, journal: LinesOut, now: Callable[[], float], *, dry_run: bool = False
    ) -> None:
        self._run, self._out, self._journal, self._now, self._dry_run = run, out, journal, now, dry_run
        self._problem = ""

    def event(self, what: What, text: str, *, name: Event | None = None, verdict: Verdict | None = None) -> GuardEvent:
        """An event of this moment; it is not told yet."""
        event = GuardEvent(iso(self._now()), what, self._run, text, name=name, dry_run=self._dry_run)
        return event if verdict is None else replace(event, verdict=told(verdict))

    def of_deed(self, due: Due, verdict: Verdict) -> GuardEvent:
        """The event of a deed that begins."""
        event = self.event("deed", due.seen.said, name=due.seen.event, verdict=verdict)
        return replace(event, since=iso(due.since), deed=due.deed)

    def came_of(self, event: GuardEvent, text: str, *, went: bool | None) -> None:
        """Tell what came of a deed."""
        self.tell(replace(event, what="outcome", text=text, went=went, at=iso(self._now())))

    def say(self, what: What, text: str) -> None:
        """Tell something of the guard itself."""
        self.tell(self.event(what, text))

    def tell(self, event: GuardEvent) -> None:
        """Write it down, or as soon as that can be done."""
        self._out.put(msgspec.json.encode(event).decode())
        words = [say(word) for word in (event.name, event.deed, MARK[event.went]) if word]
        what = say(event.what)
        self._note(" ".join([what + " " * (KIND_CELLS - cells(what)), *words, say(event.text)]))
        self.catch_up()

    def catch_up(self) -> None:
        """Write what waits; that something waits, or was lost, is told once."""
        self._out.flush()
        self._journal.flush()
        if self._out.problem != self._problem:
            self._problem = self._out.problem
            lost = f", {self._out.lost} lost" if self._out.lost else ""
            self._note(f"events   {self._problem or 'are written again'}{lost}")

    def end(self) -> None:
        """Write the rest."""
        self._out.end(LAST_S)
        self._journal.end(LAST_S)

    def _note(self, text: str) -> None:
        self._journal.put(printable(f"{clock(self._now())}  {text}"))
