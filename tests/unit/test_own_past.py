"""What a run tells of itself beside its verdict: never another verdict, and nothing of a run that goes as it always did."""

from __future__ import annotations

import time
from types import MappingProxyType

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.facts.learning_hints import learning_hints
from hangtop.diagnosis.facts.own_past import beside_verdict, shares
from hangtop.diagnosis.facts.stage_shares import stage_shares
from hangtop.diagnosis.judge import diagnose
from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.records.gpu import Gpu, GpuProcess, GpuReading, GpuTrack, NodeGpus
from hangtop.records.host import HostReading
from hangtop.records.log import LogFile, LogReading, Pace, Progress, StageEvent, StagePlan
from hangtop.records.process import ProcessReading
from hangtop.records.reading import Reading
from hangtop.records.samples import Samples
from hangtop.records.stack import Frame, Stack, StacksReading, Thread
from hangtop.records.step_times import PartTime, StepTimes, Was
from hangtop.stacks.step_parts import parts_seen
from hangtop.state.run_state import RunState, fold
from tests.fakes.members import ALL_REDUCE, DATA, LOCK, NOW, SAVE, SPEC, USER, four, process, thread

GREW = StepTimes((PartTime("generation", 0.62, 31.0, Was(0.31, 800), 9.0), PartTime("training", 0.2, 10.0)), told=60)
LOG = LogReading(files=(LogFile("train.log"),), bytes=9, last_output_at=NOW - 2, progress=Progress(step=900, total=2000))


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def told(log: LogReading, *, slow: bool = False, **state: object) -> list[str]:
    snapshot = take_snapshot(RunState(log=log, **state), SPEC, NOW)  # type: ignore[arg-type]
    return [fact.text for fact in beside_verdict(snapshot, slow=slow)]


def test_the_part_that_grew_is_told_beside_a_run_that_goes_on() -> None:
    verdict = diagnose(RunState(log=replace(LOG, step_times=GREW)), SPEC, NOW)
    line = "62 % of the step is generation, it was 31 % until step 800 (31.0 s, before 9.0 s)"
    assert (verdict.word, [fact.text for fact in verdict.evidence]) == ("running", [line])


@pytest.mark.parametrize(
    "part",
    [
        PartTime("generation", 0.62, 31.0),
        PartTime("generation", 0.62, 31.0, Was(0.55, 800), 20.0),
        PartTime("generation", 0.62, 31.0, Was(0.31, 800), 30.0),
        PartTime("generation", 0.31, 9.0, Was(0.62, 800), 31.0),
    ],
    ids=["it always did", "a little more", "another part got faster", "it got less"],
)
def test_nothing_is_told_where_no_part_grew(part: PartTime) -> None:
    assert told(replace(LOG, step_times=StepTimes((part,), told=60))) == []


def test_a_slow_run_is_told_where_its_time_goes_though_nothing_changed() -> None:
    usual = StepTimes((PartTime("generation", 0.62, 31.0), PartTime("data", 0.2, 10.0)), told=60)
    assert told(replace(LOG, step_times=usual), slow=True) == ["of a step: generation 62 %, loading of data 20 %"]


def look(number: int, threads: dict[int, Thread], *, done: bool = True) -> StacksReading:
    stacks = tuple(Stack(100 + rank, NOW, (main,), rank=rank) for rank, main in threads.items())
    return StacksReading(number, stacks=stacks, started_at=NOW - 600 + number, done=done)


def test_a_log_without_times_is_told_by_where_its_ranks_were_seen() -> None:
    """In looks at their stacks, long ago too; a look that is not done yet, and one told in parts, count once."""
    state = replace(four(LOCK, silence_s=100.0), looks=())
    for number in range(8):
        waits = {0: ALL_REDUCE, 1: ALL_REDUCE, 2: DATA if number % 2 else SAVE, 3: ALL_REDUCE}
        state = fold(state, Reading("stacks", "n1", NOW, look(number, waits, done=False)))
        assert len(state.seen_in) == number
        state = fold(state, Reading("stacks", "n1", NOW, replace(look(number, {}), asked=(100,))))
        state = fold(state, Reading("stacks", "n1", NOW, replace(look(number, {}), excerpts=())))
    line = "in 8 looks the ranks were in: synchronisation 75 %, saving 12 %, loading of data 12 %"
    snapshot = take_snapshot(state, SPEC, NOW)
    assert [fact.text for fact in shares(snapshot)] == [line]
    assert shares(take_snapshot(replace(state, seen_in=state.seen_in[:5]), SPEC, NOW)) == ()
    slower = replace(LOG, pace=Pace(80, 2.0, 3.0, 3.0, 2.0, 1.0, 9.0, Was(2.0, 40)))
    beside = beside_verdict(take_snapshot(replace(state, log=slower), SPEC, NOW), slow=False)
    assert [(fact.text, fact.page) for fact in beside][:1] == [(line, "slow_network")]
    assert beside_verdict(take_snapshot(replace(state, log=LOG), SPEC, NOW), slow=False) == ()


