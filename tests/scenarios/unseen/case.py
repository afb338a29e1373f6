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
from tempfile import TemporaryDirectory

import msgspec

from tests.scenarios.unseen.catalog import HERE
from tests.scenarios.unseen.inject import Plan, plan
from tests.scenarios.unseen.place import Place
from tests.scenarios.unseen.truth import Run, Truth, Victim, prove
from tests.scenarios.unseen.watch import LogWatch, become_reaper, end_all, left_over, reap

STALL_S = 8.0
START_S = 150.0
CHECK_LIMIT_S = 120.0
SILENT_AT_LAST_S = 60.0
SHORT_RUN_STEPS = 24


class Record(msgspec.Struct, frozen=True):
    """What came of one case."""

    name: str
    seed: int
    label: str | None
    why: str
    verdicts: tuple[str, ...]
    culprits: tuple[tuple[int | None, int | None], ...] | None
    said: str | None
    said_culprits: tuple[tuple[int | None, int | None], ...]
    headline: str
    seconds: float
    """That the answer took."""
    inside: dict[str, object]
    """What the run was; not for those who write rules."""


class Unfit(Exception):
    """The run never came to its question."""


@dataclass
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
        if not file.exists():
            return None
        told = json.loads(file.read_text(encoding="utf-8"))
        return Victim(told["pid"], told["rank"], told["time"])

    def helper(self) -> int | None:
        file = self.place.control / "helper.json"
        return json.loads(file.read_text(encoding="utf-8"))["pid"] if file.exists() else None


def play(made: Plan, *, ask: bool) -> Record:
    """Start the run, ask hangtop at the right moment, watch until the truth is known, end it all."""
    with TemporaryDirectory(prefix="run-") as folder, TemporaryDirectory(prefix="ctl-") as control:
        place = Place(made.program, Path(folder), Path(control))
        try:
            stage = _begin(made, place)
            try:
                _wait_for_moment(stage)
            except Unfit as problem:
                return _record(made, Truth(None, str(problem)), None, stage.victim())
            ended, left, asked = stage.main.poll() is not None, left_over({stage.far.pid}), time.time()
            answer = _check(place.log) if ask else None
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
        finally:
            end_all()


def _begin(made: Plan, place: Place) -> Stage:
    argv = [sys.executable, str(HERE / "far_side.py"), str(made.rate)]
    far = subprocess.Popen(argv, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, start_new_session=True)
    assert far.stdout is not None
    port = int(far.stdout.readline())
    place.fill(made.text, {"port": port, "key": made.key, "hit": made.hit, "lasting": made.kind.lasting})
    if made.earlier:
        place.log.write_text("\n".join(made.earlier) + "\n", encoding="utf-8")
    watch = LogWatch(place.log, made.program.step)
    steps = SHORT_RUN_STEPS if made.kind.means == "finished" and not made.kind.changes else None
    return Stage(made, place, far, place.begin(made.launch, steps), watch)


def _wait_for_moment(stage: Stage) -> None:
    """Until hangtop may be asked about this run.

    Raises `Unfit` where that does not come.
    """
    ends, fired_at, ended_at, silent_at = time.time() + START_S, 0.0, 0.0, 0.0
    while time.time() < ends:
        stage.tick()
        steps, now = stage.watch.look(), time.time()
        if not fired_at and _has_come(stage, steps):
            fired_at = now
            ends = now + SILENT_AT_LAST_S + stage.plan.wait_s
        if not ended_at and stage.main.poll() is not None:
            if not fired_at:
                raise Unfit(f"ended with {stage.main.poll()} before its fault")
            ended_at = now
        if ended_at and now - ended_at > stage.plan.wait_s / 2:
            return
        if fired_at and not ended_at:
            silent = stage.watch.silent_s() > STALL_S + 0.2
            silent_at = (silent_at or now) if silent else 0.0
            if silent_at and now - silent_at > stage.plan.wait_s / 4:
                return
            if stage.plan.kind.means == "alive" and now - fired_at > stage.plan.wait_s and not silent:
                return
            if stage.plan.kind.talks and now - max(fired_at, stage.watch.last_step) > STALL_S + stage.plan.wait_s:
                return
            if stage.plan.kind.needs == "message" and now - fired_at > 40:
                return
        time.sleep(0.1)
    raise Unfit("the log went on after a fault that was to end it" if fired_at else "its fault never came")


def _has_come(stage: Stage, steps: int) -> bool:
    """Whether the fault is there; without one, whether the run has warmed up, or is over."""
    if stage.plan.kind.changes:
        return stage.victim() is not None
    if stage.plan.kind.means == "finished":
        return stage.main.poll() is not None
    return steps >= 6 * stage.plan.program.printers


@dataclass(frozen=True)
class Answer:
    """What hangtop said."""

    verdict: str
    culprits: tuple[tuple[int | None, int | None], ...]
    headline: str
    seconds: float


def _check(log: Path) -> Answer:
    began = time.monotonic()
    argv = [sys.executable, "-m", "hangtop", "check", "--log", str(log), "--stall", f"{STALL_S:g}", "--json"]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=CHECK_LIMIT_S, check=False)
        said = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, json.JSONDecodeError) as problem:
        return Answer("none", (), str(problem), time.monotonic() - began)
    culprits = tuple((culprit.get("rank"), culprit.get("pid")) for culprit in said["culprits"])
    return Answer(said["verdict"], culprits, said.get("headline", ""), time.monotonic() - began)


def _record(made: Plan, truth: Truth, answer: Answer | None, victim: Victim | None) -> Record:
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
        name=made.name,
        seed=made.seed,
        label=truth.label,
        why=truth.why,
        verdicts=truth.verdicts,
        culprits=truth.culprits,
        said=answer.verdict if answer else None,
        said_culprits=answer.culprits if answer else (),
        headline=answer.headline if answer else "",
        seconds=answer.seconds if answer else 0.0,
        inside=inside,
    )


def main() -> None:
    """Play the case of one seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("--verify", action="store_true", help="do not ask hangtop")
    given = parser.parse_args()
    become_reaper()
    with suppress(BrokenPipeError):
        print(msgspec.json.encode(play(plan(given.seed), ask=not given.verify)).decode(), flush=True)


if __name__ == "__main__":
    main()
