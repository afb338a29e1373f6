"""Which of the step lines that writers told count now: of this attempt, by a profile in use, the most specific one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from hangtop.logs.attempts import IsPresent
from hangtop.logs.catalog.profile import Profile
from hangtop.logs.file_facts import ProgressSeen


def specific(profiles: Sequence[Profile]) -> dict[str, bool]:
    """The profiles whose progress lines count, and whether each is more than a base profile. Lines that a refining profile shares
    have the name of the profile that it refines."""
    return {name: not profile.base for profile in profiles for name in (profile.refines, profile.name) if name}


def best_of(told: Sequence[ProgressSeen], place: Mapping[str, bool]) -> ProgressSeen | None:
    """The step line that counts, of those that are `counted`: the newest by the most specific profile. A newer line of another
    kind counts instead if it tells the same steps, up to the same total."""
    steps = [seen for seen in told if seen.step is not None]
    if len(steps) <= 1:
        return steps[0] if steps else None
    best = max(steps, key=lambda step: (place[step.profile], not step.coarse, step.offset, step.step or 0.0))
    newest = max(steps, key=lambda step: step.offset)
    return newest if newest.total is not None and newest.total == best.total else best


def metrics_of(told: Sequence[ProgressSeen]) -> dict[str, float | None]:
    """The newest value of each metric in lines that are `counted`; `None` if it is not finite."""
    if len(told) > 1:
        told = sorted(told, key=lambda seen: seen.offset)
    return {name: value if math.isfinite(value) else None for seen in told for name, value in seen.metrics.items()}


def counted(progress: Iterable[ProgressSeen], is_present: IsPresent, place: Mapping[str, bool]) -> list[ProgressSeen]:
    """The lines that count: of this attempt, by a profile in use."""
    return [seen for seen in progress if seen.counts and seen.profile in place and is_present(seen.offset, seen.at)]
