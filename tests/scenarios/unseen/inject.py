"""Which run a seed stands for: a program, a fault, and the process, statement and moment at which it comes.

`python -m tests.scenarios.unseen.inject PROGRAM --seed N` prints the changed program.
"""

from __future__ import annotations

import argparse
import random
from dataclasses import dataclass, replace

from tests.scenarios.unseen.catalog import CATALOG, GROUPS, Program, program
from tests.scenarios.unseen.faults import KINDS, Kind, Setting
from tests.scenarios.unseen.place import LAUNCHES
from tests.scenarios.unseen.sites import MESSAGES, Site, sites, with_statement, without_statement
from tests.scenarios.unseen.tracing import Trace, trace_of

A_BATCH = 1000
"""Seeds of one batch."""
PLAIN = "plain"


@dataclass(frozen=True)
class Plan:
    """All that is decided before a run begins."""

    seed: int
    program: Program
    kind: Kind
    key: str
    site: Site | None
    hit: int
    seconds: float
    rate: int
    text: str
    """The source of the changed program."""
    launch: str
    earlier: tuple[str, ...]
    """Log lines of an attempt before this one, which crashed."""
    wait_s: float
    """How long after the fault, or after the silence, hangtop is asked."""


def name_of(seed: int) -> str:
    """Batch and number."""
    return f"{seed // A_BATCH}-{seed % A_BATCH:03d}"


def program_of(seed: int, group: str = PLAIN) -> Program:
    """The program of the run of this seed; all of a group come in turn, in an order of the batch."""
    batch, number = divmod(seed, A_BATCH)
    known = GROUPS[group]
    order = _chance("programs", group, batch).sample(known, len(known))
    return order[number % len(known)]


def plan(seed: int, wanted: Program | None = None, group: str = PLAIN) -> Plan:
    """The run of this seed. Every second one is alive; kinds of a batch come in turn, as its programs do."""
    chosen = wanted or program_of(seed, group)
    chance = random.Random(seed if group == PLAIN else f"{group} {seed}")
    trace = trace_of(chosen)
    kind = _kind(seed, group, chosen, trace)
    source = chosen.path.read_text(encoding="utf-8")
    seconds, rate = chance.uniform(45, 70), chance.choice([2000, 4000, 8000, 16000])
    common = Plan(
        seed=seed,
        program=chosen,
        kind=kind,
        key="",
        site=None,
        hit=0,
        seconds=seconds,
        rate=rate,
        text=source,
        launch=chance.choice(LAUNCHES),
        earlier=_earlier(trace, chance) if chance.random() < 0.2 and not chosen.writes_own_log else (),
        wait_s=chance.uniform(3, 20),
    )
    if not kind.changes:
        return common
    return _with_fault(common, trace, chance)


def _with_fault(common: Plan, trace: Trace, chance: random.Random) -> Plan:
    """Choose the process first, then one of its statements, then one of the times that it comes by."""
    source, kind = common.text, common.kind
    known = sites(source)
    keys = {key: _fitting(kind, known, window) for key, window in sorted(trace.windows.items())}
    key = chance.choice([key for key, fitting in keys.items() if fitting])
    site = chance.choice(keys[key])
    low, high = trace.windows[key][site.number]
    hit = chance.randint(low + 1, high)
    if kind.lines is None:
        text = without_statement(source, site)
    else:
        rate = (high - low) * trace.step_s / 8.0
        text = with_statement(source, site, kind.lines(Setting(site, common.seconds, common.rate, rate, chance)))
    return replace(common, key=key, site=site, hit=hit, text=text)


def _chance(what: str, group: str, batch: int, *more: object) -> random.Random:
    """What is decided for a whole batch. The plain programs were there first, so that their group has no name in it."""
    words = (what, *(() if group == PLAIN else (group,)), batch, *more)
    return random.Random(" ".join(map(str, words)))


def _kind(seed: int, group: str, chosen: Program, trace: Trace) -> Kind:
    """The kind of the case of this seed; the next one that can be had in this program."""
    batch, number = divmod(seed, A_BATCH)
    lives = number % 2 == 0
    kinds = [kind for kind in KINDS if (kind.means == "alive") == lives]
    turn, place = divmod(number // 2, len(kinds))
    order = _chance("kinds", group, batch, turn, lives).sample(kinds, len(kinds))
    for kind in (*order[place:], *order[:place]):
        known = sites(chosen.path.read_text(encoding="utf-8"))
        fits = any(_fitting(kind, known, window) for window in trace.windows.values())
        if fits and (kind.needs != "torch" or chosen.has_torch):
            return kind
    raise ValueError(f"no kind fits {chosen.name}")


def _fitting(kind: Kind, known: tuple[Site, ...], window: dict[int, tuple[int, int]]) -> list[Site]:
    seen = [site for site in known if site.number in window]
    return [site for site in seen if kind.needs != "message" or site.call in MESSAGES]


def _earlier(trace: Trace, chance: random.Random) -> tuple[str, ...]:
    """The log of an attempt that crashed, in the words of this program."""
    error = chance.choice(["RuntimeError: DataLoader worker exited unexpectedly", "OSError: [Errno 5] Input/output error"])
    place = f'  File "/srv/jobs/train.py", line {chance.randint(40, 200)}, in main'
    trouble = ("Traceback (most recent call last):", place, "    batch = next(batches)", error)
    return (*trace.sample[: chance.randint(2, 8)], *trouble)


def main() -> None:
    """Print a changed program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", choices=[known.name for known in CATALOG])
    parser.add_argument("--seed", type=int, required=True)
    given = parser.parse_args()
    wanted = program(given.program)
    made = plan(given.seed, wanted, next(group for group, known in GROUPS.items() if wanted in known))
    print(f"# {made.kind.name} ({made.kind.means}); process {made.key}; the {made.hit}th time\n{made.text}")


if __name__ == "__main__":
    main()