@pytest.mark.parametrize(
    ("frames", "part"),
    [
        ((Frame("_try_get_data", "/v/site-packages/torch/utils/data/dataloader.py", 1),), "data"),
        ((Frame("step", "/v/site-packages/torch/optim/adamw.py", 1), Frame("train", USER, 2)), "optimizer"),
        ((Frame("linear", "/v/site-packages/torch/nn/modules/linear.py", 1), Frame("train", USER, 2)), "forward"),
        ((Frame("generate_sequences", USER, 1),), "generation"),
        ((Frame("count_up", USER, 1),), "other"),
    ],
)
def test_the_part_of_a_step_by_the_frames(frames: tuple[Frame, ...], part: str) -> None:
    assert parts_seen(look(1, {0: thread(*frames, state="R")})) == {100: part}


def test_what_the_whole_machine_waits_for_is_told_of_a_slow_run_alone() -> None:
    machine = HostReading(8, memory_stall_percent=22.5, io_stall_percent=40.0, swap_used_bytes=12 << 30)
    lines = told(LOG, slow=True, machine=machine)
    assert lines == [
        "memory pressure: nobody could work for 20 % of the last minute, 12.0 G swapped out",
        "disks: nobody could work for 40 % of the last minute for want of them",
    ]
    assert told(LOG, machine=machine) == []
    heavy = StepTimes((PartTime("data", 0.9, 8.0, of_time=0.9),), told=60, step_s=8.9)
    assert told(replace(LOG, step_times=heavy), machine=machine) == ["90 % of the step is loading of data (8.0 of 8.9 s)", *lines]
    assert told(LOG, slow=True, machine=replace(machine, memory_stall_percent=1.0, io_stall_percent=None)) == []


def test_steps_that_take_longer_are_told_behind_the_part_that_explains_them() -> None:
    pace = Pace(steps=900, p50_s=4.0, lately_s=12.0, was=Was(4.0, 810, about=True))
    lines = told(replace(LOG, pace=pace, step_times=GREW))
    assert lines[1] == "a step takes 12.0 s, it took 4.0 s until about step 810"
    assert told(replace(LOG, pace=replace(pace, lately_s=5.0))) == []


def test_tokens_a_second_against_the_past_and_where_generation_takes_most() -> None:
    times = StepTimes(tokens_s=80.0, tokens_were=Was(410.0, until_at=NOW - 600))
    assert "80 tokens a second, it was 410 until" in told(replace(LOG, step_times=times))[0]
    mostly = StepTimes((PartTime("generation", 0.7, 31.0),), told=60, tokens_s=80.0)
    assert told(replace(LOG, step_times=mostly)) == ["generation takes 70 % of the step, at 80 tokens a second"]
    assert told(replace(LOG, step_times=StepTimes(tokens_s=80.0))) == []  # a server for one reader is no slow step


@pytest.mark.parametrize(
    ("history", "said"),
    [
        ({"grad_norm": (0.3, *[0.0] * 20)}, "the gradient norm is 0 in the last 20 step lines"),
        ({"grad_norm": tuple([0.0] * 5)}, ""),
        ({"loss": tuple([0.6931] * 60)}, "the loss is 0.693 in each of the last 60 step lines"),
        ({"loss": tuple([2.3] * 120)}, ""),
        ({"loss": tuple([0.0] * 120), "grad_norm": tuple([0.2] * 120)}, ""),
        ({"loss": (*[0.6931] * 60, 0.6930)}, ""),
        ({"loss": tuple([None] * 120)}, ""),
        ({"reward": tuple([0.4125] * 60), "grad_norm": tuple([0.2] * 60)}, "may still generate with old weights"),
        ({"reward": tuple([0.0] * 120), "grad_norm": tuple([0.2] * 120)}, ""),
    ],
    ids=["gradient", "few", "loss", "few digits", "GRPO", "moved", "NaN", "reward", "no reward yet"],
)
def test_signs_that_nothing_is_learned(history: dict[str, tuple[float | None, ...]], said: str) -> None:
    hints = [fact.text for fact in learning_hints(Progress(step=900, history=history))]
    assert (said in " ".join(hints)) if said else hints == []


def rounds(count: int) -> tuple[StageEvent, ...]:
    """Rollout 60 s, training 30 s, sync 10 s."""
    events = [StageEvent("config", "config", "x", 0, 0, NOW - 9_000, NOW - 8_000)]
    for number in range(count):
        at = NOW - 5_000 + 100 * number
        events += [
            StageEvent("rollout", "rollout", "x", 0, 9, at, at + 60),
            StageEvent("train_loop", "training", "x", 0, 9, at + 60, at + 90),
            StageEvent("weight_sync", "weight sync", "x", 0, 9, at + 90, at + 100),
        ]
    return tuple(events)


