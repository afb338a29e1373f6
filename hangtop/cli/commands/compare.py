"""`hangtop compare`: one rank beside another, or beside the median of its peers."""

from __future__ import annotations

import asyncio
import shutil
from functools import reduce
from typing import TextIO

from msgspec.structs import replace

from hangtop.cli.commands.check import verdict_once
from hangtop.common import clock
from hangtop.common.text import rank_ranges
from hangtop.feeds.probe_feed import Feed
from hangtop.probe.stacks.stack_source import take_stacks
from hangtop.records.watch_spec import WatchSpec
from hangtop.render.pair.pair import most_apart, pair_of
from hangtop.render.pair.pair_rows import pair_rows, title_of
from hangtop.render.spans import plain
from hangtop.render.view import View
from hangtop.stacks.native_calls import take_in
from hangtop.translations import say

NOTHING = 4


def run(feed: Feed, spec: WatchSpec, rank: int | None, other: int | None, out: TextIO) -> int:
    """Print both. `rank`: by default the one to look at first. Exit code 4, with one line, without two ranks."""
    case, verdict = asyncio.run(verdict_once(feed, spec, None))
    view = View(case.state, verdict, spec, clock.now())
    view = view if case.state.looks else _with_stacks(view)
    known = sorted(each.rank for each in view.ranks)
    chosen = rank if rank is not None else most_apart(view)
    if chosen is None:
        return _refuse(out, say("no rank of this run is known here"))
    for wanted in (chosen, other):
        if wanted is not None and wanted not in known:
            return _refuse(out, say(f"no rank {wanted}: there are {rank_ranges(known)}"))
    if len(known) < 2 or chosen == other:
        return _refuse(out, say(f"rank {chosen} has no other beside it"))
    if (pair := pair_of(view, chosen, other)) is not None:
        out.write(f"{title_of(pair)}\n\n")
    width = max(80, shutil.get_terminal_size((140, 40)).columns)
    out.write("".join(f"{plain(row)}\n" for row in pair_rows(view, chosen, other, width)))
    return 0


def _with_stacks(view: View) -> View:
    """A quiet run was looked at already; of one that goes on the stacks are taken now."""
    pids = [rank.process.pid for rank in view.ranks if rank.process is not None]
    looks = reduce(take_in, take_stacks(pids, clock.now(), {}, with_locals=False), view.state.looks) if pids else ()
    return View(replace(view.state, looks=looks), view.verdict, view.spec, clock.now())


def _refuse(out: TextIO, why: str) -> int:
    out.write(f"hangtop compare: {why}\n")
    return NOTHING
