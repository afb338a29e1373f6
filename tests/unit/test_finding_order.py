"""Findings of several files: by time, whatever numbers the files have; within one file by place; a word where nobody knows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.logs.digest import Digest
from hangtop.logs.finding_order import in_order
from hangtop.logs.joined_logs import join_logs
from hangtop.records.health import SourceHealth
from hangtop.records.log import Finding, LogFile, LogReading, WrittenAt, at_once
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState
from tests.fakes.read_log import INDEX

NOON = datetime(2026, 1, 11, 12, tzinfo=UTC).timestamp()
CAUSE = Finding("cuda.oom", "fatal", "cause", 0, "CUDA out of memory", hang="crash")


def stamp(second: float) -> str:
    return datetime.fromtimestamp(NOON + second, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def read(*files: str, written_by: Sequence[float] = ()) -> LogReading:
    """The files as one log. `written_by`: the seconds after noon at which each was written last."""
    facts = []
    for number, text in enumerate(files):
        digest = Digest(INDEX, number, written_by=NOON + (written_by[number] if written_by else 1_000))
        digest.feed(text.encode())
        facts.append(digest.facts())
    return join_logs(facts, [LogFile(f"{number}.log", size_bytes=len(text)) for number, text in enumerate(files)], INDEX.catalog)


def told(log: LogReading) -> tuple[object, ...]:
    """The verdict and the findings, without what names a file or a place in it."""
    log = replace(log, last_output_at=NOON + 1_000)
    state = RunState(log=log, ranks={rank.rank: rank for rank in log.ranks}, health={"log": SourceHealth("log", read_at=NOON)})
    said = diagnose(replace(state, heard_at=NOON + 1_001), WatchSpec(logs=("logs",)), NOON + 1_001)
    return (
        (said.word, said.headline, said.confidence, said.message, said.detail),
        [(culprit.rank, culprit.confidence) for culprit in said.culprits],
        log.attempt,
        [
            (finding.id, finding.attempt, finding.severity, finding.role, finding.rank, finding.text, finding.doubt)
            for finding in log.findings
        ],
    )


LINES = st.sampled_from(
    [
        "step {n}/100 loss 1.5",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
        "RuntimeError: NCCL error: unhandled system error",
        "ValueError: bad shard",
        "torch/distributed/run.py:852] Setting OMP_NUM_THREADS environment variable for each process to be 1 in default",
        "api.py:900] [default] Failed. 2/3 attempts left; will restart worker group",
        "loading dataset from /data",
        "nothing of note",
    ]
)
ROWS = st.lists(st.tuples(st.integers(1, 40), LINES, st.booleans()), min_size=1, max_size=12)


@given(files=st.lists(ROWS, min_size=2, max_size=3))
@settings(max_examples=150, deadline=None)
def test_the_order_in_which_files_are_named_changes_nothing(files: list[list[tuple[int, str, bool]]]) -> None:
    """Rows are written in the order of their seconds; some tell the time and some do not."""
    texts = []
    for rank, rows in enumerate(files):
        lines = [
            (f"{stamp(second)} INFO " if stamped else "") + f"[rank{rank}]: " + line.replace("{n}", str(second))
            for second, line, stamped in sorted(rows, key=lambda row: row[0])
        ]
        texts.append("".join(f"{line}\n" for line in lines))
    ends = [max(second for second, _, _ in rows) + 0.5 for rows in files]
    answers = [
        told(read(*(texts[number] for number in order), written_by=[ends[number] for number in order]))
        for order in permutations(range(len(files)))
    ]
    assert all(answer == answers[0] for answer in answers)


def test_between_files_the_time_decides_and_within_one_the_place() -> None:
    late_but_early_in_its_file = replace(CAUSE, id="nccl.system_error", offset=10, written=at_once(20.0), file=0)
    early_but_far_behind = replace(CAUSE, offset=9_000, written=at_once(10.0), file=1)
    assert [finding.id for finding in in_order((late_but_early_in_its_file, early_but_far_behind))] == [
        "cuda.oom",
        "nccl.system_error",
    ]
    same_file = replace(early_but_far_behind, file=0)
    assert [finding.id for finding in in_order((late_but_early_in_its_file, same_file))] == ["nccl.system_error", "cuda.oom"]


@pytest.mark.parametrize(
    ("first", "second", "doubt"),
    [
        (WrittenAt(10.0, 10.0, 11.0), WrittenAt(11.0, 11.0, 12.0), ""),
        (WrittenAt(10.0, 10.0, 11.0), WrittenAt(10.0, 10.0, 11.0), "order"),
        (WrittenAt(10.0, 9.0, 12.0), WrittenAt(11.0, 11.0, 12.0), "order"),
        (WrittenAt(None, None, 10.0), WrittenAt(11.0, 11.0, 12.0), ""),
        (WrittenAt(10.0, 10.0, 11.0), WrittenAt(None, None, 99.0), "order"),
        (WrittenAt(), WrittenAt(), "order"),
    ],
)
def test_the_first_says_so_when_another_file_may_hold_an_earlier_one(first: WrittenAt, second: WrittenAt, doubt: str) -> None:
    other = replace(CAUSE, id="nccl.system_error", text="NCCL error", file=1, written=second)
    leading, _ = in_order((other, replace(CAUSE, written=first)))
    assert (leading.id, leading.doubt) == ("cuda.oom", doubt)


def test_the_same_message_of_all_ranks_is_sure_though_not_who_wrote_it_first() -> None:
    oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {} GiB.\n"
    log = read(f"[rank0]: {oom.format('2.00')}", f"[rank1]: {oom.format('3.00')}")
    (first, *_) = log.findings
    assert (first.doubt, first.ranks, first.count) == ("rank", (0, 1), 2)
    ((word, _, confidence, _, _), culprits, *_) = told(log)
    assert (word, confidence, culprits) == ("crashed", "certain", [(0, "possible")])


def test_a_warning_leads_only_where_it_came_before_a_message_of_its_family() -> None:
    full = replace(CAUSE, id="ray.object_store_full", offset=50)
    disk = replace(CAUSE, id="ray.disk_full", severity="warning", hang="either", offset=10)
    network = replace(disk, id="wandb.net", offset=5)
    assert [finding.id for finding in in_order((full, disk, network))] == ["ray.disk_full", "ray.object_store_full", "wandb.net"]
    assert in_order((full, replace(disk, survived=True)))[0] is full


def test_an_unstamped_line_has_the_time_of_its_neighbours() -> None:
    before, after = f"{stamp(1)} INFO step 1/9 loss 2\n", f"{stamp(9)} INFO leaving\n"
    (finding,) = read(f'{before}Traceback (most recent call last):\n  File "t.py", line 1\nValueError: bad\n{after}').findings
    assert finding.written == WrittenAt(NOON + 1, NOON + 1, NOON + 9.001)


def test_the_last_lines_of_a_file_without_a_clock_are_as_old_as_the_file() -> None:
    failed = 'Traceback (most recent call last):\n  File "t.py", line 1\nValueError: bad\n'
    (finding,) = read(failed, written_by=[7]).findings
    assert finding.written == WrittenAt(NOON + 7, None, NOON + 7)
    (finding,) = read(failed + "more and more\n" * 300, written_by=[7]).findings
    assert finding.written == WrittenAt(None, None, NOON + 7)


RESTART = "torch.distributed.elastic.agent.server.api [default] Worker group FAILED. 2/3 attempts left; will restart worker group"
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."


@pytest.mark.parametrize("shows_first", [True, False], ids=["the first file shows it", "the second shows it"])
@pytest.mark.parametrize(
    ("second", "word", "confidence"),
    [(15.0, "running", "likely"), (22.0, "crashed", "certain"), (45.0, "crashed", "certain"), (None, "crashed", "possible")],
    ids=["before the restart", "before the first step after it", "after the last step", "nobody knows when"],
)
def test_a_restart_that_one_file_shows_cuts_the_other_by_time(
    shows_first: bool, second: float | None, word: str, confidence: str
) -> None:
    steps = [f"{stamp(step)} step {step}/100 loss 1.5" for step in range(1, 10)]
    again = [f"{stamp(25 + step)} step {step}/100 loss 1.5" for step in range(1, 15)]
    shows = "\n".join([*steps, f"{stamp(20)} {RESTART}", *again, ""])
    other = f"[rank1]: {OOM}\n" if second is None else "\n".join([*steps, f"{stamp(second)} [rank1]: {OOM}", ""])
    log = read(*((shows, other) if shows_first else (other, shows)))
    verdict = told(log)[0]
    assert isinstance(verdict, tuple)
    assert (verdict[0], verdict[2]) == (word, confidence)
