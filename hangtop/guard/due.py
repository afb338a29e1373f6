"""What a policy wants done now, and whether anything is still to come. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from hangtop.guard.episodes import Book, Seen
from hangtop.guard.policy import HARMFUL, Deed, Event, Policy, Restarts, When, in_hours

SURENESS = {"possible": 0, "likely": 1, "certain": 2}


class Due(Struct, frozen=True):
    """One deed for an event that stands since `since`. `refused`: why it is not done, and never will be in this episode."""

    seen: Seen
    since: float
    deed: Deed
    when: When
    refused: str = ""

    @property
    def key(self) -> tuple[Event, float, Deed, float]:
        return self.seen.event, self.since, self.deed, self.when.after_s


def due(policy: Policy, book: Book, seen: tuple[Seen, ...], now: float, minute: int) -> list[Due]:
    """In the order of the policy. `minute`: of the day, local time. Of what is harmful the first alone: another look follows."""
    ripe = [each for each in _open(policy, book, seen, now, minute) if _is_ripe(each, policy.restart, book, now)]
    harmful = next((each for each in ripe if each.deed in HARMFUL and not each.refused), None)
    return [each for each in ripe if each.deed not in HARMFUL or each.refused or each is harmful]


def awaited(policy: Policy, book: Book, seen: tuple[Seen, ...], now: float, minute: int) -> bool:
    """Whether something of the policy may still be done in what stands now: a run that has ended is watched until then."""
    return any(not each.refused for each in _open(policy, book, seen, now, minute))


def _open(policy: Policy, book: Book, seen: tuple[Seen, ...], now: float, minute: int) -> Iterator[Due]:
    """What was not done yet in these episodes, sure enough and at its hours."""
    done = {each.key for each in book.done}
    for when in policy.when:
        for event in (each for each in seen if each.event in when.events):
            if SURENESS[event.confidence] < SURENESS[when.confidence] or not in_hours(when.hours, minute):
                continue
            since = book.since.get(event.event, now)
            for deed in when.deeds:
                refused = _refusal(policy.restart, book) if deed in ("restart", "recover") else ""
                found = Due(event, since, deed, when, refused)
                if found.key not in done:
                    yield found


def _is_ripe(due: Due, restarts: Restarts, book: Book, now: float) -> bool:
    """Whether it has stood long enough, and a new start comes not too soon after the last one."""
    if now - due.since < due.when.after_s:
        return False
    backs_off = due.deed in ("restart", "recover") and book.starts and not due.refused
    return not backs_off or now >= book.starts[-1] + restarts.back_off_s * 2 ** (len(book.starts) - 1)


def _refusal(restarts: Restarts, book: Book) -> str:
    times = len(book.starts)
    return f"it was started again {times} times already (restart.most)" if times >= restarts.most else ""
