"""Where a person wants to go in the log, as typed: a step, a time, a stage, a message, the start or the end. Pure."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from msgspec import Struct

from hangtop.common import text
from hangtop.render.log.log_merge import Place
from hangtop.render.view import View
from hangtop.translations import say

DAY_S = 86_400
_STEP = re.compile(r"(?:step|iter|it)?\s*#?(\d[\d,]*)", re.IGNORECASE)
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d))?")


class Goal(Struct, frozen=True):
    """One of these. `place`: of a line that is known. `at`: unix time; the first line from then on. `step`: the first line that
    tells it. `end`: of the log."""

    place: Place | None = None
    at: float | None = None
    step: int | None = None
    end: bool = False


def goal_of(typed: str, view: View) -> Goal | str:
    """The goal, or why there is none, in a sentence."""
    words = typed.strip()
    if words.casefold() in ("start", "end"):
        return Goal(place=(0, 0)) if words.casefold() == "start" else Goal(end=True)
    if (found := _CLOCK.fullmatch(words)) is not None:
        return _at(tuple(int(part or 0) for part in found.groups()), view.now)
    if (found := _STEP.fullmatch(words)) is not None:
        return Goal(step=int(found[1].replace(",", "")))
    named = [place for name, place in _named(view) if name == words.casefold()] or [
        place for name, place in _named(view) if words and name.startswith(words.casefold())
    ]
    if named:
        return Goal(place=named[-1])
    return say(f"no stage and no message of this log is called {words!r}; 120 is a step, 10:03 a time")


def _at(parts: tuple[int, ...], now: float) -> Goal | str:
    """The last moment before now at which clocks here showed that."""
    hour, minute, second = parts
    if hour > 23 or minute > 59 or second > 59:
        return say("that is no time of a day")
    here = time.localtime(now)
    at = time.mktime((here.tm_year, here.tm_mon, here.tm_mday, hour, minute, second, 0, 0, -1))
    return Goal(at=at if at <= now else at - DAY_S)


def _named(view: View) -> Iterator[tuple[str, Place]]:
    """Stages by id and title, messages by id, in small letters. Of a stage that comes again the last one is meant."""
    log = view.state.log
    for event in log.stages if log is not None else ():
        for name in (event.id, event.title, say(event.title)):
            yield name.casefold(), (event.file, event.offset)
    for finding in log.findings if log is not None else ():
        yield finding.id.casefold(), (finding.file, finding.offset)


def step_regex(step: int) -> str:
    """What a line looks like that tells this step, `step: 120`, `Iter 120/400`, `120/400`."""
    number = f"(?:{step}|{step:,})"
    return rf"(?i)(?:step|iter(?:ation)?|update)s?[\"']?\W{{0,4}}0*{number}(?![\d.,]*\d)|(?<![\d.,]){number}/\d"


def told(goal: Goal) -> str:
    """`step 120`, `10:03:00`: what is looked for."""
    return f"step {goal.step}" if goal.step is not None else text.clock(goal.at)
