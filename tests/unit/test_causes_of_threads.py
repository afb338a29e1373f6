"""What the sixth threads taught, in logs of other words: who parted from the others, and what failed when the work was done."""

from __future__ import annotations

import pytest

from hangtop.diagnosis.judge import diagnose
from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.records.health import SourceHealth
from hangtop.records.watch_spec import WatchSpec
from hangtop.remedies.advise import advice
from hangtop.stacks.gdb_stacks import gdb_stacks
from hangtop.stacks.printed_stacks import printed_stacks
from hangtop.state.run_state import RunState
from tests.corpus.score import NOW, read

STEPS = "".join(f"step {step}/100 loss {3 - step / 50:.3f}\n" for step in range(1, 101))
HALF = STEPS[: STEPS.index("step 51")]
RAISED = 'Traceback (most recent call last):\n  File "/srv/run.py", line 9, in {}\n    x()\n{}\n'


SEEN = WatchSpec(logs=("train.log",))


def silent(text: str) -> RunState:
    """A run with this log."""
    reading = read(text.encode(), 4_000.0)
    return RunState(log=reading, tail=reading.tail, health={"log": SourceHealth("log", read_at=NOW)}, heard_at=NOW)


def told(text: str) -> tuple[str, list[int | None]]:
    """The cause that is advised on first, and the ranks that are accused."""
    state = silent(text)
    verdict = diagnose(state, SEEN, NOW)
    found = advice(take_snapshot(state, SEEN, NOW), verdict)
    return found[0].cause if found else "", [culprit.rank for culprit in verdict.culprits]


def call(rank: int, count: int, number: str = "1f") -> str:
    at = f"gpu7:{500 + rank}:{600 + rank} [{rank}] NCCL INFO ReduceScatter: opCount {number}"
    return f"{at} sendbuff 0x7f recvbuff 0x7e count {count} datatype 7 op 0 root 0 comm 0x{rank} [nranks=3] stream 0x5\n"


def test_the_rank_whose_collective_has_another_size_is_named() -> None:
    alike = HALF + call(0, 4096, "1e") + call(1, 4096, "1e") + call(2, 4096, "1e")
    cause, ranks = told(alike + call(0, 4096) + call(1, 512) + call(2, 4096))
    assert "rank 1 ReduceScatter of 512, the others ReduceScatter of 4,096" in cause
    assert ranks == [1]
    headline = diagnose(silent(alike + call(0, 4096) + call(1, 512) + call(2, 4096)), SEEN, NOW).headline
    assert headline.startswith("Rank 1 called ReduceScatter of another size than the others; ")
    assert "ReduceScatter" not in told(alike + call(0, 4096) + call(1, 4096) + call(2, 4096))[0]
    assert "ReduceScatter" not in told(alike + call(0, 4096) + call(2, 4096))[0]


def test_a_stack_has_the_pid_and_the_rank_of_the_line_above_it_and_notes_behind_its_own() -> None:
    dump = ["## rank 3, pid 77", "Current thread 0x00007f (most recent call first):", '  File "/srv/a.py", line 3 in load']
    spy = ["$ py-spy dump --pid 81", 'Thread 81 (active): "MainThread"  # local rank 2', "    wait (a.py:9)   <- here"]
    assert [(stack.pid, stack.rank, len(stack.threads[0].frames)) for stack in printed_stacks([*dump, "then", *spy])] == [
        (77, 3, 1),
        (81, None, 1),
    ]


def test_the_threads_that_a_person_chose_in_gdb_are_of_one_process() -> None:
    (stack,) = gdb_stacks(
        ["(gdb) thread 1", "#0 0x01 in poll () from /lib/c.so", "(gdb) thread 9", "#0 0x02 in read () from /lib/c.so"]
    )
    assert [(thread.name, thread.frames[0].function) for thread in stack.threads] == [("MainThread", "poll"), ("", "read")]


def test_what_fails_when_all_steps_were_made_is_told_as_that() -> None:
    end = RAISED.format("upload_report", "IndexError: list index out of range")
    assert told(STEPS + end)[0] == "the training itself is done (100 steps); what failed behind it is upload_report"
    assert "the training itself is done" not in told(HALF + end)[0]


def test_a_file_that_the_run_removed_is_told_with_the_line_that_says_so() -> None:
    missing = RAISED.format("reload", "FileNotFoundError: No such file or directory: '/w/v41/shard_0.bin'")
    assert "purged old snapshot /w/v41" in told(f"{HALF}purged old snapshot /w/v41\n{missing}")[0]
    assert "before it was read" not in told(f"{HALF}purged old snapshot /w/v4\n{missing}")[0]
    assert "before it was read" not in told(f"{HALF}{missing}cleaned up /w/v41\n")[0], "removed behind the failure"


ABORTED = "E torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: -6) local_rank: {} (pid: 41) of binary: py\n"


def ran_out(rank: int, operation: str, number: int) -> str:
    work = f"WorkNCCL(SeqNum={number}, OpType={operation}, Timeout(ms)=600000) ran for 600040 milliseconds before timing out."
    return f"[E ProcessGroupNCCL.cpp:828] [Rank {rank}] Watchdog caught collective operation timeout: {work}\n"


