"""What dead runs left behind: shared memory, Ray session folders, locks of the dataset cache. On a question only.

Only what belongs to our own user, in the places that `leftover_places` names. Never a cache that costs hours to fill: model and
compile caches are not searched.
"""

from __future__ import annotations

import os
import stat as modes
import sys
from collections.abc import Iterable

from msgspec.structs import replace

from hangtop.common.clean_words import clean_words
from hangtop.probe.context import ProbeContext
from hangtop.probe.leftovers.leftover_judge import LeftoverJudge
from hangtop.probe.leftovers.leftover_places import Candidate, LeftoverPlaces, candidates, never_removed, usual_places
from hangtop.probe.leftovers.open_handles import Holds, open_handles
from hangtop.probe.nodes.node_leftovers import FarLeftovers
from hangtop.probe.ray.local.ray_processes import RayTable
from hangtop.probe.source import Source
from hangtop.records.ask import LeftoversAsk
from hangtop.records.plan import LeftAlone, LeftoversReading, Removal
from hangtop.records.reading import Value
from hangtop.system.guard import Guard
from hangtop.system.processes.open_table import open_table
from hangtop.system.processes.table import ProcessTable

MOST_KEPT = 64


class LeftoverSource(Source):
    deadline_s = 60.0

    def __init__(self, context: ProbeContext, places: LeftoverPlaces | None = None, table: ProcessTable | None = None) -> None:
        self._nodes = context.nodes
        self._places = places
        self._table = table or open_table()
        self._guard: Guard[int, Holds] = Guard()

    def answer(self, ask: LeftoversAsk, now: float) -> Iterable[Value]:
        if sys.platform != "linux":
            yield LeftoversReading(ask.ask, problem="what is in use can be told on Linux only, so nothing is cleaned here")
            return
        far = FarLeftovers(self._nodes, ask.ask, ask.older_s)
        places = self._places or usual_places(ray=self._ray_folders(now))
        in_use = open_handles(self._table, places.all, self._guard)
        judge = LeftoverJudge(in_use, now, ask.older_s)
        later = LeftoverJudge(in_use.without(ask.ending, ""), now, ask.older_s, sure=False) if ask.ending else None
        judged = [_judged(candidate, judge, later) for candidate in candidates(places)]
        kept = [each for each in judged if isinstance(each, LeftAlone)]
        yield LeftoversReading(
            ask.ask,
            found=tuple(each for each in judged if isinstance(each, Removal)),
            kept=(*kept[:MOST_KEPT], *(never_removed(places, os.environ) if self._places is None else ())),
            writing={pid: path for pid in ask.pids if (path := self._writes(pid, now - ask.older_s)) is not None},
            elsewhere=far.answers(),
        )

    def _ray_folders(self, now: float) -> set[str]:
        """Temporary folders of the sessions that have a process of ours left."""
        here = RayTable(self._table).read(now)
        owners = [*((d.folder, d.uid) for d in here.daemons), *((w.folder, w.uid) for w in here.workers)]
        return {os.path.dirname(folder.rstrip("/")) for folder, uid in owners if folder and uid == os.geteuid()}

    def _writes(self, pid: int, since: float) -> str | None:
        """A plain file that this process has open for writing and that was written since then."""
        try:
            held = self._table.open_files(pid)
        except OSError:  # gone: then it writes nothing
            return None
        for file in held:
            if file.writable and not file.deleted and file.target.startswith("/") and not file.target.startswith("/dev/"):
                try:
                    found = os.stat(file.target)
                except OSError:
                    continue
                if modes.S_ISREG(found.st_mode) and found.st_mtime > since:
                    return clean_words(file.target)
        return None


def _judged(candidate: Candidate, now: LeftoverJudge, later: LeftoverJudge | None) -> Removal | LeftAlone | None:
    """A thing that is held only by processes that end first is judged as if they had ended."""
    judged = now.judge(candidate)
    if later is None or not isinstance(judged, LeftAlone):
        return judged
    then = later.judge(candidate)
    return replace(then, changing=True) if isinstance(then, Removal) else judged
