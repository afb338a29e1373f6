"""A process beside a run prints into its log for ever: it is neither the life of the run nor its end."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.records.log import LogLine, Progress
from hangtop.records.process import Process, Writer
from hangtop.records.stack import Excerpt, Frame, Loop, Stack, Thread
from hangtop.records.verdict import Verdict
from hangtop.stacks.loop_exits import loop_at
from tests.fakes.members import IDLE, LOCK, NOW, SPEC, process, run

BEAT = "[agent] node ok, load 0.31, up 81 s"
SHELL = Process(50, 1.0, 5, 1, "bash", "bash pod.sh", "S", role="other")
AGENT = Process(60, 1.0, 6, 50, "python", "python side.py", "S", role="other", recent=IDLE)
TRAIN = replace(process(0), role="other", rank=None, world=None, ppid=50)
SLEEPS = Thread("MainThread", (Frame("<module>", "/home/me/side.py", 4),), 60, state="S", wait="sleep")


def said(
    *lines: str, loop: Loop | None = "beats", trainer: bool = False, in_course: bool = True, threads: int = 1, **more: object
) -> Verdict:
    """The log ends in `lines` and what the agent prints every two seconds. `trainer`: it lives, and stands before a lock."""
    processes = (SHELL, AGENT, *([TRAIN] if trainer else []))
    state = run({0: LOCK} if trainer else {}, processes, silence_s=60.0)
    assert state.log is not None
    assert state.procs is not None
    log = replace(state.log, stages=(), plan=(), progress=Progress(step=40), **more)
    log = replace(
        log, news_at=NOW - (200 if trainer else 60), last_output_at=NOW - 1, repeats=BEAT, beat_s=2.0, beats_in_course=in_course
    )
    tail = tuple(LogLine(0, 10 * number, None, None, "", text) for number, text in enumerate((BEAT, *lines, BEAT, BEAT)))
    lives = Stack(60, NOW, (SLEEPS,) * threads, started_ticks=6)
    excerpts = () if loop is None else (Excerpt("/home/me/side.py", 4, ("time.sleep(2)",), at=4, loop=loop),)
    looks = tuple(replace(look, stacks=(*look.stacks, lives), excerpts=excerpts) for look in state.looks)
    writers = tuple(Writer(each.pid, 1.0, each.name, each.command, paths=("/out/train.log",)) for each in processes)
    return diagnose(
        replace(state, log=log, looks=looks, tail=tail, ranks={}, procs=replace(state.procs, writers=writers, sought=True)),
        SPEC,
        NOW,
    )


def test_when_only_a_sidecar_is_left_the_last_words_of_the_run_tell_of_its_end() -> None:
    assert said("it 40 loss 0.3", "training complete").word == "finished"
    assert said("it 40 loss 0.3", "ValueError: loss is nan").word == "crashed"
    assert said("it 38 loss 0.4", "it 39 loss 0.4", "it 40 loss 0.3").word == "crashed", "without a word"


def test_beside_a_run_that_stands_the_lines_of_a_sidecar_are_no_life() -> None:
    assert (told := said("it 40 loss 0.3", trainer=True)).word == "hung"
    assert "load_shard" in told.headline


@pytest.mark.parametrize("loop", ["rounds", "asks", "takes", "none", None])
def test_what_may_do_more_than_print_is_no_sidecar(loop: Loop | None) -> None:
    assert said("it 40 loss 0.3", "training complete", loop=loop).word in ("running", "slow")


def test_who_may_have_made_the_steps_itself_is_no_sidecar() -> None:
    assert said("it 40 loss 0.3", in_course=False).word in ("running", "slow"), "its lines began after the last step"
    assert said("it 40 loss 0.3", threads=2).word in ("running", "slow"), "another thread of it may have made them"


PRINTS = "import os, time\nfrom json import dumps\nwhile True:\n{}    time.sleep(2)\n"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("    print(f'load {os.getloadavg()[0]:.1f}', flush=True)\n", "beats"),
        ("    line = {'at': time.time()}\n    print(dumps(line))\n", "beats"),
        ("    log.info('alive for %d s', time.monotonic() - began)\n", "beats"),
        ("    step()\n", "rounds"),
        ("    trainer.step()\n", "rounds"),
        ("    os.system('python train.py')\n", "rounds"),
        ("    if ready:\n        print('trains')\n", "rounds"),
        ("    print('idle' if ready else 'busy')\n", "rounds"),
        ("    print(jobs.get())\n", "takes"),
    ],
)
def test_a_loop_that_only_prints_is_told_from_its_source(body: str, says: str) -> None:
    source = PRINTS.format(body)
    assert loop_at(source, source.count("\n")) == says
    assert loop_at(source.replace("while True", "while not done"), source.count("\n")) != "beats", "it may be left"
