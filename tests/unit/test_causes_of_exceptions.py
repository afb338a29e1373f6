"""What an exception whose page tells only its kind says of its cause, by its words and its file; and what came before a hang."""

from __future__ import annotations

import pytest

from tests.unit.test_causes_of_threads import ABORTED, HALF, ran_out, told

PACKAGES = "/venv/lib/python3.12/site-packages"


def raised(file: str, function: str, exception: str) -> str:
    frames = f'  File "/srv/run.py", line 9, in step\n    y()\n  File "{file}", line 27, in {function}\n    x()\n'
    return f"{HALF}Traceback (most recent call last):\n{frames}{exception}\n"


OBJECTS = "objects sent between ranks came broken (distributed_c10d.py:27 in _tensor_to_object)"
ZERO3 = "ZeRO-3 lost its order of parameters"
LAYOUT = "this megatron-core does not take the layout"
ROOM = "no token is left for the next turn"
EMPTY = "an empty tensor comes to run.py:9 in step"
LINK = "the file system under /mnt/share/last.pt takes no symbolic link"
INSIDE = "inside enginelib, at pool.py:27 in free, called from srv/run.py:9 in step"


@pytest.mark.parametrize(
    ("file", "function", "exception", "cause"),
    [
        (f"{PACKAGES}/torch/distributed/distributed_c10d.py", "_tensor_to_object", "EOFError: Ran out of input", OBJECTS),
        (f"{PACKAGES}/deepspeed/runtime/zero/stage3.py", "fetch", "IndexError: list index out of range", ZERO3),
        (f"{PACKAGES}/megatron/core/dist_checkpointing/a.py", "save", "ValueError: flattened_range is not supported", LAYOUT),
        (f"{PACKAGES}/vllm/params.py", "check", "ValueError: max_tokens must be at least 1, got -3.", ROOM),
        (
            f"{PACKAGES}/torch/nn/norm.py",
            "forward",
            "RuntimeError: cannot reshape tensor of 0 elements into shape [0, -1]",
            EMPTY,
        ),
        ("/usr/lib/python3.12/os.py", "f", "OSError: [Errno 95] Operation not supported: 'ep1.pt' -> '/mnt/share/last.pt'", LINK),
        (f"{PACKAGES}/enginelib/pool.py", "free", "RuntimeError: block 7 already freed", INSIDE),
    ],
)
def test_a_cause_is_told_by_the_words_and_the_file_of_an_exception(file: str, function: str, exception: str, cause: str) -> None:
    assert told(raised(file, function, exception))[0].startswith(cause)


@pytest.mark.parametrize(
    ("file", "exception", "cause"),
    [
        (f"{PACKAGES}/deepspeed/runtime/zero/stage_1_and_2.py", "IndexError: list index out of range", ZERO3),
        (f"{PACKAGES}/megatron/core/dist_checkpointing/a.py", "ValueError: /c is no distributed checkpoint", LAYOUT),
        (f"{PACKAGES}/vllm/params.py", "ValueError: max_tokens must be at least 1, got none.", ROOM),
        (f"{PACKAGES}/torch/nn/norm.py", "RuntimeError: shape '[4, 8]' is invalid for input of size 10", EMPTY),
        ("/usr/lib/python3.12/os.py", "OSError: [Errno 28] No space left on device: 'a' -> '/mnt/share/last.pt'", LINK),
    ],
)
def test_and_not_where_these_say_something_else(file: str, exception: str, cause: str) -> None:
    assert not told(raised(file, "go", exception))[0].startswith(cause)


def test_an_engine_that_was_put_to_sleep_at_work_is_told_only_where_the_engine_itself_fails() -> None:
    asleep = "INFO 11-14 15:11:23 [worker.py:9] Sleep mode freed 30.11 GiB memory, 1.19 GiB memory is still in use.\n"
    fault = "torch.AcceleratorError: CUDA error: an illegal memory access was encountered"
    at = raised(f"{PACKAGES}/vllm/v1/runner.py", "get_output", fault)
    assert told(HALF + asleep + at.removeprefix(HALF))[0].startswith("the engine was put to sleep right before")
    assert "put to sleep" not in told(HALF + asleep + raised("/srv/own/loss.py", "loss", fault).removeprefix(HALF))[0]
    assert "put to sleep" not in told(at)[0]


def gathered(rank: int, size: int, number: int = 41, operation: str = "_ALLGATHER_BASE") -> str:
    return ran_out(rank, operation, number).replace(", Timeout", f", NumelIn={size}, NumelOut={2 * size}, Timeout")


def test_one_collective_of_other_sizes_on_the_ranks_is_told_with_the_sizes() -> None:
    cause = told(HALF + gathered(0, 1500) + gathered(1, 900))[0]
    assert cause.startswith("the same _ALLGATHER_BASE has different sizes: rank 0: 1,500, rank 1: 900")
    assert "sizes" not in told(HALF + gathered(0, 900) + gathered(1, 900))[0]
    assert "sizes" not in told(HALF + gathered(0, 1500, 41) + gathered(1, 900, 42))[0]
    assert "sizes" not in told(HALF + gathered(0, 1500, 41, "SEND") + gathered(1, 900, 41, "SEND"))[0]


def test_a_rank_that_answered_as_nobody_did_before_parted_from_the_others() -> None:
    alike = "".join(
        f"rank {rank}: loss {time}.{rank} below the best: saves the state\n" for time in range(4) for rank in range(3)
    )
    last = "rank 0: loss 1.2 below the best: saves the state\nrank 2: loss 1.9 below the best: saves the state\n"
    otherwise = "rank 1: loss 3.5 over the best: keeps going\n"
    ended = ran_out(1, "ALLREDUCE", 9) + ran_out(0, "ALLREDUCE", 9) + ran_out(2, "ALLREDUCE", 9) + ABORTED.format(0)
    cause, ranks = told(alike + last + otherwise + ended)
    assert cause.startswith("the ranks parted: rank 1: “loss 3.5 over the best: keeps going”")
    assert ranks == [1]
    same = "rank 1: loss 0.5 below the best: saves the state\n"
    assert "parted" not in told(alike + last + same + ended)[0]


def test_data_that_is_read_again_without_a_batch_and_ranks_that_the_world_has_not() -> None:
    begun = "10:00:00 INFO ***** Running training *****\nwandb: Tracking run with wandb version 0.16.0\n"
    reads = "".join(f"loader opened /data/part{number}.tar\n" for number in (1, 2, 1))
    bar = "Steps:   0%|          | 0/1000 [00:00<?, ?it/s]\n"
    assert "(/data/part1.tar twice)" in told(begun + reads + bar)[0]
    assert "twice" not in told(begun + reads.replace("part1.tar\n", "part3.tar\n", 1) + bar)[0]
    world = "10:00:00 INFO Namespace(dist_ranks=[0, 2], world_size={})\n10:00:01 INFO Start training...\n"
    assert told(world.format(2))[0].startswith("dist_ranks=[0, 2] names a rank that a world of 2 has not")
    assert "names a rank" not in told(world.format(4))[0]
