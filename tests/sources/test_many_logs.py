"""Several logs of one run are judged by time: cause, attempt and fix are the same whatever the files are called, in any order."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from contextlib import ExitStack
from itertools import permutations
from pathlib import Path

import pytest

from hangtop.diagnosis.judge import diagnose
from hangtop.records.log import Finding
from hangtop.records.verdict import Verdict
from tests.fakes.log_session import Session, settled
from tests.fakes.rank_writers import RankWriter, rank_writer

LAUNCH = "torch/distributed/run.py:852] Setting OMP_NUM_THREADS environment variable for each process to be 1 in default"
RESTART = "torch/distributed/elastic/agent/server/api.py:900] [default] Failed. 2/3 attempts left; will restart worker group"
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
SHAPE = "ValueError: shape mismatch in batch 7"


@pytest.fixture
def ranks(tmp_path: Path, ends: ExitStack):
    def start(*names: str, stamped: bool = True) -> list[RankWriter]:
        return [ends.enter_context(rank_writer(tmp_path / name, stamped=stamped)) for name in names]

    return start


def check(*logs: Path, as_json: bool = True) -> str:
    words = [word for log in logs for word in ("--log", str(log))]
    command = (sys.executable, "-m", "hangtop", "check", *words, "--sources", "log", *(("--json",) if as_json else ()))
    return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False).stdout


def verdict_of(session: Session) -> tuple[Verdict, list[Finding]]:
    state = session.state
    assert state.log is not None
    told = [finding for finding in state.log.findings if finding.attempt == state.log.attempt]
    return diagnose(state, session.spec, max(file.modified_at or 0.0 for file in state.log.files)), told


@pytest.mark.parametrize("names", [("a.log", "b.log"), ("b.log", "a.log")])
def test_the_rank_that_failed_first_is_told_in_text_and_json_whatever_its_file_is_called(tmp_path, ranks, names):
    """Rank 1 fails first, and its message stands further behind in its file than rank 0's does in the other."""
    rank0, rank1 = ranks(*names)
    for _ in range(4):
        rank1.say("[rank1]: reading shards of the data set, one after another")
    for rank in (rank0, rank1):
        rank.step(1)
    rank1.fail(OOM)
    rank1.say("[rank1]: leaving")
    rank0.step(2)
    rank0.fail(SHAPE)
    rank0.say("leaving")
    for order in permutations(tmp_path / name for name in names):
        told = json.loads(check(*order))
        first = told["findings"][0]
        assert (told["verdict"], told["confidence"], first["id"]) == ("crashed", "certain", "cuda.oom")
        assert told["headline"].endswith(first["text"])
        shown = check(*order, as_json=False)
        assert "[cuda.oom]" in shown
        assert f"    1. {first['fixes'][0]}\n" in shown


def test_logs_without_any_time_are_told_apart_by_when_they_were_written_to(tmp_path, ranks, watch):
    rank0, rank1 = ranks("a.log", "b.log", stamped=False)
    rank0.step(1)
    rank1.step(1)
    session = watch(tmp_path)
    session.until(settled)
    rank1.fail(SHAPE)
    session.until(lambda log: bool(log.findings))
    rank0.fail(OOM)
    session.until(lambda log: len(log.findings) > 1)
    verdict, (first, *_) = verdict_of(session)
    assert first.groups["exception"] == "ValueError"
    assert (verdict.message, verdict.confidence) == (first.id, "certain")


def test_where_nothing_tells_which_came_first_it_is_only_possible(tmp_path, ranks):
    """Both wrote more after their message, and no line of them tells the time."""
    rank0, rank1 = ranks("a.log", "b.log", stamped=False)
    for rank, failure in ((rank1, OOM), (rank0, SHAPE)):
        rank.step(1)
        rank.fail(failure)
        for _ in range(100):
            rank.say("leaving: closing one more file, giving back one more lock")
    told = [json.loads(check(*order)) for order in permutations((tmp_path / "a.log", tmp_path / "b.log"))]
    assert {answer["confidence"] for answer in told} == {"possible"}
    assert len({answer["headline"] for answer in told}) == 1
    assert any("the times in them do not tell" in fact["text"] for fact in told[0]["evidence"])


def three_steps(ranks):
    """Two ranks with a log each, in step; only the first log tells of launches."""
    rank0, rank1 = ranks("a.log", "b.log")
    rank0.say(LAUNCH)
    for number in (1, 2, 3):
        rank0.step(number)
        rank1.step(number)
    return rank0, rank1


def test_a_restart_that_only_one_log_shows_leaves_the_failure_of_the_new_attempt(tmp_path, ranks, watch):
    rank0, rank1 = three_steps(ranks)
    rank0.say(RESTART)
    rank0.step(1)
    rank1.step(1)
    rank1.fail(SHAPE)
    rank1.say("leaving")
    for order in permutations((tmp_path / "a.log", tmp_path / "b.log")):
        session = watch(*order)
        assert session.until(settled).attempt == 2
        verdict, (first, *_) = verdict_of(session)
        assert (verdict.word, verdict.message, first.attempt) == ("crashed", first.id, 2)
        assert "ValueError" in verdict.headline


def test_what_a_log_told_before_a_restart_that_it_does_not_show_is_of_the_past(tmp_path, ranks, watch):
    rank0, rank1 = three_steps(ranks)
    rank1.fail(SHAPE)
    rank0.say(RESTART)
    rank0.step(1)
    rank1.step(1)
    for order in permutations((tmp_path / "a.log", tmp_path / "b.log")):
        session = watch(*order)
        session.until(settled)
        verdict, told = verdict_of(session)
        assert (verdict.word, told) == ("running", [])
        assert session.state.log is not None
        assert session.state.log.progress.step == 1


def test_two_attempts_that_both_logs_show_are_two(tmp_path, ranks, watch):
    both = ranks("b.log", "a.log")
    for rank in both:
        rank.say(LAUNCH)
    for failure in (OOM, SHAPE):
        for rank in both:
            rank.step(1)
            rank.step(2)
        both[1].fail(failure)
        for rank in both if failure is OOM else ():
            rank.say(RESTART)
    session = watch(tmp_path)
    assert session.until(settled).attempt == 2
    verdict, (first, *_) = verdict_of(session)
    assert "ValueError" in verdict.headline
    assert session.state.log is not None
    assert {(finding.id, finding.attempt) for finding in session.state.log.findings} >= {(first.id, 2), ("cuda.oom", 1)}


def test_a_log_that_was_copied_and_cut_keeps_its_place_in_time(tmp_path, ranks, watch):
    rank0, rank1 = ranks("a.log", "b.log")
    for rank in (rank0, rank1):
        for number in range(1, 30):
            rank.step(number)
    session = watch(tmp_path / "a.log", tmp_path / "b.log")
    session.until(settled)
    shutil.copy(tmp_path / "b.log", tmp_path / "b.log.1")
    with (tmp_path / "b.log").open("r+") as log:
        log.truncate(0)
    rank1.fail(SHAPE)
    session.until(lambda log: any(finding.file == 1 for finding in log.findings))
    rank0.fail(OOM)
    session.until(lambda log: len({finding.id for finding in log.findings}) > 1)
    verdict, (first, *_) = verdict_of(session)
    assert (first.file, verdict.message) == (1, first.id)
    assert verdict.confidence == "certain"
