"""The times of a start by the guides' own numbers, the lines of the self-play guide, and heartbeats whose number stands."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.logs.catalog.load import load
from hangtop.logs.digest import Digest
from hangtop.logs.extract.literal_index import index_of
from hangtop.logs.extract.wait_reports import reports_a_wait
from hangtop.logs.joined_logs import join_logs
from hangtop.logs.lines.timestamps import without_tail
from hangtop.records.log import LogFile, LogReading
from hangtop.records.process import RecentActivity
from hangtop.records.stack import Frame
from hangtop.records.verdict import Verdict
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState
from tests.fakes.members import NOW, SPEC, USER, process, run, thread

CATALOG = load()
INDEX = index_of(CATALOG)
BEGAN = 1_768_125_600.0
"""2026-01-11 10:00:00 UTC."""


def at(second: float, text: str) -> str:
    """A line of the guide's logger, so many seconds after the start."""
    minutes, seconds = divmod(int(second), 60)
    return f"[2026-01-11 {10 + minutes // 60:02}:{minutes % 60:02}:{seconds:02}] root - {text}"


def reading(lines: list[str], last_s: float, shift_s: float = 0.0) -> LogReading:
    """Of these lines, the last byte of which was written so many seconds after the start."""
    digest = Digest(INDEX, 0, clock_shift_s=shift_s, written_by=BEGAN + last_s)
    digest.feed("".join(f"{line}\n" for line in lines).encode())
    file, written_at = digest.facts(), BEGAN + last_s
    seen = (LogFile("train.log", status="ok", size_bytes=file.bytes, scanned_bytes=file.bytes),)
    return join_logs((file,), seen, CATALOG, last_output_at=written_at, outputs=((file, written_at),))


def verdict(lines: list[str], last_s: float, now_s: float) -> Verdict:
    return diagnose(RunState(log=reading(lines, last_s)), WatchSpec(), BEGAN + now_s)


GKD = [at(0, "GKD TRAINING START"), at(5, "✓ Configuration loaded"), at(10, "Initializing Actor Worker...")]


@pytest.mark.parametrize(
    ("now_s", "said", "confidence"),
    [
        (150, "Starting.", "likely"),
        (400, "slowly: it takes less than 3:00", "likely"),
        (700, "rather hangs than loads", "possible"),
    ],
)
def test_a_start_is_judged_by_its_time_also_while_output_goes_on(now_s: float, said: str, confidence: str) -> None:
    lines = [*GKD, at(now_s - 3, "[ACTOR] reading the config of the model"), at(now_s - 1, "[ACTOR] building layer norms")]
    found = verdict(lines, now_s - 1, now_s)
    assert (found.word, found.confidence) == ("running", confidence)
    assert said in found.headline


def test_a_run_that_trains_and_another_framework_are_not_judged_by_it() -> None:
    assert "rather hangs" not in verdict([*GKD, at(30, "Starting training loop...")], 700, 701).headline
    assert "Starting." in verdict([at(0, "Initializing 4 workers..."), at(699, "Created 1/4 workers...")], 699, 700).headline


def test_in_a_silent_start_the_time_is_a_fact_beside_the_silence() -> None:
    found = verdict(GKD, 10, 500)
    assert found.word == "slow"
    assert any("slowly: it takes less than 3:00" in fact.text for fact in found.evidence)
    assert verdict(GKD, 10, 640).word == "stalled"


@pytest.mark.parametrize(
    ("lines", "stage"),
    [
        (["About to initialize workers..."], "actor_init"),
        (["About to initialize workers...", "Workers initialized, starting collection..."], "rollout"),
        (["Initializing 4 workers...", "Started 4 workers, waiting for results..."], "rollout"),
    ],
)
def test_the_lines_of_the_self_play_guide_are_stages(lines: list[str], stage: str) -> None:
    found = reading([at(number, line) for number, line in enumerate(lines)], 10)
    assert (found.framework, found.stages[-1].id, found.stages[-1].done_at) == ("selfplay", stage, None)


def test_a_complete_collection_ends_the_rollout() -> None:
    lines = [
        "About to initialize workers...",
        "Workers initialized, starting collection...",
        "Collection complete: 512 trajectories",
    ]
    assert reading([at(number, line) for number, line in enumerate(lines)], 10).stages[-1].done_at is not None


