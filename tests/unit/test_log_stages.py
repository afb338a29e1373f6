"""The stage machine: skips, nesting, recurrence, late lines, restarts."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.logs.catalog.load import load
from hangtop.logs.catalog.profile import Profile, Stage
from hangtop.logs.digest import Digest
from hangtop.logs.extract.framework_votes import active, leading
from hangtop.logs.extract.line_ranks import RankTable
from hangtop.logs.extract.literal_index import index_of
from hangtop.logs.extract.stages import StageCourse, StageMachine, StageMarks, plan_of
from hangtop.logs.joined_logs import join_logs
from hangtop.logs.lines.block_lines import Line
from hangtop.logs.lines.prefixes import Prefix
from hangtop.records.log import LogFile, LogReading

INDEX = index_of(load())
RUN = Profile(
    schema=1,
    name="run",
    title="Run",
    contains=("engine",),
    stage=(
        Stage("launch", "launch", restarts=True),
        Stage("dataset", "data", after_done="actor_init"),
        Stage("actor_init", "actors"),
        Stage("rollout_init", "engines"),
        Stage("train_loop", "training", steady=True),
        Stage("validation", "evaluation", recurs=True),
        Stage("checkpoint", "save", recurs=True),
        Stage("finish", "finished", ends_run=True),
    ),
)
ENGINE = Profile(
    schema=1,
    name="engine",
    title="Engine",
    nests_in="rollout_init",
    stage=(Stage("engine_load", "weights"), Stage("engine_graphs", "graphs"), Stage("engine_ready", "ready")),
)
BOTH = {(profile.name, stage.id): (profile, stage) for profile in (RUN, ENGINE) for stage in profile.stage}


def course(*steps: str, fatal_at: tuple[int, ...] = ()) -> StageCourse:
    """The course of marks written as `stage`, `stage:writer`, `stage!` (done), `stage~` (late), one a line of 10 bytes."""
    marks = StageMarks(RankTable())
    for number, step in enumerate(steps):
        name, _, writer = step.partition(":")
        stage_id = name.rstrip("!~")
        profile, stage = next(BOTH[key] for key in BOTH if key[1] == stage_id)
        line = Line(number * 10, number * 10 + 9, Prefix(), "", at=float(number))
        marks.add(profile, stage, line, (writer,) if writer else (), done=name.endswith("!"), late=name.endswith("~"))
    return StageMachine((RUN, ENGINE), 0, fatal_at).run(marks.all())


def ids(found: StageCourse) -> list[str]:
    return [event.id for event in found.events]


def test_stages_follow_each_other_and_may_be_skipped() -> None:
    found = course("launch", "actor_init", "train_loop")
    assert ids(found) == ["launch", "actor_init", "train_loop"]
    assert [event.done_at for event in found.events] == [1.0, 2.0, None]


def test_a_stage_that_is_done_lets_the_next_one_begin() -> None:
    assert ids(course("dataset", "dataset!")) == ["dataset", "actor_init"]


def test_engine_stages_nest_and_are_named_when_they_are_the_latest_proof() -> None:
    assert ids(course("rollout_init", "engine_load:a", "engine_load:b", "engine_graphs:a")) == [
        "rollout_init",
        "engine_load",
        "engine_graphs",
    ]
    assert ids(course("train_loop", "engine_load")) == ["train_loop"]


def test_evaluation_and_saving_come_and_go_inside_training() -> None:
    assert ids(course("train_loop", "checkpoint", "train_loop", "validation", "train_loop"))[-3:] == [
        "train_loop",
        "validation",
        "train_loop",
    ]


def test_steps_that_others_write_just_after_one_began_to_save_do_not_end_the_save() -> None:
    """A second apart here: peers still write the step all have done. One that steps on later ends it: an asynchronous save."""
    assert ids(course("train_loop:0", "checkpoint:0", "train_loop:1")) == ["train_loop", "checkpoint"]
    assert ids(course("train_loop:0", "checkpoint:0", "train_loop:0")) == ["train_loop", "checkpoint", "train_loop"]
    later = ("checkpoint:0", "train_loop:1", "train_loop:2")
    assert ids(course("train_loop:0", *later)) == ["train_loop", "checkpoint", "train_loop"]


def test_a_rank_that_is_late_does_not_move_the_run_back() -> None:
    assert ids(course("dataset:a", "actor_init:a", "dataset:b")) == ["dataset", "actor_init"]


def test_ranks_that_pass_one_after_another_do_not_move_the_run_back_and_forth() -> None:
    """Also when two profiles know the same line: the second look at it must not take the first for an earlier visit."""
    marks = StageMarks(RankTable())
    twin = replace(RUN, name="twin")
    for number, (stage_id, rank) in enumerate((stage, rank) for rank in range(4) for stage in ("dataset", "actor_init")):
        line = Line(number * 10, number * 10 + 9, Prefix(), "", at=float(number))
        for profile in (RUN, twin):
            stage = next(stage for stage in profile.stage if stage.id == stage_id)
            marks.add(profile, stage, line, (str(rank),))
    assert ids(StageMachine((RUN, twin), 0).run(marks.all())) == ["dataset", "actor_init"]


def test_a_writer_that_comes_from_the_stage_may_go_back() -> None:
    assert ids(course("dataset:a", "actor_init:a", "dataset:a")) == ["dataset", "actor_init", "dataset"]


def test_lines_that_were_held_back_never_move_the_run_back() -> None:
    assert ids(course("dataset:a", "actor_init:a", "dataset~:a")) == ["dataset", "actor_init"]
    assert ids(course("train_loop", "finish", "train_loop~")) == ["train_loop", "finish"]
    assert ids(course("train_loop", "finish", "train_loop")) == ["train_loop", "finish", "train_loop"]


def test_a_launch_after_training_is_a_new_attempt() -> None:
    found = course("launch", "train_loop", "launch", "dataset")
    assert [(event.id, event.attempt) for event in found.events] == [
        ("launch", 1),
        ("train_loop", 1),
        ("launch", 2),
        ("dataset", 2),
    ]
    assert found.restarts == (20,)


def test_a_second_launch_before_training_is_one_only_after_a_crash() -> None:
    assert course("launch", "dataset", "launch").restarts == ()
    assert course("launch", "dataset", "launch", fatal_at=(15,)).restarts == (20,)


def test_a_long_training_keeps_its_first_stages_and_its_last_rounds() -> None:
    found = course("launch", "dataset", *(["train_loop", "checkpoint"] * 3_000))
    assert ids(found)[:2] == ["launch", "dataset"]
    assert len(found.events) < 100
    assert found.events[-1].offset == (2 + 6_000 - 1) * 10


def test_the_plan_shows_engine_stages_behind_the_stage_that_holds_them() -> None:
    found = course("launch", "rollout_init", "engine_graphs", "engine_load")
    rows = [row.id for row in plan_of((RUN, ENGINE), found.events)]
    assert rows == [
        "launch",
        "dataset",
        "actor_init",
        "rollout_init",
        "engine_load",
        "engine_graphs",
        "train_loop",
        "validation",
        "checkpoint",
        "finish",
    ]


def profiles(*made: Profile) -> dict[str, Profile]:
    return {profile.name: profile for profile in made}


def test_the_loudest_framework_leads_but_never_one_that_another_contains() -> None:
    known = profiles(RUN, ENGINE, Profile(1, "base", "Base", base=True))
    assert leading(active(known, {"run": 3, "engine": 9})) == "run"
    assert leading(active(known, {"engine": 9})) == "engine"
    assert [profile.name for profile in active(known, {"run": 4})] == ["run", "engine", "base"]
    assert leading(active(known, {})) == "base"


def test_a_refining_framework_takes_the_place_of_the_one_it_refines() -> None:
    known = profiles(RUN, ENGINE, Profile(1, "fine", "Fine", refines="run", framework="finer"))
    assert leading(active(known, {"run": 9, "fine": 1})) == "finer"
    assert leading(active(known, {"run": 9})) == "run"


def test_the_profile_that_a_person_chose_leads() -> None:
    known = profiles(RUN, ENGINE)
    assert leading(active(known, {"run": 9}, "engine")) == "engine"


def test_of_a_line_that_several_profiles_know_the_own_framework_s_word_counts() -> None:
    data = (
        b"[2026-01-11 10:00:50] root - Initializing Rollout Worker...\n"
        b"[2026-01-11 10:00:51] root - [ROLLOUT] init_model START | pid=4712 | rank=0\n"
    )
    assert stages_in(b"[2026-01-11 10:00:36] root - [ACTOR] init_model START | pid=4711 | rank=0\n" + data)[-1] == "rollout_init"


def test_a_stage_that_says_it_is_finished_is_over() -> None:
    begin = b"[StrategyINFO 2026-03-05 09:26:01] lightrft\n[StrategyINFO 2026-03-05 09:26:02] update_engine_weights start\n"
    assert stages_in(begin)[-1] == "weight_sync"
    assert stages_in(begin + b"finished update_engine_weights\n")[-1] == "train_loop"


def test_a_stage_in_a_line_without_a_time_began_when_the_stamped_line_beside_it_was_written() -> None:
    stamped = b"".join(b"[2026-01-11 10:%02d:00] INFO trainer: note\n" % minute for minute in range(1, 15))
    data = (
        b"[2026-01-11 10:00:00] INFO trainer: config\nLoading checkpoint shards:   0%|          | 0/4 [00:00<?, ?it/s]\n"
        + stamped
    )
    event = reading(data).stages[-1]
    assert event.id == "model_load"
    assert event.at == 1_768_125_600


def stages_in(data: bytes) -> list[str]:
    return [event.id for event in reading(data).stages]


def reading(data: bytes) -> LogReading:
    digest = Digest(INDEX, 0, clock_shift_s=0.0)
    digest.feed(data)
    return join_logs([digest.facts()], [LogFile("train.log", size_bytes=len(data), scanned_bytes=len(data))], INDEX.catalog)
