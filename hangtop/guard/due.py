"""What a policy wants done now, and whether anything is still to come. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from hangtop.guard.episodes import AGAIN_S, Book, Key, Seen
from hangtop.guard.policy import HARMFUL, Deed, Policy, Restarts, When, in_hours

SURENESS = {"possible": 0, "likely": 1, "certain": 2}
LEFT_ALONE = frozenset({"slow", "waiting", "blind"})
"""While this is said of a run, whatever sign stands beside it, nobody ends it: it works, or nobody can tell."""


class Due(Struct, frozen=True):
    """One deed for an episode that `began` then. `refused`: why it is not done, and never will be in this episode."""

    seen: Seen
    began: float
    since: float
    deed: Deed
    when: When
    refused: str = ""

    @property
    def key(self) -> Key:
        return self.seen.event, self.began, self.deed, self.when.after_s


def due(policy: Policy, book: Book, seen: tuple[Seen, ...], now: float, minute: int) -> list[Due]:
    """In the order of the policy. `minute`: of the day, local time. Of what is harmful the first alone: another look follows."""
    ripe = [each for each in _open(policy, book, seen, now, minute) if _is_ripe(each, policy.restart, book, now)]
    left_alone = any(each.event in LEFT_ALONE for each in seen)
    harmful = next((each for each in ripe if each.deed in HARMFUL and not each.refused and not left_alone), None)
    return [each for each in ripe if each.deed not in HARMFUL or each.refused or each is harmful]


def awaited(policy: Policy, book: Book, seen: tuple[Seen, ...], now: float, minute: int) -> bool:
    """Whether something of the policy may still be done in what stands now: a run that has ended is watched until then."""
    return any(not each.refused for each in _open(policy, book, seen, now, minute))


def _open(policy: Policy, book: Book, seen: tuple[Seen, ...], now: float, minute: int) -> Iterator[Due]:
    """What was not done yet in these episodes, sure enough and at its hours."""
    done = {each.key for each in book.done if each.settled}
    for when in policy.when:
        for event in (each for each in seen if each.is_among(when.events)):
            if SURENESS[event.confidence] < SURENESS[when.confidence] or not in_hours(when.hours, minute):
                continue
            episode = book.episodes.get(event.event)
            began, since = (now, now) if episode is None else (episode.began, episode.since)
            for deed in when.deeds:
                refused = _refusal(policy.restart, book, now) if deed in ("restart", "recover") else ""
                found = Due(event, began, since, deed, when, refused)
                if found.key not in done:
                    yield found


def _is_ripe(due: Due, restarts: Restarts, book: Book, now: float) -> bool:
    """Whether it has stood long enough, and a new start comes not too soon after the last one."""
    tried = next((each for each in book.done if each.key == due.key), None)
    if now - due.since < due.when.after_s or (tried is not None and now < tried.at + AGAIN_S):
        return False
    lately = starts_lately(restarts, book, now)
    backs_off = due.deed in ("restart", "recover") and lately and not due.refused
    return not backs_off or now >= lately[-1] + restarts.back_off_s * 2 ** (len(lately) - 1)


def starts_lately(restarts: Restarts, book: Book, now: float) -> tuple[float, ...]:
    """The starts that count: those within the time that the policy names."""
    return tuple(at for at in book.starts if now - at < restarts.within_s)


def _refusal(restarts: Restarts, book: Book, now: float) -> str:
    times = len(starts_lately(restarts, book, now))
    return f"it was started again {times} times within {restarts.within} (restart.most)" if times >= restarts.most else ""