def test_who_ran_out_of_time_in_another_operation_is_missed_by_the_others_and_not_who_was_aborted_first() -> None:
    together = ran_out(1, "_ALLGATHER_BASE", 70) + ran_out(2, "_ALLGATHER_BASE", 70)
    cause, ranks = told(HALF + together + ran_out(0, "ALLREDUCE", 72) + ABORTED.format(1))
    assert "rank 0 waits in ALLREDUCE number 72, its peers in _ALLGATHER_BASE number 70" in cause
    assert ranks == [0]
    assert told(HALF + together + ran_out(0, "_ALLGATHER_BASE", 70) + ABORTED.format(1))[1] == []


def test_unequal_numbers_of_batches_tell_who_is_done_first() -> None:
    packed = "[RANK:1] packed into 90 rows, 44 batches\n[RANK:0] packed into 92 rows, 46 batches\n"
    cause, ranks = told(packed + HALF + ran_out(0, "ALLREDUCE", 72) + ABORTED.format(0))
    assert "46 batches on rank 0, 44 on rank 1" in cause
    assert ranks == [1]
    again = "[RANK:1] has seen 44 batches\n[RANK:0] has seen 46 batches\n"  # a count of what was done
    assert told(again + again + HALF + ran_out(0, "ALLREDUCE", 72) + ABORTED.format(0))[1] == []


def raised(frames: str, exception: str) -> str:
    rows = (row.split(" ", 2) for row in frames.split("; "))
    texts = (f'  File "{file}", line 7, in {name}\n' + (f"    {source[0]}\n" if source else "") for file, name, *source in rows)
    return f"{HALF}Traceback (most recent call last):\n{''.join(texts)}{exception}\n"


PACKAGES = "/opt/env/lib/python3.12/site-packages"
MODEL_CODE = "/home/ada/.cache/huggingface/modules/transformers_modules/m/modeling_m.py"


@pytest.mark.parametrize(
    ("frames", "exception", "cause"),
    [
        (
            f"/srv/run.py main; {PACKAGES}/trl/a.py init; {PACKAGES}/peft/b.py wrap",
            "AttributeError: 'Model' object has no attribute 'heads'",
            "heads is not in this peft: trl was made for another version of it",
        ),
        (
            f"{PACKAGES}/trl/a.py <module>",
            "ImportError: cannot import name 'shard' from 'accelerate.utils' (/opt/x.py)",
            "shard is not in this accelerate: trl was made for another version of it",
        ),
        (
            f"/srv/run.py main; {MODEL_CODE} forward",
            "AttributeError: 'DynamicCache' object has no attribute 'seen'",
            "the code that came with the model (modeling_m.py:7 in forward)",
        ),
        ("/srv/run.py main", "TypeError: fit() got an unexpected keyword argument 'lr'", "lr is no argument of the installed"),
        ("/srv/run.py collate", "KeyError: 'answer'", "'answer' is looked up at run.py:7 in collate"),
        ("/srv/ckpt.py load_checkpoint", "KeyError: 'step'", "the checkpoint holds no 'step'"),
        (f"{PACKAGES}/moe/x.py plan assert len(a) == len(b)", "AssertionError", "“len(a) == len(b)” does not hold (x.py:7"),
        (f"/srv/a.py main; {PACKAGES}/vllm/e.py shutdown", "AttributeError: 'E' object has no attribute 'pool'", "cleaned up"),
        ("/srv/run.py step", "ValueError: loss is nan, stopping", "The loss is no number"),
        ("/srv/run.py put", "x.RpcError: <RPC ended with:\n\tdetails = \"Received message larger than max (9 vs. 4)\"", "gRPC"),
    ],
)  # fmt: skip
def test_an_exception_is_told_with_what_it_is_about(frames: str, exception: str, cause: str) -> None:
    assert cause in told(raised(frames, exception))[0]


def test_a_check_in_native_code_of_the_host_is_none_of_the_gpu() -> None:
    check = (
        "python3: /src/permute.cu:412: void permute(Args): Assertion `args.out != nullptr' failed.\nFatal Python error: Aborted\n"
    )
    assert "the assertion “args.out != nullptr” fails at /src/permute.cu:412" in told(HALF + check)[0]


def test_a_run_that_was_asked_to_stop_is_told_as_that_unless_something_failed_before() -> None:
    assert "somebody asked it to stop" in told(f"{HALF}Received signal 15, exiting\n")[0]
    assert "asked it to stop" not in told(raised("/srv/run.py step", "KeyError: 'x'") + "Received signal 15, exiting\n")[0]


def test_a_traceback_that_begins_in_the_line_of_a_logger_is_of_the_rank_of_that_line() -> None:
    head = "[2026-02-06 02:08:52 TP5] Scheduler hit an exception: Traceback (most recent call last):\n"
    frames = '  File "/srv/sched.py", line 7, in plan\n    assert free > used\n           ^^^^^^^^^^^\nAssertionError\n'
    findings = read((head + frames).encode(), 900.0).findings
    assert [(each.id, each.rank) for each in findings if each.role == "cause"] == [("py.traceback", 5)]
    assert "the check “free > used” does not hold (sched.py:7 in plan)" in told(head + frames)[0]
