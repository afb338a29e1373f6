"""What dead runs left behind on other nodes, asked over their lines and judged there (`node_side.leftovers`)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import msgspec

from hangtop.common import text
from hangtop.common.clean_words import clean_words
from hangtop.probe.leftovers.leftover_judge import TRACKED
from hangtop.probe.leftovers.leftover_places import LOCK, LOCK_DEPTH, SEGMENT, SEMAPHORE, SHARED_MEMORY
from hangtop.probe.leftovers.open_handles import NEVER_HOLD, TRACKER
from hangtop.probe.leftovers.orphans import TRAINING_NAMES
from hangtop.probe.nodes.node_link import NodeLink
from hangtop.records.plan import LeftAlone, NodeLeftovers, Removal
from hangtop.system.files.network_filesystems import SLACK_S
from hangtop.system.processes.proc_files import FIRST_PID_NAMESPACE

RULES: dict[str, Any] = {
    "segments": SEGMENT.pattern,
    "tracked": TRACKED,
    "tracker": TRACKER,
    "never_hold": sorted(NEVER_HOLD),
    "training": list(TRAINING_NAMES),
    "network": {kind: name for kind, (name, _) in SLACK_S.items()},
    "depth": LOCK_DEPTH,
    "first_pids": FIRST_PID_NAMESPACE,
    "memory": SHARED_MEMORY,
    "semaphore": SEMAPHORE,
    "lock": LOCK,
}
"""The same as here: each has one owner, and is sent along."""
LIMIT_S, NEXT_S = 15.0, 0.05
MOST_KEPT = 16
ABOVE_ALL = 1 << 55
"""Added to the number of a question: beyond those of all others (`node_files`)."""


class FarLeftovers:
    """One question to all nodes, asked when it is made."""

    def __init__(self, nodes: Mapping[int, NodeLink], ask: int, older_s: float) -> None:
        self._nodes, self._question, self._until = nodes, ask + ABOVE_ALL, time.monotonic() + LIMIT_S
        for link in nodes.values():
            link.ask_leftovers(self._question, older_s, RULES)

    def answers(self) -> tuple[NodeLeftovers, ...]:
        """Of each node, in their order. One that does not answer in time has a problem, and is not known to be clean."""
        told: dict[int, NodeLeftovers] = {}
        while len(told) < len(self._nodes) and time.monotonic() < self._until:
            for node, link in self._nodes.items():
                for record in link.answers(self._question):
                    if "leftovers" in record:
                        told[node] = leftovers_told(link.host, record)
                    elif node not in told:
                        told[node] = NodeLeftovers(link.host, problem=clean_words(str(record.get("error", "it told nothing"))))
            time.sleep(NEXT_S)
        for link in self._nodes.values():
            link.forget(self._question)
        late = {
            node: NodeLeftovers(link.host, problem=f"{link.host} did not answer in time") for node, link in self._nodes.items()
        }
        return tuple((late | told).values())


def leftovers_told(host: str, record: Mapping[str, Any]) -> NodeLeftovers:
    """A path that cannot be shown as it is stays."""
    try:
        found = msgspec.convert(record["found"], tuple[Removal, ...])
        kept = [_kept(str(path), str(why), age_s) for path, why, age_s in record["kept"]]
    except (msgspec.ValidationError, KeyError, TypeError, ValueError) as error:
        return NodeLeftovers(host, problem=clean_words(f"{host}: it answers what is no list of leftovers: {error!r:.80}"))
    shown: list[Removal] = []
    for each in found:
        if each.path.isprintable():
            shown.append(each)
        else:
            kept.append(LeftAlone(clean_words(each.path), "its name cannot be shown"))
    return NodeLeftovers(host, tuple(shown), tuple(kept[:MOST_KEPT]))


def _kept(path: str, why: str, age_s: Any) -> LeftAlone:
    return LeftAlone(clean_words(path), clean_words(why) if age_s is None else f"used {text.duration(float(age_s))} ago")
