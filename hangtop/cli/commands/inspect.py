"""`hangtop inspect`: one process from inside, as the kernel tells it. Nothing runs in the process, nothing stops it."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TextIO

import msgspec

from hangtop.common import clock
from hangtop.diagnosis.members.rank_table import join_ranks
from hangtop.feeds.probe_feed import Feed
from hangtop.monitor.headless import processes_of
from hangtop.probe.processes.inspect_source import LINUX_ONLY
from hangtop.probe.without_secrets import SecretFilter
from hangtop.records.inspection import Inspection
from hangtop.records.nodes import node_of, pid_there
from hangtop.render.processes.inspection_rows import inspection_rows
from hangtop.render.spans import plain
from hangtop.system.processes.open_table import open_table
from hangtop.translations import say

SCHEMA = 1


def of_ranks(feed: Feed, ranks: Iterable[int]) -> tuple[dict[int, int], list[str]]:
    """The pids of these ranks of the run that the feed sees, and a line for each that is not known here."""
    table = {rank.rank: rank for rank in join_ranks(asyncio.run(processes_of(feed)))}
    known = {number: rank for number, rank in table.items() if rank.process is not None and number in ranks}
    pids = {number: rank.process.pid for number, rank in known.items() if rank.process is not None}
    away = {
        number: f"rank {number} is pid {pid_there(pid)} on {known[number].host}: only processes of this machine can be asked"
        for number, pid in pids.items()
        if node_of(pid)
    }
    here = {number: pids[number] for number in ranks if number in pids and number not in away}
    unknown = [number for number in ranks if number not in here]
    return here, [away.get(number, f"rank {number} has no process that is known on this machine") for number in unknown]


def run(pids: Sequence[int], *, names: dict[int, str], as_json: bool, out: TextIO) -> int:
    """Print what is known of each. Exit codes: 0 some process was read, 4 none."""
    if sys.platform != "linux":
        sys.stderr.write(f"hangtop inspect: {say(LINUX_ONLY)}\n")
        return 4
    from hangtop.system.one_process.inspect import Inspector

    table = open_table()
    table.refresh(())
    inspector, without_secrets = Inspector(table), SecretFilter()
    seen = [without_secrets.value(inspector.inspect(number, pid, 0, clock.now())) for number, pid in enumerate(pids)]
    found = [each for each in seen if isinstance(each, Inspection)]
    if as_json:
        out.write(msgspec.json.format(msgspec.json.encode({"schema": SCHEMA, "processes": found}), indent=1).decode() + "\n")
    else:
        width = max(60, shutil.get_terminal_size((120, 40)).columns)
        out.write("\n\n".join(as_text(each, names, width) for each in found) + "\n")
    return 0 if any(each.problem is None for each in found) else 4


def as_text(seen: Inspection, names: Mapping[int, str], width: int) -> str:
    """A head line, then its rows in lines of `width` cells. `names`: of ranks, by pid."""
    head = " ".join(word for word in (names.get(seen.pid), f"pid {seen.pid}", seen.command or seen.name) if word)
    where = [say(f"in {seen.folder}")] if seen.folder else []
    return "\n".join([head, *where, "", *map(plain, inspection_rows(seen, width, names))])
