"""What explains a silence, and what does not: each reason once on a run that is well, and once on one that fell silent."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from tests.scenarios.hours.replay import Watched, replay
from tests.scenarios.hours.run import HOUR_S, Hour, Run, tqdm

FOR_EVER_S = 2 * HOUR_S
STALL_S, WORK_S = 120.0, 900.0
WATCHED_S = 1800
"""All of these silences are over by then, or have raised their alarm."""


def watched(tell: Callable[[Run], None], until_s: int = WATCHED_S) -> Watched:
    return replay(Hour("run", tell, ("train.log",), datetime(2026, 3, 1, 9, tzinfo=UTC)), until_s)


def step(run: Run, number: int) -> None:
    run.say(f"{run.time()} step {number}/90000 loss {run.falling(number, 9, 2, 300):.4f}")


def steps(run: Run, first: int, count: int, every_s: float = 2.0) -> int:
    for number in range(first, first + count):
        run.wait(every_s)
        step(run, number)
    return first + count


def alarm_after(run: Watched, silent_from: float, limit_s: float) -> bool:
    """Whether one alarm came, between the limit and half a minute later, and stayed."""
    [alarm] = run.alarms
    return limit_s - 10 < alarm.at - silent_from < limit_s + 30 and alarm.at + alarm.seconds >= WATCHED_S


WORK = (
    "indexing /data/tiles ...",
    "epoch 2 done, validating on 18320 tiles",
    "Refitting the best of 36 trials on all 41 M rows",
    "writing shard 3 of 12 to /lustre/export",
    "Merging LoRA weights into the base model (this may take a while)",
    "[rank0] saving snapshot at step 400 (all ranks wait)",
    "warming up: autotuning 412 kernels, takes about 5 minutes",
    "正在保存检查点",
)


@pytest.mark.parametrize("line", WORK)
def test_work_that_a_line_names_explains_the_silence_behind_it(line: str) -> None:
    def well(run: Run) -> None:
        number = steps(run, 1, 200)
        run.say(line)
        run.wait(500)
        while run.goes_on:
            number = steps(run, number, 50)

    assert watched(well).alarms == []


@pytest.mark.parametrize("line", ["still fetching ...", "saving snapshot at step 400"])
def test_work_that_never_ends_is_stalled_though_its_line_may_come_again(line: str) -> None:
    def stuck(run: Run) -> None:
        steps(run, 1, 200)
        run.say("shard 1 is used up, fetching shard-00002.tar.zst (31 GB)" if "fetching" in line else line)
        while run.now < HOUR_S and "fetching" in line:
            run.wait(20)
            run.say(line)
        run.wait(FOR_EVER_S)

    [alarm] = watched(stuck).alarms
    assert alarm.at - 400 < WORK_S + 40


@pytest.mark.parametrize("line", ["snapshot saved", "saving took 12 s", "gradient checkpointing is on", "waiting for rank 3 ..."])
def test_a_line_that_names_no_work_explains_nothing(line: str) -> None:
    def stuck(run: Run) -> None:
        steps(run, 1, 200)
        run.say(line)
        run.wait(FOR_EVER_S)

    assert alarm_after(watched(stuck), 400, STALL_S)


def test_a_step_after_named_work_ends_it() -> None:
    def stuck(run: Run) -> None:
        number = steps(run, 1, 200)
        run.say("saving snapshot at step 200")
        run.wait(40)
        steps(run, number, 5)
        run.wait(FOR_EVER_S)

    assert alarm_after(watched(stuck), 450, STALL_S)


def test_pauses_after_a_line_of_any_words_are_learned() -> None:
    def well(run: Run) -> None:
        number = 1
        for pause_s in (70, 110, 140, 135, 170, 210, 230):
            number = steps(run, number, 100)
            run.say(f"bucket <- ckpt {number}")
            run.wait(pause_s)
        while run.goes_on:
            number = steps(run, number, 50)

    assert watched(well, until_s=2_700).alarms == []


def test_a_single_long_pause_long_ago_explains_nothing() -> None:
    def stuck(run: Run) -> None:
        number = steps(run, 1, 200)
        run.wait(115)
        steps(run, number, 300)
        run.wait(FOR_EVER_S)

    assert alarm_after(watched(stuck), 1115, STALL_S)


def bars(run: Run, count: int, step_s: float) -> None:
    run.write(tqdm("Training", 0, 1005, 0.0))
    began = run.now
    for number in range(1, count + 1):
        run.wait(step_s)
        run.write(tqdm("Training", number, 1005, run.now - began))


def test_a_bar_of_minutes_a_step_tells_the_pace_from_its_first_step_on() -> None:
    def well(run: Run) -> None:
        run.wait(1)
        run.say("validation before the first step:")
        run.wait(100)
        run.say("val-core/reward/mean@1:0.62")
        bars(run, 20, 190.0)

    def stuck(run: Run) -> None:
        run.wait(1)
        run.say("validation before the first step:")
        run.wait(100)
        run.say("val-core/reward/mean@1:0.62")
        bars(run, 2, 190.0)
        run.wait(FOR_EVER_S)

    assert watched(well).alarms == []
    assert alarm_after(watched(stuck), 481, 380)


def test_an_evaluation_within_a_longer_count_finishes_nothing() -> None:
    def well(run: Run) -> None:
        began = run.now
        for number in range(1, 401):
            run.wait(2)
            run.write(tqdm("", number, 2439, run.now - began))
        for batch in range(1, 126):
            run.wait(0.7)
            run.write(tqdm("", batch, 125, batch * 0.7))
        run.say("", "{'eval_loss': 1.2, 'epoch': 0.5}")
        run.wait(100)
        for number in range(401, 2439):
            run.wait(2)
            run.write(tqdm("", number, 2439, run.now - began))

    assert watched(well).finished_early_s == 0


def test_an_epoch_at_its_end_finishes_nothing_and_the_last_step_does() -> None:
    def lasts(run: Run, epochs: int, head: str) -> None:
        for epoch in range(epochs):
            began = run.now
            for batch in range(1, 101):
                run.wait(2)
                run.write(tqdm(head.format(epoch), batch, 100, run.now - began))
            run.say("")
            run.wait(80)

    def well(run: Run) -> None:
        lasts(run, 12, "Epoch {}")

    def ends(run: Run) -> None:
        lasts(run, 1, "Training")
        run.ended_at = 200.0
        run.wait(FOR_EVER_S)

    assert watched(well).finished_early_s == 0
    over = watched(ends)
    assert (over.alarms, over.finished_early_s) == ([], 0)
    assert over.seconds("finished") > WATCHED_S - 300


def test_a_server_that_still_starts_is_asked_in_vain_for_its_stage_only() -> None:
    def asks(run: Run, times: int) -> None:
        run.say("***** Running training *****", "trl.extras.vllm_client: server mode")
        for _ in range(times):
            run.say(f"{run.time()} - trl.extras.vllm_client - INFO - Server is not up yet. Retrying in 2.0 seconds...")
            run.wait(2)

    def well(run: Run) -> None:
        asks(run, 40)
        run.say("Server is up!")
        steps(run, 1, 1760)

    assert watched(well).alarms == []
    [alarm] = watched(lambda run: asks(run, 1800)).alarms
    assert alarm.at + alarm.seconds >= WATCHED_S


def test_the_same_values_in_the_next_trial_are_new() -> None:
    def well(run: Run) -> None:
        while run.goes_on:
            for done in range(0, 600, 50):
                run.wait(12)
                run.say(f"[{done}]\ttrain-auc:{0.7 + done / 3000:.5f}\tvalid-auc:{0.69 + done / 4000:.5f}")

    assert watched(well).alarms == []


OOM = (
    "Traceback (most recent call last):",
    '  File "/srv/train.py", line 214, in <module>',
    "    loss.backward()",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.21 GiB. GPU 0 has a total capacity of 23.64 GiB",
)
START = ("reading the settings from conf/base.yaml", "building a network of 12 blocks")


@pytest.mark.parametrize("again", [("nohup: ignoring input", "device: cuda:0"), START], ids=["nohup", "first lines"])
def test_what_an_appended_log_holds_of_the_attempt_before_is_the_past(again: tuple[str, ...]) -> None:
    def well(run: Run) -> None:
        run.now = -900.0
        run.say(*START)
        run.wait(5)
        steps(run, 1, 100)
        run.say(*OOM)
        run.now = -5.0
        run.say(*again)
        run.wait(90)
        steps(run, 1, 1800)

    def dead(run: Run) -> None:
        run.now = -900.0
        run.say(*START)
        run.wait(5)
        steps(run, 1, 100)
        run.say(*OOM)
        run.wait(FOR_EVER_S)

    assert watched(well).alarms == []
    assert watched(dead).seconds("crashed") > WATCHED_S - 60


def test_a_rotated_file_takes_nothing_back_and_hides_no_crash() -> None:
    def tell(run: Run, *last: str) -> None:
        number = steps(run, 1, 100)
        run.say(*OOM)
        number = steps(run, number, 400)
        run.rotate()
        steps(run, number, 200)
        run.say(*last)
        if not last:
            steps(run, number + 200, 1200)

    assert [alarm.at > 300 for alarm in watched(tell).alarms] in ([], [False])
    dead = watched(lambda run: tell(run, *OOM))
    assert dead.said[-1].word == "crashed"
    assert dead.alarms[-1].at >= 1400


def test_a_study_that_says_its_end_has_finished() -> None:
    def ends(run: Run) -> None:
        steps(run, 1, 100)
        run.finish("Best value: 0.83", "Study finished")

    over = watched(ends)
    assert (over.alarms, over.finished_early_s, over.said[-1].word) == ([], 0, "finished")
