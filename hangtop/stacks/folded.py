"""What processes were in over a while: samples of whole stacks, counted. Pure.

The format is that of Brendan Gregg's `stackcollapse` scripts (frames with semicolons, outermost first, a count behind them),
as `py-spy record --format raw --threads` writes it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from hangtop.common.clean_text import clean_text

_THREAD = re.compile(r"^thread \((?P<tid>\d+|0x[0-9A-Fa-f]+)\)(?:: (?P<name>.*))?$")
SELDOM = 0.05
"""A frame with a smaller share of a process's samples is one that it passes."""
SPEEDSCOPE = "https://www.speedscope.app/file-format-schema.json"


class Profile(Struct, frozen=True):
    """One process. `stacks`: samples of its main thread by frames, outermost first; `others`: of its other threads, whose name
    stands before their frames. `problem`: why there are none. `name`: `rank 3`, else `pid 812`."""

    name: str
    pid: int
    stacks: Mapping[tuple[str, ...], int]
    others: Mapping[tuple[str, ...], int] = {}
    problem: str | None = None

    @property
    def samples(self) -> int:
        """Of the main thread."""
        return sum(self.stacks.values())

    def innermost(self) -> list[tuple[str, float]]:
        """The innermost frames of the main thread with their share of its samples, the most seen first."""
        counts: Counter[str] = Counter()
        for frames, count in self.stacks.items():
            counts[frames[-1]] += count
        return [(frame, count / self.samples) for frame, count in counts.most_common()]


def parse(name: str, pid: int, text: str) -> Profile:
    """The profile in the lines of a recording."""
    main: Counter[tuple[str, ...]] = Counter()
    others: Counter[tuple[str, ...]] = Counter()
    for line in text.splitlines():
        words, _, count = line.rpartition(" ")
        frames = tuple(clean_text(frame) for frame in words.split(";") if frame)
        if not frames or not count.isdigit():
            continue
        thread = _THREAD.match(frames[0])
        if thread is None:
            main[frames] += int(count)
        elif thread["tid"] == str(pid) or thread["name"] == "MainThread":
            main[frames[1:] or ("?",)] += int(count)
        else:
            others[(thread["name"] or "thread", *frames[1:])] += int(count)
    return Profile(name, pid, main, others)


def odd_first(profiles: Sequence[Profile]) -> list[Profile]:
    """Those that were least where the others were come first: by the part of its samples in frames in which fewer than half of
    all processes were seen more than now and then. Of two alike the order stays."""
    seen = [{frame for frame, share in each.innermost() if share > SELDOM} for each in profiles]
    usual = {frame for frames in seen for frame in frames if sum(frame in each for each in seen) * 2 > len(seen)}

    def odd(profile: Profile) -> float:
        return sum(share for frame, share in profile.innermost() if frame not in usual)

    return sorted(profiles, key=lambda each: -round(odd(each), 1))


def speedscope(profiles: Iterable[Profile], interval_s: float, title: str) -> dict[str, Any]:
    """All processes as a file of speedscope, one profile each (its schema: `SPEEDSCOPE`)."""
    places: dict[str, int] = {}
    made: list[dict[str, Any]] = []
    for profile in profiles:
        stacks = [*profile.stacks.items(), *profile.others.items()]
        samples = [[places.setdefault(frame, len(places)) for frame in frames] for frames, _ in stacks]
        weights = [round(count * interval_s, 6) for _, count in stacks]
        made.append(
            {
                "type": "sampled",
                "name": profile.name,
                "unit": "seconds",
                "startValue": 0,
                "endValue": sum(weights),
                "samples": samples,
                "weights": weights,
            }
        )
    shared = {"frames": [{"name": frame} for frame in places]}
    return {"$schema": SPEEDSCOPE, "name": title, "exporter": "hangtop", "shared": shared, "profiles": made}
