"""The plan to start a run again: the same command, and only the environment that was chosen changes."""

from __future__ import annotations

from hangtop.actions.presets import presets, presets_for
from hangtop.actions.restart import answered, launch_ask, plan, top, with_presets
from hangtop.actions.stop import Myself
from hangtop.model import RunState
from hangtop.records.launch import Launch, LaunchReading
from hangtop.records.plan import Plan, Refusal
from hangtop.records.process import Process, ProcessReading, Writer
from hangtop.records.verdict import Verdict

ME = Myself(pid=50, ancestors=frozenset({1, 40, 45}), uid=1000)
LAUNCH = Launch(("python", "main.py"), "/runs", "/state/e.environ", 100, 100, 1.0, "/runs/train.log")


def process(pid: int, ppid: int, **more: object) -> Process:
    given = {"started_at": 1.0, "name": "python", "uid": 1000, "command": "python main.py", "state": "S", **more}
    return Process(**{"pid": pid, "ppid": ppid, "start_ticks": pid, **given})  # type: ignore[arg-type]


def state(*processes: Process, **more: object) -> RunState:
    return RunState(procs=ProcessReading(processes=processes, **more))  # type: ignore[arg-type]


def test_the_top_is_what_a_person_started_not_rays_workers_nor_hangtops_runner() -> None:
    runner = process(90, 1, command="python -m hangtop.actions.runner")
    known = state(runner, process(100, 90), process(101, 100, role="rank"), process(300, 7, role="ray worker"))
    first = top(known.procs)
    assert isinstance(first, Process)
    assert first.pid == 100
    ask = launch_ask(known, 5)
    assert (ask.pid, ask.start_ticks) == (100, 100)


def test_several_tops_are_refused_and_none_is_asked_of_the_log() -> None:
    refused = answered(state(process(100, 7), process(200, 7)), LaunchReading(1, LAUNCH), ME, None, ())
    assert isinstance(refused, Refusal)
    assert "100, 200" in refused.why
    assert launch_ask(state(), 5).pid is None
    assert launch_ask(state(process(100, 1, state="Z")), 5).pid is None


def test_a_dead_run_is_only_started() -> None:
    made = plan(state(), LAUNCH, ME, None)
    assert isinstance(made, Plan)
    assert (made.title, made.targets) == ("Start the run again: attempt 2", ())
    assert made.start is not None
    assert (made.start.argv, made.start.cwd, made.start.log) == (LAUNCH.argv, "/runs", "/runs/train.log")


def test_another_process_than_the_one_that_was_asked_about_is_refused() -> None:
    refused = plan(state(process(100, 7, start_ticks=999)), LAUNCH, ME, None)
    assert isinstance(refused, Refusal)


def test_presets_change_the_environment_alone_and_can_be_taken_back() -> None:
    made = plan(state(process(100, 45)), LAUNCH, ME, None)
    assert isinstance(made, Plan)
    chosen = with_presets(made, presets()[:2])
    assert chosen.start is not None
    assert chosen.start.set_env["NCCL_DEBUG"] == "INFO"
    assert with_presets(chosen, ()) == made


def test_a_run_that_works_wants_its_word_typed() -> None:
    works = Verdict("running", "output 3 s ago", "silence")
    made = answered(state(process(100, 45)), LaunchReading(1, LAUNCH), ME, works, ())
    assert isinstance(made, Plan)
    assert made.word == "restart"
    hung = answered(state(process(100, 45)), LaunchReading(1, LAUNCH), ME, Verdict("hung", "rank 3", "output"), ())
    assert isinstance(hung, Plan)
    assert hung.word == ""


def test_output_without_a_file_goes_to_the_watched_log_or_beside_one_that_the_run_writes_itself() -> None:
    nowhere = LaunchReading(1, Launch(LAUNCH.argv, "/runs", "e", 100, 100, 1.0))
    through_tee = Writer(100, 1.0, "python", "python main.py", paths=("/runs/a.log",), via="tee")
    itself = Writer(100, 1.0, "python", "python main.py", paths=("/runs/a.log",))
    for writer, log in ((through_tee, "/runs/a.log"), (itself, "/runs/a.log.out")):
        made = answered(state(process(100, 45), writers=(writer,)), nowhere, ME, None, ("/runs/a.log",))
        assert isinstance(made, Plan)
        assert made.start is not None
        assert made.start.log == log
    for logs in ((), ("-",), ("/runs/*.log",), ("a", "b")):
        assert isinstance(answered(state(process(100, 45)), nowhere, ME, None, logs), Refusal)


def test_presets_have_one_line_each_and_fit_their_frameworks() -> None:
    ids = [preset.id for preset in presets()]
    assert len(ids) == len(set(ids)) <= 9
    assert all(preset.env and "\n" not in preset.does for preset in presets())
    assert "vllm" not in {preset.id for preset in presets_for(frozenset({"torchrun"}))}
    assert "vllm" in {preset.id for preset in presets_for(frozenset({"verl"}))}
