"""A recording that grows is bounded: it goes on in new parts, the oldest go, and what is left is read as one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hangtop.feeds.parts import OLDER, make_room, older, read_parts, wholes
from hangtop.feeds.recorder import record, refusal
from hangtop.feeds.replay import load
from hangtop.records import wire
from hangtop.records.log import LogReading, RankLog
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec

SPEC = WatchSpec(logs=("train.log",), stall_s=30.0)
PART_BYTES = 2_000


def reading(step: int) -> Reading:
    return Reading("log", "n1", 10.0 + step, LogReading(files=(), ranks=(RankLog(0, step=step),)))


def told(steps: range) -> Iterator[bytes]:
    yield wire.encode(wire.Header(wire.SCHEMA, "1", 1.0, SPEC)).rstrip(b"\n")
    for step in steps:
        yield wire.encode(reading(step)).rstrip(b"\n")


def recorded(path: Path, steps: range) -> str | None:
    return record(path, told(steps), lambda: None, PART_BYTES)


def test_parts_are_read_as_one_and_each_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "s.hangtop"
    assert recorded(path, range(400)) is None
    parts = [each for each in older(path) if each.exists()]
    assert len(parts) > 1
    assert list(load(path).readings()) == [reading(step) for step in range(400)]
    assert load(parts[-1]).times[0] == reading(0).at
    assert all(load(part).header.spec == SPEC for part in parts)
    assert all(part.stat().st_mode & 0o777 == 0o600 for part in (path, *parts))


def test_it_is_bounded_and_the_newest_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "s.hangtop"
    assert recorded(path, range(3000)) is None
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted([path.name, *(each.name for each in older(path))])
    assert sum(each.stat().st_size for each in tmp_path.iterdir()) < (OLDER + 1) * (PART_BYTES + 1_000)
    steps = [each.value.ranks[0].step for each in load(path).readings()]  # type: ignore[union-attr]
    assert steps == list(range(3000 - len(steps), 3000))


def test_the_next_session_goes_on_where_the_last_one_ended(tmp_path: Path) -> None:
    path = tmp_path / "s.hangtop"
    for first in (0, 150, 300):
        assert recorded(path, range(first, first + 150)) is None
    assert list(load(path).readings()) == [reading(step) for step in range(450)]


def test_what_is_no_part_is_neither_read_nor_overwritten(tmp_path: Path) -> None:
    path, other = tmp_path / "s.hangtop", tmp_path / "s.hangtop.1"
    recorded(path, range(5))
    other.write_text("mine")
    assert len(load(path).times) == 5
    assert refusal(path) == f"cannot record to {other}: it exists and is not a hangtop recording; choose another name"
    assert recorded(path, range(400)) == refusal(path)
    assert other.read_text() == "mine"


def test_a_part_that_is_moved_on_while_all_are_read_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.hangtop"
    recorded(path, range(20))
    whole, opening = path.read_bytes(), Path.open

    def moved_on(self: Path, *how: str) -> object:
        file = opening(self, *how)
        if self == path and not (tmp_path / "s.hangtop.1").exists():
            make_room(path)
        return file

    monkeypatch.setattr(Path, "open", moved_on)
    assert read_parts(path) == whole


def test_a_move_that_was_cut_short_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.hangtop"
    recorded(path, range(160))
    assert not (tmp_path / "s.hangtop.2").exists()
    (tmp_path / "s.hangtop.1").rename(tmp_path / "s.hangtop.2")
    make_room(path)
    recorded(path, range(160, 161))
    assert list(load(path).readings()) == [reading(step) for step in range(161)]


def test_a_pattern_that_names_parts_too_counts_nothing_twice(tmp_path: Path) -> None:
    path = tmp_path / "s.hangtop"
    assert wholes([path, *older(path), tmp_path / "b"]) == [path, tmp_path / "b"]
    assert wholes([*older(path)][:2]) == [*older(path)][:2], "each may be asked about alone"


def test_the_recorder_that_hangtop_starts_says_so_first(tmp_path: Path) -> None:
    (tmp_path / "s.hangtop.2").write_text("mine")
    words = (sys.executable, "-m", "hangtop.feeds.recorder", str(tmp_path / "s.hangtop"))
    ended = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert "s.hangtop.2: it exists and is not a hangtop recording" in ended.stdout
