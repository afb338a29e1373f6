"""The policy of a guard: at which event, after how long, how sure, at which hours, what is to be done. A TOML file.

[[when]]
event = ["hung", "stalled"]
after = "5m"
confidence = "likely"
do = ["stacks", "bundle", "notify"]

[[when]]
event = "hung"
after = "10m"
do = "restart"
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from hangtop.guard.signs import Sign
from hangtop.records.verdict import Confidence, VerdictWord

Event = VerdictWord | Sign | Literal["ended"]
"""A word of the verdict, or a sign beside it. `ended`: somebody asked for the end of the run; it is no other event then."""
Deed = Literal["stacks", "bundle", "picture", "notify", "run", "stop", "restart", "recover"]
"""`run`: the hook that the same entry names. `picture`: of the screen, which a later notice takes along."""
HARMFUL: frozenset[Deed] = frozenset({"stop", "restart", "recover"})
"""They end processes."""
NO_TROUBLE: frozenset[Event] = frozenset({"finished", "ended"})
"""After them nobody waits for the run to go on."""
STANDS: frozenset[Event] = frozenset({"stalled", "hung", "crashed", "nan", "loss_jump"})
"""Only at these may a policy do what is harmful: a run that is slow and alive is left alone."""
SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd]?)")
_HOURS = re.compile(r"(\d\d):(\d\d)-(\d\d):(\d\d)")


class When(Struct, frozen=True, forbid_unknown_fields=True):
    """`after`: how long the event must have stood. `hours`: `22:00-07:00`, local time; always if empty. `run`: the words of a
    hook, which gets the event as JSON on its stdin."""

    event: Event | tuple[Event, ...]
    do: Deed | tuple[Deed, ...]
    after: float | str = 0.0
    confidence: Confidence = "likely"
    hours: str = ""
    run: tuple[str, ...] = ()

    @property
    def events(self) -> tuple[Event, ...]:
        return (self.event,) if isinstance(self.event, str) else self.event

    @property
    def deeds(self) -> tuple[Deed, ...]:
        return (self.do,) if isinstance(self.do, str) else self.do

    @property
    def after_s(self) -> float:
        return seconds(self.after)


class Restarts(Struct, frozen=True, forbid_unknown_fields=True):
    """How often the run may be started again `within` that time. `back_off`: the least time between two starts, doubled each
    time. `command`: how it is started, in place of its own command line. `resume`: words behind that command; `{checkpoint}` is
    the newest one."""

    most: int = 3
    within: float | str = "1d"
    back_off: float | str = "1m"
    command: tuple[str, ...] = ()
    resume: tuple[str, ...] = ()

    @property
    def within_s(self) -> float:
        return seconds(self.within)

    @property
    def back_off_s(self) -> float:
        return seconds(self.back_off)


class Notices(Struct, frozen=True, forbid_unknown_fields=True):
    """`urls`: of Apprise (`mailto://…`, `slack://…`, `json://…`). `every`: the least time between two notices; what comes in
    between is sent together. That the run goes on is always sent."""

    urls: tuple[str, ...] = ()
    every: float | str = "1m"

    @property
    def every_s(self) -> float:
        return seconds(self.every)


class Policy(Struct, frozen=True, forbid_unknown_fields=True):
    """`keep`: the folder for stacks and bundles, the current one if empty."""

    when: tuple[When, ...] = ()
    restart: Restarts = Restarts()
    notify: Notices = Notices()
    keep: str = ""


ONLY_TELL = Policy(when=(When(("stalled", "hung", "crashed", "finished", "ended"), "notify"),))
"""Without a policy nothing is done but to tell."""
WRAPPED = Policy(
    when=(
        When(("stalled", "hung", "crashed", "ended"), "notify"),
        When("hung", ("stacks", "bundle"), after="1m"),
        When("hung", "stop", after="10m"),
    )
)
"""Of a run that a script has started under `hangtop wrap`: it does not hang until its allocation is used up."""


def with_urls(policy: Policy, urls: tuple[str, ...]) -> Policy:
    """The policy that sends its notices to these too."""
    return replace(policy, notify=replace(policy.notify, urls=(*policy.notify.urls, *urls)))


def seconds(value: float | str) -> float:
    """`90`, `"90s"`, `"5m"`, `"2h"`. Raises `ValueError`."""
    found = _DURATION.fullmatch(str(value))
    if found is None:
        raise ValueError(f"{value!r} is no duration such as 90, 90s, 5m or 2h")
    return float(found[1]) * SECONDS[found[2]]


def in_hours(hours: str, minute: int) -> bool:
    """Whether this minute of the day is within `22:00-07:00`."""
    if not hours:
        return True
    first, end = span(hours)
    return first <= minute < end if first <= end else not end <= minute < first


def span(hours: str) -> tuple[int, int]:
    """The first minute of the day, and the one after the last. Raises `ValueError`."""
    found = _HOURS.fullmatch(hours)
    numbers = [int(number) for number in found.groups()] if found else [24, 0, 24, 0]
    first, end = 60 * numbers[0] + numbers[1], 60 * numbers[2] + numbers[3]
    if max(numbers[1], numbers[3]) > 59 or first >= 24 * 60 or end > 24 * 60 or first == end:
        raise ValueError(f"{hours!r} is no time of the day such as 22:00-07:00")
    return first, end
