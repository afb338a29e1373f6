"""A session is written down as it comes, survives a kill at any byte, and plays again with its own clock."""

from __future__ import annotations

import asyncio
import gzip
import json
import resource
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from hangtop.feeds.recording import Recorder
from hangtop.feeds.replay import RecordingError, ReplayFeed, lines_of, load
from hangtop.records import wire
from hangtop.records.ask import PageAsk
from hangtop.records.health import Heartbeat
from hangtop.records.log import LogLine, LogReading, PageReading, RankLog
from hangtop.records.process import Process, ProcessReading
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState, fold
from tests.fakes.processes import PATIENCE_S

SPEC = WatchSpec(logs=("train.log",), stall_s=30.0)


def reading(at: float, step: int) -> Reading:
    return Reading("log", "n1", at, LogReading(files=(), ranks=(RankLog(0, step=step),)))


def record(path: Path, *readings: Reading) -> None:
    recorder = Recorder(path, SPEC)
    for new_reading in readings:
        recorder.write(new_reading)
    recorder.close()
    recorder.child.wait(PATIENCE_S)


def test_what_was_read_is_what_is_played(tmp_path: Path) -> None:
    path = tmp_path / "session.hangtop"
    record(path, reading(10, 1), reading(11, 2))
    recording = load(path)
    assert recording.header.spec == SPEC
    assert list(recording.readings()) == [reading(10, 1), reading(11, 2)]


def test_a_full_disk_is_told_at_the_end_and_what_was_written_plays(tmp_path: Path) -> None:
    path = tmp_path / "session.hangtop"
    recorder = Recorder(path, SPEC)
    resource.prlimit(recorder.child.pid, resource.RLIMIT_FSIZE, (4096, 4096))
    ends = time.monotonic() + PATIENCE_S
    while not recorder.left_out and time.monotonic() < ends:
        recorder.write(reading(time.monotonic(), 1))
        time.sleep(0.001)
    recorder.close()
    assert recorder.problem == f"cannot record: File too large: {path}"
    assert len(load(path).times) > 5


def test_a_recording_that_is_whole_has_no_problem(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "session.hangtop", SPEC)
    recorder.write(reading(10, 1))
    ends = time.monotonic() + PATIENCE_S
    while len([*lines_of((tmp_path / "session.hangtop").read_bytes())]) < 2 and time.monotonic() < ends:
        time.sleep(0.01)
    recorder.close()
    assert recorder.problem is None


def test_answers_to_the_screen_are_no_part_of_the_run(tmp_path: Path) -> None:
    path = tmp_path / "session.hangtop"
    record(path, reading(10, 1), Reading("pages", "n1", 10.5, PageReading(1)))
    assert len(load(path).times) == 1


def test_a_recording_cut_at_any_byte_plays_what_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "session.hangtop"
    session = [reading(10 + step, step) for step in range(40)]
    record(path, *session)
    whole = path.read_bytes()
    played = 0
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        try:
            recording = load(path)
        except RecordingError:
            assert played == 0
            continue
        assert list(recording.readings()) == session[: len(recording.times)]
        assert played <= len(recording.times) <= played + 1
        assert recording.torn <= 1
        played = len(recording.times)
    assert played == len(session)


def test_of_a_broken_recording_what_is_before_the_break_plays(tmp_path: Path) -> None:
    path = tmp_path / "session.hangtop"
    session = [reading(10 + step, step) for step in range(400)]
    record(path, *session)
    whole = path.read_bytes()
    middle = len(whole) // 2
    path.write_bytes(whole[:middle] + bytes(len(whole) - middle))
    recording = load(path)
    assert list(recording.readings()) == session[: len(recording.times)]
    assert 150 < len(recording.times) < 250


def test_a_killed_hangtop_leaves_a_recording_of_all_that_it_had_read(tmp_path: Path) -> None:
    """The recorder outlives the screen's process, and ends the stream."""
    path = tmp_path / "session.hangtop"
    session = [reading(10 + step, step) for step in range(9)]
    recorder = Recorder(path, SPEC)
    for new_reading in session:
        recorder.write(new_reading)
    recorder.child.communicate(timeout=PATIENCE_S)
    assert list(load(path).readings()) == session
    assert load(path).torn == 0
    assert len(gzip.decompress(path.read_bytes()).splitlines()) == 1 + len(session)


def test_a_recording_is_for_its_owner_and_without_secrets(tmp_path: Path) -> None:
    """Also one that others could read before."""
    path = tmp_path / "session.hangtop"
    path.touch(0o644)
    line = LogLine(0, 0, None, None, "", "export WANDB_API_KEY=hunter2hunter2")
    record(path, Reading("log", "n1", 10.0, LogReading((), tail=(line,), fresh=True)))
    assert path.stat().st_mode & 0o777 == 0o600
    (played,) = load(path).readings()
    assert played is not None
    assert isinstance(played.value, LogReading)
    assert played.value.tail[0].text == "export WANDB_API_KEY=[redacted]"