def test_shares_by_stages_where_the_log_tells_no_times() -> None:
    shares = {title: round(share, 3) for title, share in stage_shares(replace(LOG, stages=rounds(5))).items()}
    assert shares == {"rollout": 0.6, "training": 0.3, "weight sync": 0.1}
    assert stage_shares(replace(LOG, stages=rounds(2))) == {}


@pytest.mark.parametrize(("since_s", "step", "said"), [(700, None, True), (500, None, False), (700, 3, False)])
def test_a_stage_of_the_start_that_takes_far_longer_than_elsewhere(since_s: int, step: int | None, said: bool) -> None:
    stage = StageEvent("dataset", "dataset", "gkd", 0, 9, NOW - since_s)
    log = replace(LOG, progress=Progress(step=step), stages=(stage,), plan=(StagePlan("dataset", "dataset", typical_s=60.0),))
    assert any("in dataset since" in line for line in told(log)) is said


def gpu(index: int, **values: object) -> Gpu:
    mine = (GpuProcess(100 + index, 20 << 30),)
    known = {"util_percent": 97.0, "memory_util_percent": 40.0, "power_w": 600.0, "limit_w": 700.0, "used_bytes": 20 << 30}
    return Gpu(index, "ok", read_at=NOW, processes=mine, **{**known, **values})  # type: ignore[arg-type]


def with_gpus(*percent: float, minutes: float = 5.0, **of_last: object) -> dict[str, object]:
    """Ranks 0, 1, … on GPUs that were used so much."""
    last = len(percent) - 1
    gpus = tuple(gpu(i, util_percent=mean, **(of_last if i == last else {})) for i, mean in enumerate(percent))
    slots = int(6 * minutes)
    first = int(NOW // 10) - slots + 1
    tracks = {i: GpuTrack(util_percent=Samples(10.0, first, (mean,) * slots)) for i, mean in enumerate(percent)}
    procs = ProcessReading(processes=tuple(process(i) for i in range(len(percent))))
    node = NodeGpus(GpuReading(gpus), NOW, MappingProxyType(tracks))
    return {"gpus": {"a": node}, "procs": procs, "processes": {"a": procs}}


def test_an_idle_gpu_beside_peers_that_compute_and_little_use_of_all() -> None:
    assert "GPU 3 idle for 5 minutes, the 3 others at 95 %" in told(LOG, **with_gpus(96, 96, 96, 0))[0]
    assert told(LOG, **with_gpus(45, 46, 45, 47)) == ["GPUs 0-3 at about 45 % over 5 minutes: under 80 %"]


@pytest.mark.parametrize(
    "state",
    [with_gpus(96, 97, 95, 92), with_gpus(96, 96, 96, 0, minutes=2), with_gpus(96, 0, 96, 0), with_gpus(0, 0, 0, 0)],
    ids=["well used", "not for long", "half of them, as of two pools", "all"],
)
def test_gpus_of_a_run_that_is_well_are_not_mentioned(state: dict[str, object]) -> None:
    assert told(LOG, **state) == []


def test_a_clock_that_is_held_back_beside_peers() -> None:
    state = with_gpus(97, 97, 97, 97, sm_clock_mhz=900, throttle=("hot (hardware)",))
    node = state["gpus"]["a"]  # type: ignore[index]
    faster = tuple(replace(each, sm_clock_mhz=each.sm_clock_mhz or 1980) for each in node.reading.gpus)
    state["gpus"] = {"a": replace(node, reading=replace(node.reading, gpus=faster))}
    assert told(LOG, **state) == ["GPU 3 at 900 MHz, the others at 1,980: hot (hardware)"]


def test_a_silent_run_within_its_limit_is_slow_and_told_why() -> None:
    stage = StageEvent("weight_sync", "weight sync", "verl", 0, 9, NOW - 200)
    plan = (StagePlan("weight_sync", "weight sync", slow_after_s=60.0, stalled_after_s=600.0),)
    verdict = diagnose(
        RunState(log=replace(LOG, last_output_at=NOW - 150, stages=(stage,), plan=plan, step_times=GREW)), SPEC, NOW
    )
    assert verdict.word == "slow"
    assert any(fact.text.startswith("62 % of the step is generation") for fact in verdict.evidence)


def test_a_backward_pass_far_longer_than_the_forward_pass_is_told() -> None:
    def parts(backward_s: float) -> StepTimes:
        return StepTimes((PartTime("forward", 0.2, 0.7), PartTime("backward", 0.7, backward_s)), told=60, step_s=4.6)

    assert told(replace(LOG, step_times=parts(3.5))) == [
        "the backward pass takes 5.0 times the forward pass (3.5 and 0.70 s); 2 to 3 are usual"
    ]
    assert told(replace(LOG, step_times=parts(2.1))) == []
