"""Reads a policy, and refuses one that makes no sense with file, line, key and the reason, before anything is started."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

from hangtop.common.decode_toml import TomlError, decode_toml, line_of
from hangtop.guard.policy import HARMFUL, STANDS, Deed, Event, Policy, When, seconds, span, with_urls

KEEPS: frozenset[Deed] = frozenset({"stacks", "bundle", "picture"})
"""They write into the folder `keep`."""
CHECKPOINT = "{checkpoint}"
_SLOT = re.compile(r"(?<!\$)\{[a-z_]+\}")

Fault = tuple[str, str]
"""The place of a key in the file, and what is wrong."""


class PolicyError(Exception):
    """A policy that makes no sense. The message is one line: file, line, key and what is wrong."""


def read_policy(path: Path, urls: tuple[str, ...] = ()) -> Policy:
    """The policy of this file, which sends its notices to `urls` too. Raises `PolicyError`."""
    try:
        text = path.read_text("utf-8")
        policy = with_urls(decode_toml(text, Policy), urls)
    except UnicodeDecodeError as error:
        raise PolicyError(f"{path}: not UTF-8: byte {error.start}") from error
    except (OSError, TomlError) as error:
        why = f" {error.strerror}" if isinstance(error, OSError) else error
        raise PolicyError(f"{path}:{why}") from error
    for place, what in (*_faults(policy), *_faults_of_keep(policy), *_faults_of_notices(policy)):
        raise PolicyError(f"{path}:{line_of(text, place)}: key {place.removeprefix('$.')}: {what}")
    return policy


def _faults(policy: Policy) -> Iterator[Fault]:
    for number, when in enumerate(policy.when):
        for key, what in _faults_of(when):
            yield f"$.when[{number}].{key}", what
    for (one, first), (other, second) in combinations(enumerate(policy.when), 2):
        if what := _clash(first, second):
            yield f"$.when[{other}].do", f"{what} stands in when[{one}]"
    yield from _faults_of_restart(policy)
    if (why := _refused(policy.notify.every)) is not None:
        yield "$.notify.every", why


def _faults_of(when: When) -> Iterator[Fault]:
    if not when.events:
        yield "event", "at which event?"
    if not when.deeds:
        yield "do", "what is to be done?"
    if (what := _refused(when.after)) is not None:
        yield "after", what
    if when.hours:
        try:
            span(when.hours)
        except ValueError as error:
            yield "hours", str(error)
    if ("run" in when.deeds) != bool(when.run):
        yield "do", 'do = "run" and run = ["program", "word"] belong together'
    if when.run and not when.run[0]:
        yield "run", "its first word is the program"
    alive = [event for event in when.events if event not in STANDS]
    if harmful := [deed for deed in when.deeds if deed in HARMFUL]:
        if alive:
            yield "do", f"{harmful[0]} at {alive[0]}: only a run that {', '.join(sorted(STANDS))} may be ended"
        if len(harmful) > 1:
            yield "do", f"{' and '.join(harmful)}: one of them"


def _clash(first: When, second: When) -> str:
    """Of two entries for the same moment: what cannot be done beside it. A deed is done once for an event."""
    shared: list[Event] = [event for event in first.events if event in second.events]
    if not shared or first.hours != second.hours or _refused(first.after) or _refused(second.after):
        return ""
    if first.after_s != second.after_s:
        return ""
    at = f"at {shared[0]} after {second.after}"
    if first.run and second.run and first.run != second.run:
        return f"another run {at}"
    ends = [next((deed for deed in when.deeds if deed in HARMFUL), None) for when in (first, second)]
    return f"{ends[0]} {at}" if None not in ends and ends[0] != ends[1] else ""


def _faults_of_restart(policy: Policy) -> Iterator[Fault]:
    restart = policy.restart
    for key, value in {"back_off": restart.back_off, "within": restart.within}.items():
        if (why := _refused(value)) is not None:
            yield f"$.restart.{key}", why
    if _refused(restart.within) is None and restart.within_s == 0:
        yield "$.restart.within", "in no time at all there is no number of starts"
    if restart.most < 0:
        yield "$.restart.most", "a number of starts"
    if restart.command and not restart.command[0]:
        yield "$.restart.command", "its first word is the program"
    if restart.resume and not restart.command:
        yield "$.restart.resume", "words for the command, so restart.command must say it"
    unknown = [slot for word in restart.resume for slot in _SLOT.findall(word) if slot != CHECKPOINT]
    if unknown:
        yield "$.restart.resume", f"nothing is put in for {unknown[0]}, only for {CHECKPOINT}"


def _faults_of_keep(policy: Policy) -> Iterator[Fault]:
    """The folder is made when something is kept; whether that can be is seen before."""
    deeds = {deed for when in policy.when for deed in when.deeds}
    if not deeds & KEEPS:
        return
    if "\0" in policy.keep:
        yield "$.keep", "no name of a folder"
        return
    folder = Path(policy.keep).expanduser().absolute()
    there = next(each for each in (folder, *folder.parents) if each.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        yield "$.keep" if policy.keep else "$", f"nothing can be written in {there}"


def _faults_of_notices(policy: Policy) -> Iterator[Fault]:
    places = [number for number, when in enumerate(policy.when) if "notify" in when.deeds]
    if places and not policy.notify.urls:
        yield f"$.when[{places[0]}].do", "notify whom? give [notify] urls, or --notify URL"
    if policy.notify.urls and not places:
        yield "$.notify.urls", 'nothing is told to them: no [[when]] has do = "notify"'


def _refused(value: float | str) -> str | None:
    try:
        seconds(value)
    except ValueError as error:
        return str(error)
    return None
