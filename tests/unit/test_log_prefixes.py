"""Prefixes come off from the left, however they nest, and say who wrote the line and when."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from hangtop.logs.lines.prefixes import strip
from hangtop.logs.lines.timestamps import LogClock, one_clock, seconds

FORMS: list[tuple[str, str, dict[str, Any]]] = [
    ("2026-01-11T10:00:00.5Z stderr F msg", "msg", {"time": "2026-01-11T10:00:00.5Z", "stream": "stderr"}),
    ("2026-01-11T10:00:00.5Z stdout P half", "half", {"stream": "stdout", "partial": True}),
    ("2026-01-11T10:00:00.000Z msg", "msg", {"time": "2026-01-11T10:00:00.000Z"}),
    ("12: step 4", "step 4", {"task": 12}),
    ("24: 105.1, 105.3 avg loss, 0.1 rate", "24: 105.1, 105.3 avg loss, 0.1 rate", {}),
    ("[1,5]<stderr>:msg", "msg", {"rank": 5, "stream": "stderr"}),
    ("[3]<stdout>:msg", "msg", {"rank": 3, "stream": "stdout"}),
    ("[1,mpirank:6,algo-2]<stderr>:msg", "msg", {"rank": 6, "host": "algo-2", "stream": "stderr"}),
    ("[1]:LOG 7", "LOG 7", {"local_rank": 1}),
    ("[1]: a reference", "[1]: a reference", {}),
    ("llm-worker-0 pytorch [rank3]: msg", "msg", {"rank": 3}),
    ("fine-tuned 12345 [rank3]: msg", "fine-tuned 12345 [rank3]: msg", {}),
    ("[node1-4711@1,1,5]<stdout>: msg", "msg", {"rank": 5}),
    ("(WorkerDict pid=133947, ip=10.0.0.7) msg", "msg", {"actor": "WorkerDict", "pid": 133947, "host": "10.0.0.7"}),
    ("(pid=77) msg", "msg", {"pid": 77}),
    ("(a.<locals>.Worker(3) pid=5, actor_id=ab12) msg", "msg", {"pid": 5}),
    ("(raylet, ip=10.0.0.7) msg", "msg", {"actor": "raylet", "host": "10.0.0.7"}),
    ("(autoscaler +1m15s) msg", "msg", {"actor": "autoscaler"}),
    ("[rank1]: Traceback", "Traceback", {"rank": 1}),
    ("[default0]:msg", "msg", {"local_rank": 0}),
    ("gpu07:4711:4802 [2] NCCL INFO Bootstrap", "NCCL INFO Bootstrap", {"host": "gpu07", "pid": 4711}),
    ("[E321 02:07:08.4 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog", "Watchdog", {"rank": 0, "level": "E"}),
    ("[PG ID 0 PG GUID 0(default_pg) Rank 6] msg", "msg", {"rank": 6}),
    ("[PG ID 3 PG GUID 9(mesh_tp) Rank 1] msg", "msg", {}),
    ("(Worker_TP1 pid=9) ERROR 07-17 00:07:07 [core.py:69] msg", "msg", {"part": 1, "pid": 9, "level": "ERROR"}),
    ("Process 3: loss 2.1", "loss 2.1", {"task": 3}),
    ("Process 71: python train.py (rank 0)", "Process 71: python train.py (rank 0)", {}),
    ("Process 71: VLLM::Worker_TP0", "Process 71: VLLM::Worker_TP0", {}),
    ("[titan] 2026-01-11 10:00:00,123 - root - INFO - msg", "msg", {"time": "2026-01-11 10:00:00,123", "level": "INFO"}),
    ("[01/11 10:00:00 d2.utils.events]:  msg", "msg", {"time": "01/11 10:00:00"}),
    ("20260111-10:00:00.123 StatsLogger INFO: msg", "msg", {"time": "20260111-10:00:00.123", "level": "INFO"}),
    ("INFO 07-17 00:07:07 [core.py:69] msg", "msg", {"level": "INFO", "time": "07-17 00:07:07"}),
    ("[2026-03-11 13:53:32 DP1 TP2] Load weight begin.", "Load weight begin.", {"part": 2}),
    ("[2026-01-11 10:00:00,123] [INFO] [logging.py:96:log_dist] [Rank 3] step=10", "step=10", {"rank": 3, "level": "INFO"}),
    ("[NeMo I 2026-01-11 10:00:00 nemo_logging:393] msg", "msg", {"time": "2026-01-11 10:00:00"}),
    ("[INFO|trainer.py:2141] 2026-01-11 10:00:00,123 >> ***** Running", "***** Running", {"level": "INFO"}),
    ("2026-11-20 10:19:02,487\tINFO worker.py:2038 -- msg", "msg", {"level": "INFO"}),
    ("2026-01-11 10:00:00.123 | INFO     | __main__:main:12 - msg", "msg", {"level": "INFO"}),
    ("I0111 10:00:00.123456 1401 train.py:88] msg", "msg", {"level": "I", "pid": 1401}),
    ("01/11/2026 10:00:00 - INFO - __main__ - [RANK 0] msg", "msg", {"rank": 0, "level": "INFO"}),
    ("2026-11-20 10:10:31,688 INFO [rank 0/2] train: msg", "msg", {"rank": 0, "world": 2}),
    ("[2026-01-11 10:00:50] root - msg", "msg", {"time": "2026-01-11 10:00:50"}),
    ("[2026-01-11 10:00:50,1][root][INFO] - msg", "msg", {"level": "INFO"}),
    ("2026-01-11 10:00:00,123 - INFO - msg", "msg", {"level": "INFO"}),
    ("INFO:trainer.loop:msg", "msg", {"level": "INFO"}),
    ("Jan 11 10:00:00 node7 train[33]: msg", "msg", {"time": "Jan 11 10:00:00"}),
    ("[rank: 1] msg", "msg", {"rank": 1}),
    ("(Rank 3/8) msg", "msg", {"rank": 3, "world": 8}),
    ("[2026-01-11 10:00:00,1][rank3][INFO] - msg", "- msg", {"rank": 3, "level": "INFO"}),
    ("2026-01-11 10:00:00 rank3 INFO msg", "INFO msg", {"rank": 3}),
    ("[2026-01-11 10:00:00 WARNING] msg", "msg", {"level": "WARNING"}),
    ("INFO - 2026-01-11 10:00:00,1 - msg", "msg", {"level": "INFO"}),
    ("RANK 3 | msg", "msg", {"rank": 3}),
    ("rank 0 in world size 2 is assigned as TP rank 0", "rank 0 in world size 2 is assigned as TP rank 0", {}),
    ("trainer-0  | msg", "msg", {}),
    ("ValueError: msg", "ValueError: msg", {}),
    ("[1/2] msg", "[1/2] msg", {}),
    ("dataset len: 7", "dataset len: 7", {}),
    ("step 5 [repeated 33x across cluster] (Ray deduplicates logs by default. Set x)", "step 5", {"repeated": 33}),
]


@pytest.mark.parametrize(("line", "message", "said"), FORMS)
def test_a_prefix_is_taken_off_and_read(line: str, message: str, said: dict[str, Any]) -> None:
    prefix, text = strip(line)
    known = msgspec.to_builtins(prefix)
    assert text == message
    assert {name: known.get(name) for name in said} == said
    if not said:
        assert {"rank", "local_rank", "pid", "task"}.isdisjoint(known)


def test_prefixes_nest_and_the_outer_clock_holds() -> None:
    prefix, text = strip("2026-01-11T10:00:00.0Z stderr F (WorkerDict pid=1) [rank7]:[W1006 08:40:33.9 ProcessGroup.cpp:9] bad")
    assert text == "bad"
    assert (prefix.rank, prefix.pid, prefix.level, prefix.time) == (7, 1, "W", "2026-01-11T10:00:00.0Z")


@pytest.mark.parametrize(
    ("stamp", "same"),
    [
        ("2026-01-11T10:00:00.5Z", "2026-01-11 10:00:00.500"),
        ("2026-01-11T12:00:00+02:00", "2026-01-11 10:00:00"),
        ("01/11/2026 10:00:00", "2026-01-11 10:00:00"),
        ("2026/01/11 10:00:00", "2026-01-11 10:00:00"),
        ("117 10:00:00.25", "2026-01-17 10:00:00,250"),
        ("1131 10:00:00.0", "2026-11-31 10:00:00,0"),
        ("07-17 00:07:07", "2026-07-17 00:07:07"),
        ("Jan 11 10:00:00", "2026-01-11 10:00:00"),
    ],
)
def test_stamps_of_all_forms_are_the_same_time(stamp: str, same: str) -> None:
    stamps = LogClock()
    assert stamps.read(same) == stamps.read(stamp) or stamps.read(same) is None


def test_what_is_no_date_is_no_time() -> None:
    assert LogClock().read("2026-99-99 10:00:00") is None
    assert LogClock().read("yesterday") is None


@pytest.mark.parametrize(("text", "value"), [("05:06", 306.0), ("1:22:33", 4953.0), ("2 days, 01:00:00", 176_400.0), ("?", None)])
def test_durations_of_bars(text: str, value: float | None) -> None:
    assert seconds(text) == value


def test_a_live_line_whose_clock_is_wrong_counts_from_its_arrival() -> None:
    clock = LogClock(shift_s=-3600.0)
    assert clock.at(10_000.0) == 6_400.0
    clock.arrived(6_401.0)
    assert clock.at(10_000.0) == 6_400.0
    assert clock.at(2_000.0) == 6_401.0
    assert clock.at(None) == 6_401.0


@pytest.mark.parametrize(
    ("later_s", "clock_s"),
    [
        ([], []),
        ([3600.2], [3600.2]),
        ([0.2, 1.4, 0.9], [0.2, 0.2, 0.2]),  # lines without a clock came after the last that has one
        ([600.0, 840.0], [600.0, 600.0]),  # copied in one go: the second had been silent for longer
        ([0.3, -28_797.9], [2.1, -28_797.9]),  # the second writes in Shanghai's time, and a little after its last line
    ],
)
def test_logs_of_one_run_share_a_clock_but_not_a_zone(later_s: list[float], clock_s: list[float]) -> None:
    assert one_clock(later_s) == pytest.approx(clock_s)
