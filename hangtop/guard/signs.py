"""What may happen to a run beside its verdict, each told from what the state already knows. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Literal

from hangtop.common.median import median
from hangtop.common.text import metric, numbered, pace
from hangtop.diagnosis.facts.machine_evidence import full_disks, short_memory
from hangtop.diagnosis.snapshot import Snapshot

Sign = Literal["nan", "loss_jump", "slow_steps", "disk", "memory", "gpu_lost"]
TIMES_SLOWER = 2.0
"""A step takes this many times what it took."""
LEARNING = ("loss", "grad_norm")
LAST, BEFORE = 3, 30
"""A jump is that of the median of the last values over that of at least so many before them: one odd batch is none."""
JUMP, SPREADS = 1.5, 8.0
"""It is this many times as much, and so many median absolute deviations away (Hampel's identifier, far beyond its usual 3)."""
LOST = ("lost", "reset needed", "unknown error")


def signs(snapshot: Snapshot) -> dict[Sign, str]:
    """The signs that stand now, each with a sentence."""
    return {sign: said for sign, look in LOOKS.items() if (said := look(snapshot)) is not None}


def _nan(snapshot: Snapshot) -> str | None:
    values = snapshot.log.progress.metrics
    bad = [name for name in LEARNING if name in values and values[name] is None]
    return f"{' and '.join(bad)}: not a number" if bad else None


def _loss_jump(snapshot: Snapshot) -> str | None:
    values = [value for value in snapshot.log.progress.history.get("loss", ()) if value is not None and math.isfinite(value)]
    last, before = values[-LAST:], values[:-LAST]
    if len(before) < BEFORE:
        return None
    usual, now = median(before), median(last)
    spread = median([abs(value - usual) for value in before])
    jumped = now > JUMP * usual if usual > 0 else now > usual
    return f"the loss is {metric(now)}, it was {metric(usual)}" if jumped and now - usual > SPREADS * spread else None


def _slow_steps(snapshot: Snapshot) -> str | None:
    now_s, was = snapshot.log.pace.lately_s, snapshot.log.pace.was
    if now_s is None or was is None or now_s < TIMES_SLOWER * was.value:
        return None
    return f"a step takes {pace(now_s)} s, it took {pace(was.value)} s"


def _disk(snapshot: Snapshot) -> str | None:
    machine = snapshot.state.machine
    return None if machine is None else _all(full_disks(machine))


def _memory(snapshot: Snapshot) -> str | None:
    machine = snapshot.state.machine
    return None if machine is None else _all(short_memory(machine, snapshot.now))


def _gpu_lost(snapshot: Snapshot) -> str | None:
    found = [
        f"{f'{host}: ' if len(snapshot.state.gpus) > 1 else ''}{numbered('GPU', lost)} lost"
        for host, node in snapshot.state.gpus.items()
        if (lost := [gpu.index for gpu in node.reading.gpus if gpu.status in LOST])
    ]
    return _all(found)


def _all(lines: Iterable[str]) -> str | None:
    return "; ".join(lines) or None


LOOKS: dict[Sign, Callable[[Snapshot], str | None]] = {
    "nan": _nan,
    "loss_jump": _loss_jump,
    "slow_steps": _slow_steps,
    "disk": _disk,
    "memory": _memory,
    "gpu_lost": _gpu_lost,
}
