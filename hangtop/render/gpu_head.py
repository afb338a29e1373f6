"""The head line of the GPU pane: how many GPUs stand out and why, their models, the age of old values. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hangtop.diagnosis.facts.gpu_outliers import BAD, FactKind, GpuFact, is_current, power_part
from hangtop.records.gpu import Gpu, GpuStatus
from hangtop.render.gpu_nodes import NodeRow
from hangtop.render.gpu_rows import GpuRow
from hangtop.render.source_status import late_row
from hangtop.render.spans import Row, dotted
from hangtop.translations import say

SAID_IN_HEAD: tuple[FactKind, ...] = (
    "lost", "reset needed", "no answer", "unknown error", "empty", "idle", "late", "little memory", "hot", "grows", "busy-wait",
)  # fmt: skip
IN_HEAD: dict[FactKind, str] = {"grows": "with growing memory"}
QUIET_WHEN_WELL: frozenset[FactKind] = frozenset({"idle", "empty", "little memory", "busy-wait"})
OLD_STATUSES: tuple[GpuStatus, ...] = ("late", "no answer")


def summary(rows: Sequence[GpuRow]) -> Row:
    """`1 idle · 7 busy-wait · limit 700 W`, or `8 × H100 80G · limit 700 W`, or the age of all values."""
    gpus = [row.gpu for row in rows]
    if old := _all_old(rows):
        return old
    limit: Row = ((words, "muted"),) if (words := _limit(gpus)) else ()
    said = [fact for row in rows for fact in row.facts]
    if any(row.works for row in rows) and (waiting := [power for row in rows if row.waits and (power := power_part(row.gpu))]):
        part = sum(waiting) / len(waiting)
        wait = "waits" if len(waiting) == 1 else "wait"
        return dotted((((say(f"{len(waiting)} {wait} at {100 * part:.0f} % of power"), "muted"),), limit))
    if held := sum(row.held for row in rows):
        return dotted((((say(f"{held} not free"), "warn"),), ((_makes(gpus), "muted"),)))
    trouble = any(row.role or row.waits == "warn" for row in rows)
    return dotted((*(_counted(said, trouble=trouble) or [((_makes(gpus), "muted"),)]), limit))


def _all_old(rows: Sequence[GpuRow]) -> Row:
    """How old all values are, if the driver or the probe is late or silent; else nothing."""
    statuses = {row.status for row in rows}
    if "ok" in statuses or not statuses.intersection(OLD_STATUSES):
        return ()
    age_s = max((row.age_s for row in rows if row.age_s is not None), default=None)
    return dotted((late_row(age_s, answers="no answer" not in statuses), ((say("old values below"), "muted"),)))


def _counted(said: Sequence[GpuFact], *, trouble: bool) -> list[Row]:
    """`1 idle`, `7 busy-wait`, gravest first. In a healthy run only faults of a GPU itself."""
    counts = Counter(fact.kind for fact in said)
    return [
        ((say(f"{counts[kind]} {IN_HEAD.get(kind, kind)}"), "bad bold" if kind in BAD else "warn"),)
        for kind in kinds_said(said, trouble=trouble)
    ]


def kinds_said(said: Sequence[GpuFact], *, trouble: bool) -> list[FactKind]:
    """The kinds of facts for the head, gravest first."""
    there = {fact.kind for fact in said}
    return [kind for kind in SAID_IN_HEAD if kind in there and (trouble or kind not in QUIET_WHEN_WELL)]


def nodes_summary(rows: Sequence[NodeRow], now: float, *, trouble: bool) -> Row:
    """`248 of 256 answer · 245 busy-wait · means per node, limit 700 W`."""
    gpus = [gpu for row in rows for gpu in row.gpus]
    answering = sum(is_current(gpu, now) for gpu in gpus)
    said = [fact for row in rows for fact in row.all_facts if fact.kind not in OLD_STATUSES]
    means = ", ".join(filter(None, (say("means per node"), _limit(gpus))))
    return dotted(
        (((say(f"{answering} of {len(gpus)} answer"), "muted"),), *_counted(said, trouble=trouble), ((means, "muted"),))
    )


def _limit(gpus: Sequence[Gpu]) -> str:
    """`limit 700 W`, where all have the same."""
    limits = {gpu.limit_w for gpu in gpus if gpu.limit_w}
    return say(f"limit {limits.pop():.0f} W" if len(limits) == 1 else "")


def _makes(gpus: Sequence[Gpu]) -> str:
    """`8 × H100 80G`."""
    names = Counter(short_name(gpu.name) for gpu in gpus)
    return ", ".join(f"{count} × {name}" for name, count in names.most_common())


def short_name(name: str | None) -> str:
    """`NVIDIA H100 80GB HBM3` → `H100 80G`."""
    words = (name or "GPU").removeprefix("NVIDIA ").removeprefix("GeForce ").split()
    return " ".join(word.removesuffix("B") if word.endswith("GB") else word for word in words if not word.startswith("HBM"))
