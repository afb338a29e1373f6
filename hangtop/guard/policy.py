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
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from hangtop.common.decode_toml import TomlError, decode_toml, line_of
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


class PolicyError(Exception):
    """A policy that makes no sense. The message is one line: file, line, key and what is wrong."""


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


def read_policy(path: Path) -> Policy:
    """Raises `PolicyError`."""
    try:
        text = path.read_text("utf-8")
        policy = decode_toml(text, Policy)
    except (OSError, UnicodeDecodeError, TomlError) as error:
        why = f" {error.strerror}" if isinstance(error, OSError) else error
        raise PolicyError(f"{path}:{why}") from error
    for place, what in _faults(policy):
        raise PolicyError(f"{path}:{line_of(text, place)}: {what}")
    return policy


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
    if max(numbers[1], numbers[3]) > 59 or first >= 24 * 60 or end > 24 * 60:
        raise ValueError(f"{hours!r} is no time of the day such as 22:00-07:00")
    return first, end


def _faults(policy: Policy) -> Iterator[tuple[str, str]]:
    """The place of each key that makes no sense, and why."""
    for number, when in enumerate(policy.when):
        for key, what in _faults_of(when):
            yield f"$.when[{number}].{key}", f"key when[{number}].{key}: {what}"
    durations = {
        "restart.back_off": policy.restart.back_off,
        "restart.within": policy.restart.within,
        "notify.every": policy.notify.every,
    }
    for key, value in durations.items():
        if (why := _refused(value)) is not None:
            yield f"$.{key}", f"key {key}: {why}"
    if policy.restart.most < 0:
        yield "$.restart.most", "key restart.most: a number of starts"
    if policy.restart.resume and not policy.restart.command:
        yield "$.restart.resume", "key restart.resume: words for the command, so restart.command must say it"


def _faults_of(when: When) -> Iterator[tuple[str, str]]:
    if (what := _refused(when.after)) is not None:
        yield "after", what
    if when.hours:
        try:
            span(when.hours)
        except ValueError as error:
            yield "hours", str(error)
    if ("run" in when.deeds) != bool(when.run):
        yield "do", 'do = "run" and run = ["program", "word"] belong together'
    alive = [event for event in when.events if event not in STANDS]
    if harmful := [deed for deed in when.deeds if deed in HARMFUL]:
        if alive:
            yield "do", f"{harmful[0]} at {alive[0]}: only a run that {', '.join(sorted(STANDS))} may be ended"
        if len(harmful) > 1:
            yield "do", f"{' and '.join(harmful)}: one of them"


def _refused(value: float | str) -> str | None:
    try:
        seconds(value)
    except ValueError as error:
        return str(error)
    return None
