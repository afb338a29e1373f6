"""The parts of a plan beyond stop, clean and start: evidence first, Ray started again, the look at the new run. Pure."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from hangtop.common import text
from hangtop.common.clean_words import clean_words
from hangtop.records.plan import EvidenceCommand, RayStart, Target, Watch
from hangtop.render.spans import Row


def errand_rows(errands: Sequence[EvidenceCommand]) -> Iterator[Row]:
    yield (("First", "ink bold"), (": evidence, while the run still hangs; what fails here holds nothing up", "muted"))
    for errand in errands:
        into = f" > {errand.output}" if errand.output else ""
        yield (
            (f"  {errand.title:<8} ", "ink"),
            (f"hangtop {shlex.join(errand.words)}{into}", "ink"),
            (f"  within {errand.deadline_s:.0f} s", "muted"),
        )


def waves(targets: Sequence[Target]) -> list[tuple[str, tuple[Target, ...]]]:
    """(what they are, who) in the order of their signals."""
    found = [tuple(wave) for _, wave in groupby(targets, key=lambda target: target.wave)]
    return [(", ".join(dict.fromkeys(_kind(target) for target in wave)), wave) for wave in found]


def ray_rows(starts: Iterable[RayStart], width: int) -> Iterator[Row]:
    for start in starts:
        what = "Ray is started" if start.head else "Ray joins"
        yield (
            (what, "ink bold"),
            (f": in {start.cwd}, within {start.deadline_s:.0f} s; environment as it was, kept in {start.environ_file}", "muted"),
        )
        for name, value in sorted(start.set_env.items()):
            yield (("  ", ""), (clean_words(f"{name}={shlex.quote(value)}"), "accent"))
        for number, line in enumerate(_wrapped(shlex.join(start.argv), width - 4)):
            yield (("    " if number else "  ", ""), (line, "ink"))


def watch_rows(watch: Watch) -> Iterator[Row]:
    where = f"stage {watch.title}" if watch.title else "its first stage"
    step = f" (it hung at step {watch.step})" if watch.step is not None else ""
    yield (
        ("Watched", "ink bold"),
        (f": until the new run has passed {where}{step}, for at most {text.duration(watch.deadline_s)}", "muted"),
    )


def _kind(target: Target) -> str:
    return "driver" if target.role.startswith("driver ") else target.role


def _wrapped(words: str, width: int) -> list[str]:
    return textwrap.wrap(words, max(20, width), break_on_hyphens=False)