def test_other_programs_can_unpack_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "session.hangtop"
    record(path, reading(10, 1))
    header, line = gzip.decompress(path.read_bytes()).splitlines()
    assert json.loads(header)["file"] == "hangtop"
    assert wire.decode_reading(line) == reading(10, 1)


def test_whole_snapshots_cost_a_fraction_of_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "session.hangtop"
    workers = tuple(Process(pid, 1.0, pid, 1, "python", f"python train.py {pid}", "S", role="data worker") for pid in range(512))
    session = [
        Reading(
            "procs",
            "n1",
            at,
            ProcessReading(processes=tuple(replace(worker, cpu_percent=at * worker.pid % 97) for worker in workers)),
        )
        for at in range(1, 31)
    ]
    record(path, *session)
    assert list(load(path).readings()) == session
    assert path.stat().st_size < sum(len(wire.encode(snapshot)) for snapshot in session) / 10


def test_recording_goes_on_after_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "session.hangtop"
    record(path, reading(10, 1), reading(11, 2))
    path.write_bytes(path.read_bytes()[:-20])
    record(path, reading(12, 3))
    recording = load(path)
    assert recording.times == (10, 12)
    assert recording.torn == 1


def test_an_older_recording_plays_and_is_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "session.hangtop"
    path.write_bytes(wire.encode(wire.Header(1, "0", 0.0, SPEC)) + wire.encode(reading(10, 1)) + wire.encode(reading(11, 2))[:-9])
    record(path, reading(12, 3))
    recording = load(path)
    assert list(recording.readings()) == [reading(10, 1), reading(12, 3)]
    assert recording.torn == 1


def test_two_do_not_record_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "session.hangtop"
    first = Recorder(path, SPEC)
    with pytest.raises(RecordingError, match="another hangtop records to it"):
        Recorder(path, SPEC)
    first.close()


@pytest.mark.parametrize("content", [b"step 1\n", gzip.compress(b"step 1\n", mtime=0), gzip.compress(b"step 1\n", mtime=0)[:12]])
def test_another_file_is_never_written_to(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "train.log"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match="is not a hangtop recording"):
        Recorder(path, SPEC)
    assert path.read_bytes() == content


def test_a_folder_that_is_not_there_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="No such file or directory"):
        Recorder(tmp_path / "missing" / "session", SPEC)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "the file is empty"),
        (b"step 1\n", "not a hangtop recording"),
        (b"\x00\xff\n", "not a hangtop recording"),
        (gzip.compress(b"step 1\n", mtime=0), "not a hangtop recording"),
        (wire.encode(wire.Header(1, "0", 0.0, SPEC)), "holds no reading"),
        (wire.encode(wire.Header(7, "0", 0.0, SPEC)), "recording has schema 7"),
    ],
)
def test_a_file_that_is_no_recording_is_said_in_one_line(tmp_path: Path, content: bytes, why: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=why):
        load(path)


async def folded(feed: ReplayFeed, until_step: int | None) -> RunState:
    """The state when rank 0 reached this step (`None`: is not known)."""
    state = RunState()
    async with asyncio.timeout(PATIENCE_S):
        async for played_reading in feed.readings():
            state = fold(state, played_reading)
            if (state.ranks[0].step if 0 in state.ranks else None) == until_step:
                return state
    raise AssertionError("the replay ended")


async def test_a_replay_keeps_the_pace_of_the_session_times_speed(tmp_path: Path) -> None:
    path = tmp_path / "session.hangtop"
    record(path, *[reading(1_000 + step, step) for step in range(100)])
    started = time.monotonic()
    feed = ReplayFeed(load(path), speed=100.0)
    await folded(feed, 99)
    assert time.monotonic() - started > 0.9
    assert feed.now() == 1_099


async def test_seeking_back_forgets_the_future(tmp_path: Path) -> None:
    path = tmp_path / "session.hangtop"
    record(path, *[reading(1_000 + step, step) for step in range(100)])
    feed = ReplayFeed(load(path))
    feed.toggle_pause()
    feed.seek(1_080)
    await folded(feed, 80)
    feed.seek(1_020)
    state = await folded(feed, 20)
    assert state.ranks[0].step == 20
    assert feed.now() == 1_020


async def test_a_question_is_answered_even_by_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "session.hangtop"
    record(path, Reading("probe", "n1", 1.0, Heartbeat()))
    feed = ReplayFeed(load(path))
    feed.ask(PageAsk(7, 0, 0))
    async with asyncio.timeout(PATIENCE_S):
        async for played_reading in feed.readings():
            if isinstance(played_reading.value, PageReading):
                assert played_reading.value.ask == 7
                assert "only the newest lines" in (played_reading.value.problem or "")
                return


async def test_no_time_passes_before_what_was_recorded_of_it_is_played(tmp_path: Path) -> None:
    path = tmp_path / "session.hangtop"
    record(path, *[reading(1_000 + step, step) for step in range(100)])
    feed = ReplayFeed(load(path), speed=1e9)
    readings = feed.readings()
    for step in range(3):
        assert feed.now() == 1_000 + step
        assert (await anext(readings)).at == 1_000 + step
