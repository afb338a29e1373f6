"""`hangtop status`: what is said of the runs here, in one short line."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TextIO

import msgspec

from hangtop.common import clock
from hangtop.common.secrets.redactor import Redactor
from hangtop.monitor.told_state import StatesTold, ToldState, told_state, told_states
from hangtop.records.verdict import STATES
from hangtop.records.watch_spec import WatchSpec
from hangtop.render.spans import plain
from hangtop.render.status_segment import for_tmux, segment
from hangtop.translations import say

if TYPE_CHECKING:
    from hangtop.feeds.probe_feed import Feed

NOTHING = 4


def run(spec: WatchSpec, feed: Callable[[], Feed], out: TextIO, *, tmux: bool, as_json: bool = False) -> int:
    """Print the line. A hangtop or guard that runs has told what it says; without one the run is looked at, if one is named.
    Exit code as of `check`, of the gravest run; 4 where nothing is known, and then nothing for tmux."""
    now = clock.now()
    wanted = {os.path.abspath(log) for log in spec.logs}
    told = [each for each in told_states(now) if not (wanted or spec.pids) or wanted & set(each.logs)]
    if not told and (spec.logs or spec.pids):
        told = [_looked(spec, feed())]
        now = clock.now()
    if as_json:
        shown = Redactor().tree(msgspec.to_builtins(StatesTold(runs=tuple(told))))
        out.write(msgspec.json.encode(shown).decode() + "\n")
        return _code(told)
    if not told:
        out.write("\n" if tmux else say("no hangtop and no guard watches a run of yours here: give --log PATH") + "\n")
        return NOTHING
    row = segment(told, now)
    out.write((for_tmux(row, colour="NO_COLOR" not in os.environ) if tmux else plain(row)) + "\n")
    return _code(told)


def _code(told: Sequence[ToldState]) -> int:
    """As of `check`, of the gravest run; 4 without any."""
    return max((STATES[each.word] for each in told), key=lambda state: state.urgency).exit_code if told else NOTHING


def _looked(spec: WatchSpec, feed: Feed) -> ToldState:
    import asyncio

    from hangtop.cli.commands.check import verdict_once

    return told_state(*asyncio.run(verdict_once(feed, spec, None)))
