"""From what is typed after --log to the files to watch, with their ranks. Real directories."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from hangtop.probe.log.discover import FoundLog, discover
from hangtop.probe.log.latest_attempt import LatestAttempt
from hangtop.probe.log.rank_from_name import ranks_of
from hangtop.system.files.read_errors import in_words


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make(*paths: str, at: float | None = None) -> None:
    for path in paths:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text("x\n")
        if at is not None:
            os.utime(path, (at, at))


def found(*asked: str) -> list[tuple[str, int | None]]:
    return [(log.path, log.rank) for log in discover(asked).logs]


def test_a_plain_path_is_taken_as_it_is_even_when_it_is_not_there():
    assert found("train.log") == [("train.log", None)]
    assert found("-") == [("-", None)]


def test_the_same_file_twice_is_one_log():
    make("a.log")
    Path("link.log").symlink_to("a.log")
    assert found("a.log", "a.log", "link.log") == [("a.log", None)]


def test_a_torchrun_tree_gives_the_ranks_of_the_newest_attempt():
    for rank in range(10):
        make(f"logs/none_abc/attempt_0/{rank}/stdout.log", f"logs/none_abc/attempt_0/{rank}/stderr.log")
    for rank in range(2):
        make(f"logs/none_abc/attempt_1/{rank}/stdout.log")
    assert found("logs") == [(f"logs/none_abc/attempt_1/{rank}/stdout.log", rank) for rank in range(2)]


def test_of_two_torchrun_runs_in_one_folder_the_one_written_last_counts():
    make("logs/none_old/attempt_3/0/stdout.log", "logs/none_old/attempt_3/1/stdout.log", at=1_000_000)
    make("logs/none_new/attempt_0/0/stdout.log", "logs/none_new/attempt_0/1/stdout.log", at=2_000_000)
    assert found("logs") == [("logs/none_new/attempt_0/0/stdout.log", 0), ("logs/none_new/attempt_0/1/stdout.log", 1)]


def test_of_two_runs_that_write_side_by_side_one_is_watched_and_stays():
    mine, other, later = (f"logs/none_{name}/attempt_0/0/stdout.log" for name in ("mine", "other", "later"))
    newest = LatestAttempt()
    make(other, at=1_000_000)
    make(mine, at=1_000_001)
    for at in (1_000_002, 1_000_003):
        assert [log.path for log in discover(["logs"], newest).logs] == [mine]
        os.utime(other, (at, at))
    newest.alive = True
    make(later, at=2_000_000)
    assert [log.path for log in discover(["logs"], newest).logs] == [mine]
    again = mine.replace("attempt_0", "attempt_1")
    make(again, at=2_000_001)
    assert [log.path for log in discover(["logs"], newest).logs] == [again]
    newest.alive = False
    assert [log.path for log in discover(["logs"], newest).logs] == [later]


def test_stdout_and_stderr_of_a_rank_are_both_its_own():
    make(
        "logs/attempt_0/0/stdout.log", "logs/attempt_0/0/stderr.log", "logs/attempt_0/1/stdout.log", "logs/attempt_0/1/stderr.log"
    )
    assert [rank for _, rank in found("logs")] == [0, 0, 1, 1]


def test_one_torchrun_rank_alone_is_told_by_the_tree():
    make("logs/none_x/attempt_0/5/stdout.log")
    assert found("logs") == [("logs/none_x/attempt_0/5/stdout.log", 5)]


def test_files_are_in_the_order_of_their_numbers():
    make(*(f"out/rank_{rank}.log" for rank in (0, 10, 2)))
    assert found("out") == [("out/rank_0.log", 0), ("out/rank_2.log", 2), ("out/rank_10.log", 10)]


def test_slurm_tasks_of_the_job_written_last():
    make("slurm-122_0.out", "slurm-122_1.out", at=1_000_000)
    make("slurm-123_0.out", "slurm-123_5.out", at=2_000_000)
    assert found(".") == [("./slurm-123_0.out", 0), ("./slurm-123_5.out", 5)]


def test_a_glob_takes_any_name_and_numbers_it_by_what_varies():
    make("job-771-node01-worker3.txt", "job-771-node01-worker4.txt")
    assert [rank for _, rank in found("job-*.txt")] == [3, 4]


def test_a_name_with_glob_signs_that_is_there_is_a_plain_path():
    make("run[1].log", "run1.log")
    assert found("run[1].log") == [("run[1].log", None)]


def test_other_files_of_a_directory_are_left_alone():
    make("out/train.log", "out/config.yaml", "out/model.safetensors", "out/.hidden.log", "out/train.log.1.gz", "out/.git/x.log")
    make("out/requirements.txt", "out/stdout", "out/rank0.txt")
    assert sorted(path for path, _ in found("out")) == ["out/rank0.txt", "out/stdout", "out/train.log"]


def test_older_parts_of_a_log_are_no_logs_of_their_own():
    make("out/train.log", "out/train.log.1", "out/train.log-20260111", "out/train.log.2026-01-11", "out/train.log.12")
    assert found("out") == [("out/train.log", None)]
    assert len(found("out/train.log*")) == 5  # who asks for them by name gets them


def test_logs_that_only_count_are_logs():
    make("out/worker.log.0", "out/worker.log.1")
    assert [path for path, _ in found("out")] == ["out/worker.log.0", "out/worker.log.1"]


def test_a_directory_without_logs_is_one_clear_line():
    make("empty/readme.md")
    (log,) = discover(["empty"]).logs
    assert log.fault is not None
    assert log.fault.status == "directory"
    assert log.fault.problem == "empty: no log files in this directory (*.log, *.out, *.err), waiting for one: ls -R empty"


def test_a_glob_without_matches_is_one_clear_line():
    (log,) = discover(["nowhere/*.log"]).logs
    assert log.fault is not None
    assert log.fault.status == "waiting"
    assert log.fault.problem == "nowhere/*.log: no file matches, waiting for one: ls -l nowhere"


def test_folders_to_watch_are_those_where_files_may_appear():
    make("logs/none_x/attempt_0/0/stdout.log")
    assert discover(["logs"]).folders == ("logs", "logs/none_x", "logs/none_x/attempt_0", "logs/none_x/attempt_0/0")
    assert discover(["logs/*/*/*/*.log"]).folders[0] == "logs"


def test_a_directory_that_is_far_too_deep_or_a_link_in_a_circle_ends():
    make("a/b/c/d/e/f/g/h/i/deep.log", "a/top.log")
    Path("a/loop").symlink_to("..")
    assert found("a") == [("a/top.log", None)]


def test_names_with_bytes_that_are_no_text_are_found():
    Path("odd").mkdir()
    os.close(os.open(b"odd/\xff\x1b.log", os.O_CREAT | os.O_WRONLY))
    (log,) = discover(["odd"]).logs
    assert isinstance(log, FoundLog)
    assert os.fsencode(log.path) == b"odd/\xff\x1b.log"


def test_too_many_logs_are_said(monkeypatch):
    monkeypatch.setattr("hangtop.probe.log.discover.MOST_FILES", 3)
    make(*(f"rank_{rank}.log" for rank in range(5)))
    logs = discover(["."]).logs
    assert [log.rank for log in logs[:3]] == [0, 1, 2]
    assert logs[3].fault is not None
    assert logs[3].fault.problem == "5 log files: only the first 3 are watched; name fewer with --log"


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (OSError(errno.ESTALE, "Stale file handle"), "failed", "/d/x: the file server forgot this file: ls -l /d"),
        (OSError(errno.EMFILE, "Too many open files"), "failed", "/d/x: too many open files: ulimit -n 65536"),
        (OSError(errno.ENXIO, "No such device or address"), "failed", "/d/x: No such device or address: ls -l /d/x"),
    ],
)
def test_what_the_system_says_becomes_one_line(error, status, words):
    fault = in_words("/d/x", error)
    assert fault.status == status
    assert fault.problem.startswith(words)


@pytest.mark.parametrize(
    ("paths", "ranks"),
    [
        (["train_rank3.log"], [3]),
        (["RANK-7.out", "rank=8.out"], [7, 8]),
        (["global_rank_2_local_rank_0.log", "global_rank_3_local_rank_1.log"], [2, 3]),
        (["local_rank_0.log", "local_rank_1.log"], [0, 1]),
        (["rank_0/train.log", "rank_1/train.log"], [0, 1]),
        (["w-0.err", "w-1.err", "w-63.err"], [0, 1, 63]),
        (["rank_7/train.log"], [7]),
        (["rank_0_experiments/train.log"], [None]),
        (["frank2.log"], [None]),
        (["train.log"], [None]),
        (["run7.log"], [None]),
        (["worker-4711.out", "worker-4712.out"], [None, None]),
        (["train-2026-01-05.log", "train-2026-01-06.log"], [None, None]),
        (["train_20260105_103000.log", "train_20260105_113000.log"], [None, None]),
        (["2026-01-05-r0.log", "2026-01-05-r1.log"], [0, 1]),
        (["n0/attempt_0/0/stdout.log", "n1/attempt_0/0/stdout.log"], [None, None]),
        (["node0_rank0.log", "node1_rank1.log"], [0, 1]),
        ([f"r{n}.log" for n in range(256)], list(range(256))),
    ],
)
def test_the_rank_in_a_name(paths, ranks):
    assert ranks_of(paths) == ranks
