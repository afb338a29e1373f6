"""What the sixth threads taught, in logs of other words: who parted from the others, and what failed when the work was done."""

from __future__ import annotations

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