def test_how_many_workers_were_made_is_told() -> None:
    lines = [at(0, "Initializing 100 workers..."), at(5, "Created 10/100 workers..."), at(9, "Created 20/100 workers...")]
    assert "20 of 100 workers made" in verdict(lines, 9, 12).detail
    assert any(fact.text == "20 of 100 workers made" for fact in verdict(lines, 9, 700).evidence)


def polls(*left: int, every_s: int = 60, stamped: bool = True) -> list[str]:
    texts = [f"Waiting for {count} workers... (elapsed: {every_s * number:.1f}s)" for number, count in enumerate(left, 1)]
    head = [at(0, "Initializing 4 workers..."), at(0, "Collecting trajectories...")]
    return [*head, *(at(every_s * number, text) if stamped else text for number, text in enumerate(texts, 1))]


@pytest.mark.parametrize("stamped", [True, False])
def test_the_same_number_of_workers_waited_for_again_and_again_is_no_life(stamped: bool) -> None:
    lines = polls(*[4] * 20, stamped=stamped)
    found = verdict(lines, 1200, 1201)
    assert (found.word, "Waiting for 4 workers" in found.headline) == ("stalled", True)


@pytest.mark.parametrize(
    ("line", "word"), [("Waiting for 4 workers... (elapsed: 600s)", "stalled"), ("heartbeat 600", "running")]
)
def test_who_prints_that_it_waits_is_not_at_work_because_it_prints(line: str, word: str) -> None:
    """Its main thread wakes to print. Of a mere heartbeat nobody knows what else goes on."""
    wakes = process(0, RecentActivity(10.0, 10, 0.0, switches_s=1.0))
    state = run({0: thread(Frame("main", USER, 90), wait="sleep")}, (wakes,), stage="rollout", silence_s=900.0)
    assert state.log is not None
    log = replace(state.log, repeats=line, clockwork_since=NOW - 900, news_at=NOW - 900, last_output_at=NOW - 2, beat_s=3.0)
    assert diagnose(replace(state, log=log), SPEC, NOW).word == word


def test_a_number_that_falls_is_life() -> None:
    assert verdict(polls(*range(40, 20, -1)), 1200, 1201).word == "running"


@pytest.mark.parametrize(
    ("text", "waits"),
    [
        ("Waiting for 4 workers... (elapsed: 60.0s)", True),
        ("still waiting on 12 remaining tasks", True),
        ("3 ranks are still missing", True),
        ("Missing ranks: [3, 5]", True),
        ("Waiting for requests", False),
        ("Waiting for 0 workers", False),
        ("heartbeat 17 ok", False),
    ],
)
def test_reports_of_a_wait_are_told_from_heartbeats(text: str, waits: bool) -> None:
    assert reports_a_wait(text) is waits


@pytest.mark.parametrize(
    ("shift_s", "local_s", "clock_s"),
    [
        (118.0, 0.0, 0.0),  # UTC here: two minutes without a stamp
        (-28_800.0 + 895, 28_800.0, -28_800.0),  # UTC+8 here
        (60.0, 28_800.0, 0.0),  # its clock is UTC
        (-3_600.0 + 5, 0.0, -3_595.0),  # of another zone nothing is known
        (18_000.0, 0.0, 18_000.0),
        (-2.0, 0.0, 0.0),  # a file server's clock
    ],
)
def test_lines_without_a_stamp_do_not_move_the_clock(shift_s: float, local_s: float, clock_s: float) -> None:
    assert without_tail(shift_s, local_s) == clock_s


def test_a_program_on_ray_has_started_once_ray_init_returned() -> None:
    ray = "2026-01-11 10:00:00,123\tINFO worker.py:1832 -- "
    begun = verdict([at(0, f"{ray}Connecting to existing Ray cluster at address: 10.0.0.1:6379...")], 5, 6)
    assert begun.headline == "Starting."
    lines = [at(0, f"{ray}Started a local Ray instance."), at(60, "shard one is read")]
    assert verdict(lines, 60, 61).headline == "Running."
    assert verdict(lines, 60, 160).word == "running", "the start of Ray explains no silence any more"
