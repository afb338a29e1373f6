"""The rank of a process by the log that it alone writes: one process and its descendants hold `rank_3.log` open. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from hangtop.probe.log.rank_from_name import ranks_of
from hangtop.system.processes.table import OpenFile, Stat
from hangtop.system.processes.tree import ancestors

ENDINGS = (".log", ".out", ".err", ".txt", ".stdout", ".stderr")


def log_ranks(members: Collection[int], files: Mapping[int, tuple[OpenFile, ...]], stats: Mapping[int, Stat]) -> dict[int, int]:
    """Ranks by pid: of a process that, with its descendants, alone holds `rank_3.log` open. A launcher that opened the logs of
    all its children holds several, so it has no rank."""
    holders: dict[str, list[int]] = {}
    for pid in members:
        for path in {file.target for file in files.get(pid, ()) if _is_log(file)}:
            holders.setdefault(path, []).append(pid)
    if len(holders) < 2:
        return {}
    above = {pid: set(ancestors(stats, pid)) for pids in holders.values() for pid in pids}
    paths = sorted(holders)
    found: dict[int, set[int | None]] = {}
    for path, rank in zip(paths, ranks_of(paths), strict=True):
        for pid in holders[path]:
            alone = all(other == pid or other in above[pid] or pid in above[other] for other in holders[path])
            found.setdefault(pid, set()).add(rank if alone else None)
    return {pid: rank for pid, ranks in found.items() if len(ranks) == 1 and (rank := next(iter(ranks))) is not None}


def _is_log(file: OpenFile) -> bool:
    named = file.fd in (1, 2) or file.target.endswith(ENDINGS)
    return file.writable and not file.deleted and file.target.startswith("/") and named
