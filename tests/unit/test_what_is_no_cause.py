"""What only hands on a fault, follows from one, or names its family, is no cause beside the message that tells it."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hangtop.common import clock
from hangtop.diagnosis.judge import diagnose
from hangtop.records.log import Finding, LogReading
from hangtop.records.verdict import Verdict
from tests.fakes.log_session import Session, settled
from tests.fakes.read_log import read

DIRECT = "\nThe above exception was the direct cause of the following exception:\n\n"
DURING = "\nDuring handling of the above exception, another exception occurred:\n\n"


def raised(exception: str, file: str = "train.py") -> str:
    return f'Traceback (most recent call last):\n  File "/w/{file}", line 3, in main\n    go()\n{exception}\n'


def causes(log: LogReading) -> list[str]:
    return [finding.id for finding in log.findings if finding.role == "cause" and finding.severity != "hint"]


def of_id(log: LogReading, name: str) -> Finding:
    return next(finding for finding in log.findings if finding.id == name)


def test_an_exception_raised_from_a_known_one_only_hands_it_on() -> None:
    log = read(
        raised("FileNotFoundError: [Errno 2] No such file or directory: '/d/a.bin'") + DIRECT + raised("lm.DataError: no mix")
    )
    assert causes(log) == ["data.file_missing"]


def test_of_two_unknown_ones_the_first_is_told() -> None:
    log = read(raised("lm.ShardError: shard 7 holds 3 rows") + DIRECT + raised("lm.DataError: no mix"))
    assert causes(log) == ["py.traceback"]
    assert "shard 7" in log.findings[0].text


def test_one_that_came_while_another_was_handled_may_be_a_fault_of_its_own() -> None:
    log = read(
        raised("FileNotFoundError: [Errno 2] No such file or directory: '/d/a.bin'") + DURING + raised("lm.DataError: no mix")
    )
    assert set(causes(log)) == {"data.file_missing", "py.traceback"}


def test_another_writer_s_exception_is_not_handed_on() -> None:
    first = "".join(f"[rank0]: {line}\n" for line in raised("OSError: [Errno 28] No space left on device").splitlines())
    log = read(first + DIRECT + raised("lm.DataError: no mix"))
    assert set(causes(log)) == {"fs.no_space", "py.traceback"}


@pytest.mark.parametrize(
    "between",
    [
        "loading data ...",
        "INFO: 12 shards read",
        " 12%|#2        | 120/1000 [04:11<30:40,  2.09s/it]",
        "[rank6]:[W511 12:00:01.221 ProcessGroupNCCL.cpp:4115] [PG ID 0 Rank 6] using GPU 6 to perform barrier",
        "node3:4211:4390 [5] NCCL INFO Channel 00/0 : 5[5] -> 6[6] via P2P/CUMEM",
    ],
)
def test_a_traceback_is_read_on_behind_a_line_that_broke_into_it(between: str) -> None:
    frames = (
        '  File "/w/train.py", line 88, in <module>\n    main()\n',
        '  File "/w/data.py", line 19, in get\n    return row[1]\n',
    )
    log = read(f"Traceback (most recent call last):\n{frames[0]}{between}\n{frames[1]}KeyError: 'messages'\n")
    told = of_id(log, "py.traceback")
    assert (told.groups["exception"], told.groups["kind"], told.groups["own"]) == ("KeyError", "kind.key", "/w/data.py:19 in get")


def test_a_program_that_failed_is_explained_by_its_own_words() -> None:
    words = 'rsync: [receiver] write failed on "/l/step12.pt": Disk quota exceeded (122)\n'
    failed = raised("subprocess.CalledProcessError: Command '['rsync']' returned non-zero exit status 11.")
    assert causes(read(words + failed)) == ["fs.quota"]
    assert causes(read(failed)) == ["py.traceback"]


def test_an_exception_of_no_known_kind_is_told_in_its_own_words_with_its_place() -> None:
    told = of_id(read(raised("ValueError: the moon is full tonight", "reward.py")), "py.traceback")
    assert told.cause == "Raised at or below reward.py:3 in main: ValueError: the moon is full tonight"


@pytest.mark.parametrize(
    ("exception", "kind"),
    [
        ("KeyError: 'LOCAL_RANK'", "environment"),
        ("ValueError: module inputs and input_layouts should have same length!", "shape"),
        ("RuntimeError: Input type (float) and bias type (c10::Half) should be the same", "dtype"),
        ("RuntimeError: not enough GPUs: 8 are asked for", "resources"),
        ("AssertionError: zero stage 2 requires an optimizer", "unset"),
        ("RuntimeError: native workers exited during startup: [2, 3]", "died"),
        ("AssertionError: timer has already been started", "not_ready"),
        ("RuntimeError: NCCL error in: ncclAllReduce", "communication"),
    ],
)
def test_words_tell_the_kind_of_an_exception(exception: str, kind: str) -> None:
    assert of_id(read(raised(exception)), "py.traceback").groups["kind"] == f"kind.{kind}"


def test_the_reason_below_a_wrapper_is_the_cause() -> None:
    wrapper = "torch.distributed.DistBackendError: NCCL error in: x.cpp:1, unhandled cuda error, NCCL version 2.20.5\n"
    assert causes(read(wrapper)) == ["nccl.unhandled_cuda"]
    assert causes(read(f"{wrapper}Last error:\nFailed to CUDA calloc 6291456 bytes\n")) == ["nccl.gpu_memory"]


STUCK = "ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in monitoring enqueued collectives.\n"
LATE = "[rank2]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, Timeout(ms)=600000) ran\n"


def test_what_follows_from_another_rank_s_fault_is_a_consequence() -> None:
    assert of_id(read(f"[rank7]: {STUCK}"), "nccl.watchdog_stuck").role == "cause"
    assert of_id(read(f"{LATE}[rank7]: {STUCK}"), "nccl.watchdog_stuck").role == "consequence"
    assert of_id(read(f"[rank7]: {STUCK}{LATE}"), "nccl.watchdog_stuck").role == "cause"


def test_a_family_is_read_where_no_page_stands_in_the_line() -> None:
    assert causes(read("nslookup: can't resolve 'llm-master-0': Name does not resolve\n")) == ["net.dns"]
    page = "[c10d] The IPv6 network addresses of (n1, 29500) cannot be retrieved (gai error: -2 - Name or service not known)"
    assert causes(read(f"[W socket.cpp:663] {page}\n")) == ["dist.dns"]


def test_a_family_is_fatal_once_it_ended_the_run() -> None:
    assert of_id(read("WARNING disk is full\n"), "fs.disk_full").severity == "warning"
    assert of_id(read(raised("lm.SaveError: the disk is full")), "fs.disk_full").severity == "fatal"


def waits(folder: Path, counts: list[int], pause_s: float = 60.0) -> Verdict:
    """The verdict on a log in which so many workers were waited for, a line a minute."""
    log, now = folder / "train.log", clock.now()

    def stamp(before: int) -> str:
        return datetime.fromtimestamp(now - before * pause_s, UTC).strftime("%Y-%m-%d %H:%M:%S,000")

    lines = [f"{stamp(len(counts))} INFO Collecting trajectories...\n"]
    for number, count in enumerate(counts, 1):
        lines.append(f"{stamp(len(counts) - number)} INFO Waiting for {count} workers... (elapsed: {number * pause_s:.1f}s)\n")
    log.write_text("".join(lines))
    os.utime(log, (now, now))
    session = Session(log)
    try:
        session.until(settled)
    finally:
        session.source.close()
    return diagnose(session.state, session.spec, now + 1)


def test_the_same_count_again_and_again_is_no_life(tmp_path: Path) -> None:
    told = waits(tmp_path, [96] * 30)
    assert (told.word, told.message) == ("stalled", "wait.peers")


@pytest.mark.parametrize("counts", [[96] * 5, [*range(96, 66, -1)], [*[96] * 30, 95, 94, 93]])
def test_a_wait_is_none_before_its_stage_may_be_silent_or_while_the_count_falls(tmp_path: Path, counts: list[int]) -> None:
    assert waits(tmp_path, counts).word in ("running", "slow")


def test_source_below_a_frame_is_not_what_was_raised() -> None:
    error = raised("lm.Wrapped: no room").replace("go()", 'raise RuntimeError("CUDA out of memory")')
    assert causes(read(error)) == ["py.traceback"]
    assert causes(read("  raise RuntimeError: CUDA out of memory. Tried to allocate 2 GiB\n")) == ["cuda.oom"], "no frame above"


@pytest.mark.parametrize("chain", [DIRECT, DURING])
def test_a_known_exception_explains_the_unknown_one_that_it_came_from(chain: str) -> None:
    log = read(raised("KeyError: 'nd_shape'") + chain + raised("OSError: [Errno 28] No space left on device"))
    assert causes(log) == ["fs.no_space"]


def test_a_known_exception_that_only_hands_on_explains_nothing() -> None:
    log = read(raised("lm.RowError: row 7") + DIRECT + raised("datasets.exceptions.DatasetGenerationError: An error occurred"))
    assert causes(log) == ["py.traceback"]
    assert "row 7" in log.findings[0].text


def test_where_it_was_raised_tells_a_message_that_its_words_do_not() -> None:
    error = "RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)"
    assert causes(read(raised(error, "site-packages/trl/extras/vllm_client.py"))) == ["trl.communicator"]
    assert causes(read(raised(error))) == ["nccl.system_error"]


def test_where_it_was_raised_tells_the_kind_of_an_exception_that_nobody_knows() -> None:
    log = read(raised("ValueError: bad stride", "site-packages/torch/_inductor/scheduler.py"))
    assert log.findings[0].groups["kind"] == "kind.compile"
    assert "kind" not in read(raised("ValueError: bad stride", "my/torch_inductor/scheduler.py")).findings[0].groups


def test_a_line_of_advice_below_a_message_tells_of_no_wait() -> None:
    log = read("Possible Cause: 1. the store timed out waiting for a rank 2. the network\n")
    assert log.findings == ()


def test_a_wait_is_no_cause_of_what_broke_after_it() -> None:
    log = read(
        "Waiting for creating a placement group of specs for 10 seconds. specs=[{'GPU': 1.0}].\n"
        + raised("OSError: [Errno 28] No space left on device")
    )
    assert causes(log) == ["fs.no_space"]


def test_srun_s_line_on_a_task_that_told_its_error_is_no_cause() -> None:
    ended = "srun: error: gpu07: task 3: Exited with exit code 1\n"
    assert causes(read(raised("OSError: [Errno 28] No space left on device") + ended)) == ["fs.no_space"]
    assert causes(read(ended)) == ["slurm.task_error"]


def test_a_worker_s_exception_that_is_raised_again_is_told_by_the_original_one() -> None:
    again = raised("ValueError: Caught ValueError in DataLoader worker process 3.")
    log = read(f"{again}Original {raised('lm.RowError: row 7 has no image')}")
    assert causes(log) == ["py.traceback"]
    assert "row 7" in log.findings[0].text


def test_words_on_how_a_run_is_built_explain_no_exception() -> None:
    log = read(raised("AssertionError: no_sync is incompatible with gradient partitioning logic of ZeRO stage 3"))
    assert causes(log) == ["py.traceback"]
    assert log.findings[0].groups["kind"] == "kind.conflict"
