"""Whether a run lived on after a message, and whose message it was, by the order of the lines in one log."""

from __future__ import annotations

import pytest

from hangtop.diagnosis.judge import diagnose
from hangtop.records.health import SourceHealth
from hangtop.records.log import Finding
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState
from tests.corpus.score import NOW
from tests.corpus.score import read as corpus_read
from tests.fakes.read_log import read

RAISED = 'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    main()\nValueError: no such thing\n'


def steps(begin: int, end: int) -> str:
    return "".join(f"step {step}/5000 loss {2 - step / 9000:.4f}\n" for step in range(begin, end))


def fatal(text: str) -> list[Finding]:
    return [finding for finding in read(text).findings if finding.severity == "fatal"]


def shown(heading: str, *messages: str) -> str:
    """A training that prints these after every fifty steps, under this heading."""
    return "".join(f"{steps(50 * place, 50 * place + 50)}{heading}\n{message}\n" for place, message in enumerate(messages))


@pytest.mark.parametrize(
    "heading", ["=== Samples (step 50) ===", "----- preview -----", "<completion>", "Generated text:", "[BEGIN answer]"]
)
def test_a_message_under_a_heading_under_which_the_run_lived_on_before_is_shown(heading: str) -> None:
    assert fatal(shown(heading, "Killed", "Segmentation fault (core dumped)", RAISED)) == []


@pytest.mark.parametrize("heading", ["=== attempt 3 failed ===", "Saving the checkpoint", "Error, will try again:"])
def test_what_stands_under_other_words_is_the_runs_own(heading: str) -> None:
    assert fatal(shown(heading, RAISED, RAISED)) != []


def test_the_first_time_nothing_tells_that_it_is_only_shown() -> None:
    assert fatal(shown("=== Samples ===", RAISED)) != []


def test_steps_that_are_known_as_such_only_later_stand_where_they_stand() -> None:
    """`it 10/20000` below each other are steps by their shape, and counted when the whole log is read."""
    log = "".join(f" 0: it {10 * step}/20000  loss {3 - step / 90:.4f}\n" for step in range(180))
    ended = "srun: error: gn312: task 11: Out Of Memory\nsrun: error: gn311: tasks 0-7: Terminated\n"
    assert [(finding.id, finding.rank) for finding in fatal(log + ended)] == [("slurm.task", 11)]


def test_an_error_that_a_driver_prints_is_of_the_worker_in_which_it_was_raised() -> None:
    workers = "".join(f"(WorkerDict pid={4000 + rank}) [rank {rank}] ready\n" for rank in range(4))
    wrapped = "ray.exceptions.RayTaskError(OutOfMemoryError): ray::WorkerDict.update() (pid=4002, ip=10.0.0.1, actor_id=ab)\n"
    trace = RAISED.replace("ValueError: no such thing\n", f'{wrapped}  File "w.py", line 5, in update\n    loss.backward()\n')
    told = fatal(f"{workers}{trace}torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.27 GiB.\n")
    assert {finding.rank for finding in told if finding.id == "cuda.oom"} == {2}


def test_on_a_second_node_a_local_rank_is_another_rank() -> None:
    ranks = "".join(f"[rank {8 + local}] host=c3n07 local_rank={local} pid={900 + local}\n" for local in range(8))
    failed = "E0202 18:53:49.146000 850 api.py:870] failed (exitcode: -9) local_rank: 5 (pid: 905) of binary: /usr/bin/python\n"
    assert {finding.rank for finding in fatal(ranks + failed)} == {13}


def test_a_bar_that_is_closed_behind_the_end_does_not_begin_the_training_again() -> None:
    bars = "".join(
        f"\r {step // 50}%|#| {step}/5000 [{step // 60:02}:{step % 60:02}<19:36, 2.76it/s]" for step in range(5, 1755, 5)
    )
    end = "\n{'train_runtime': 633.2207, 'train_samples_per_second': 126.3, 'train_loss': 0.3, 'epoch': 7.0}\n"
    closed = " 35%|#| 1750/5000 [29:10<19:36, 2.76it/s]\n"
    goes_on = closed.replace("1750", "1760") + closed.replace("1750", "1770")
    hf = "{'loss': 0.2, 'grad_norm': 0.7, 'learning_rate': 2.2e-05, 'epoch': 5.2}\n"
    assert read(hf + bars + end + closed).stages[-1].id == "finish"
    over = len((hf + bars + end + closed).encode())
    assert read(hf + bars + end + closed + goes_on, over, over + len(closed)).stages[-1].id == "train_loop"
    assert read(hf + bars + end + closed.replace("1750/5000", "3/90")).stages[-1].id == "train_loop"


def caught(said: str) -> str:
    """A training that goes on after each of these, but for the last."""
    return f"{steps(1, 10)}{said}{steps(10, 20)}{said}"


ERRORS = (
    RAISED,
    RAISED.replace("ValueError: no such thing", "TimeoutError"),
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.27 GiB.\n",
    RAISED.replace("ValueError: no such thing", "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"),
    f"ERROR trial 7 failed, its objective raised\n{RAISED}".replace("ValueError", "xgboost.core.XGBoostError"),
)


@pytest.mark.parametrize("said", ERRORS)
def test_a_message_like_those_that_the_run_went_on_after_is_marked(said: str) -> None:
    assert all(not finding.outlived for finding in fatal(steps(1, 10) + said))
    [*told] = fatal(caught(said))
    assert told
    assert all(finding.outlived for finding in told)
    assert fatal(caught(said) + steps(20, 21)) == []  # then one step shows that it goes on


@pytest.mark.parametrize("other", [RAISED.replace("line 3", "line 4"), RAISED.replace("such", "other"), "Killed\n"])
def test_another_message_or_the_same_from_another_place_is_not(other: str) -> None:
    assert not all(finding.outlived for finding in fatal(caught(RAISED) + other))


def test_a_count_that_begins_anew_behind_a_message_shows_that_the_run_goes_on() -> None:
    trial = "".join(
        f"[{done}]\ttrain-auc:{0.7 + done / 3000:.5f}\tvalid-auc:{0.69 + done / 4000:.5f}\n" for done in range(0, 300, 50)
    )
    assert fatal(trial * 3 + RAISED) != []
    assert fatal(trial * 3 + RAISED + trial.splitlines(keepends=True)[0]) == []


@pytest.mark.parametrize("silence_s", [20.0, 400.0])
def test_only_silence_makes_a_crash_of_a_message_that_was_outlived(silence_s: float) -> None:
    log = corpus_read(caught(RAISED).encode(), silence_s)
    state = RunState(log=log, tail=log.tail, health={"log": SourceHealth("log", read_at=NOW)}, heard_at=NOW)
    assert (diagnose(state, WatchSpec(logs=("train.log",)), NOW).word == "crashed") == (silence_s > 120)
