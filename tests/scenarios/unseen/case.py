"""One run from its start to its proof: `python -m tests.scenarios.unseen.case SEED [--verify]` prints one line of JSON."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tests.scenarios.case import STALL_S, said_by_check
from tests.scenarios.unseen.catalog import GROUPS, HERE
from tests.scenarios.unseen.inject import PLAIN, Plan, name_of, plan
from tests.scenarios.unseen.place import START_S, Place, place_for
from tests.scenarios.unseen.truth import Named, Run, Truth, Victim, prove
from tests.scenarios.unseen.watch import LogWatch, become_reaper, left_over, reap

SILENT_AT_LAST_S = 60.0
"""A log that goes on for so long after the fault will not fall silent: a choice."""
MISSED_S = 40.0
"""Nobody may miss a message that was left out; hangtop is asked then, as of a run like any other. A choice."""
WARM_STEPS = 6
"""Before hangtop is asked of a run with nothing wrong: a choice."""
SHORT_RUN_STEPS = 24
"""Of a run that is to come to its end: a choice, past all the statements that come once in a few steps."""


class Record(msgspec.Struct, frozen=True):
    """What came of one case."""

    name: str
    seed: int
    label: str | None
    why: str
    verdicts: tuple[str, ...]
    culprits: tuple[Named, ...] | None
    said: str | None
    said_culprits: tuple[Named, ...]
    headline: str
    seconds: float
    """That the answer took."""
    inside: dict[str, object]
    """What the run was; not for those who write rules."""


@dataclass(frozen=True)
class Answer:
    """What hangtop said."""

    verdict: str | None
    culprits: tuple[Named, ...]
    headline: str
    seconds: float


NOT_ASKED = Answer(None, (), "", 0.0)


class Unfit(Exception):
    """The run never came to its question."""


@dataclass(frozen=True)
class Stage:
    """A run that plays: its place, its processes, what is seen of it."""

    plan: Plan
    place: Place
    far: subprocess.Popen[bytes]
    main: subprocess.Popen[bytes]
    watch: LogWatch

    def tick(self) -> None:
        reap({self.far.pid, self.main.pid})

    def victim(self) -> Victim | None:
        file = self.place.control / "fired.json"
        return msgspec.json.decode(file.read_bytes(), type=Victim) if file.exists() else None

    def helper(self) -> int | None:
        file = self.place.control / "helper.json"
        return json.loads(file.read_bytes())["pid"] if file.exists() else None


def play(made: Plan, *, ask: bool) -> Record:
    """Start the run, ask hangtop at the right moment, watch until the truth is known, end it all."""
    with place_for(made.program) as place:
        stage = _begin(made, place)
        try:
            _wait_for_moment(stage)
        except Unfit as problem:
            return _record(made, Truth(None, str(problem)), NOT_ASKED, stage.victim())
        ended, left, asked = stage.main.poll() is not None, left_over({stage.far.pid}), time.time()
        answer = _check(place.log) if ask else NOT_ASKED
        run = Run(
            plan=made,
            main=stage.main,
            watch=stage.watch,
            victim=stage.victim(),
            helper=stage.helper(),
            asked=asked,
            steps_then=stage.watch.look(),
            ended_before=ended,
            left_over=left,
        )
        return _record(made, prove(run, stage.tick), answer, run.victim)


def _begin(made: Plan, place: Place) -> Stage:
    argv = [sys.executable, str(HERE / "far_side.py"), str(made.rate)]
    far = subprocess.Popen(argv, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, start_new_session=True)
    assert far.stdout is not None
    port = int(far.stdout.readline())
    place.fill(made.text, {"port": port, "key": made.key, "hit": made.hit, "lasting": made.kind.lasting})
    if made.earlier:
        place.log.write_text("\n".join(made.earlier) + "\n", encoding="utf-8")
    watch = LogWatch(place.log, made.program.step, redrawn=made.program.redrawn)
    steps = SHORT_RUN_STEPS if made.kind.means == "finished" and not made.kind.changes else None
    return Stage(made, place, far, place.begin(made.launch, steps), watch)


def _wait_for_moment(stage: Stage) -> None:
    """Until hangtop may be asked about this run.

    Raises `Unfit` where that does not come.
    """
    fired_at = _wait_for_fault(stage)
    ends = fired_at + SILENT_AT_LAST_S + stage.plan.wait_s
    ended_at = silent_at = 0.0
    while (now := time.time()) < ends:
        stage.tick()
        stage.watch.look()
        if stage.main.poll() is not None:
            ended_at = ended_at or now
            if now - ended_at > stage.plan.wait_s / 2:
                return
        else:
            silent = stage.watch.silent_s() > STALL_S + 0.2
            silent_at = (silent_at or now) if silent else 0.0
            if silent and now - silent_at > stage.plan.wait_s / 4:
                return
            if _may_be_asked_aloud(stage, now, fired_at, silent=silent):
                return
        time.sleep(0.1)
    raise Unfit("the log went on after a fault that was to end it")


def _wait_for_fault(stage: Stage) -> float:
    """When the fault was seen to be there; without one, when the run had warmed up, or was over.

    Raises `Unfit` where that does not come.
    """
    ends = time.time() + START_S
    while time.time() < ends:
        stage.tick()
        code = stage.main.poll()  # asked first: what ends a run at once has left its note by then
        if _has_come(stage):
            return time.time()
        if code is not None:
            raise Unfit(f"ended with {code} before its fault")
        time.sleep(0.1)
    raise Unfit("its fault never came")


def _has_come(stage: Stage) -> bool:
    steps = stage.watch.look()
    if stage.plan.kind.changes:
        return stage.victim() is not None
    if stage.plan.kind.means == "finished":
        return stage.main.poll() is not None
    return steps >= WARM_STEPS * stage.plan.program.printers


def _may_be_asked_aloud(stage: Stage, now: float, fired_at: float, *, silent: bool) -> bool:
    """Whether the moment has come in a run whose log goes on."""
    kind, wait_s = stage.plan.kind, stage.plan.wait_s
    if kind.means == "alive" and not silent and now - fired_at > wait_s:
        return True
    if kind.talks and now - max(fired_at, stage.watch.last_step) > STALL_S + wait_s:
        return True
    return kind.leaves_out and now - fired_at > MISSED_S


def _check(log: Path) -> Answer:
    began = time.monotonic()
    try:
        said = said_by_check(log, STALL_S)
    except (subprocess.TimeoutExpired, RuntimeError, json.JSONDecodeError) as problem:
        return Answer("none", (), str(problem), time.monotonic() - began)
    culprits = tuple(Named(culprit.get("rank"), culprit.get("pid")) for culprit in said["culprits"])
    return Answer(said["verdict"], culprits, said.get("headline", ""), time.monotonic() - began)


def _record(made: Plan, truth: Truth, answer: Answer, victim: Victim | None) -> Record:
    inside: dict[str, object] = {
        "program": made.program.name,
        "kind": made.kind.name,
        "means": made.kind.means,
        "key": made.key,
        "hit": made.hit,
        "line": made.site.first_line if made.site else None,
        "launch": made.launch,
        "earlier": bool(made.earlier),
        "victim": (victim.rank, victim.pid) if victim else None,
    }
    return Record(
        name=name_of(made.seed),
        seed=made.seed,
        label=truth.label,
        why=truth.why,
        verdicts=truth.verdicts,
        culprits=truth.culprits,
        said=answer.verdict,
        said_culprits=answer.culprits,
        headline=answer.headline,
        seconds=answer.seconds,
        inside=inside,
    )


def main() -> None:
    """Play the case of one seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("--programs", choices=GROUPS, default=PLAIN)
    parser.add_argument("--verify", action="store_true", help="do not ask hangtop")
    given = parser.parse_args()
    become_reaper()
    with suppress(BrokenPipeError):
        print(msgspec.json.encode(play(plan(given.seed, group=given.programs), ask=not given.verify)).decode(), flush=True)


if __name__ == "__main__":
    main()
