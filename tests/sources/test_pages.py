"""Pages and searches over real log files, through the page source as the probe calls it."""

from __future__ import annotations

import os
import random
import re
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from hangtop.common import clock
from hangtop.probe.context import ProbeContext
from hangtop.probe.log.log_source import LogSource
from hangtop.probe.log.pages import PageSource
from hangtop.records.ask import PageAsk
from hangtop.records.log import LogLine, PageReading
from hangtop.records.watch_spec import WatchSpec
from tests.fakes.piped import kept
from tests.fakes.processes import eventually


class Reader:
    """Asks and takes the last part of the answer."""

    def __init__(self, *logs: Path, **spec: object) -> None:
        context = ProbeContext(WatchSpec(logs=tuple(os.fspath(log) for log in logs), **spec))  # type: ignore[arg-type]
        self.log_source = LogSource(context)
        list(self.log_source.read(clock.now()))
        self.pages = PageSource(context)
        self.parts: list[PageReading] = []

    def ask(self, offset: int, direction: str = "on", **more: object) -> PageReading:
        ask = PageAsk(7, more.pop("file", 0), offset, direction, **more)  # type: ignore[arg-type]
        self.parts = list(self.pages.answer(ask, clock.now()))
        assert {part.ask for part in self.parts} == {7}
        return self.parts[-1]

    def tail(self) -> tuple[LogLine, ...]:
        assert self.log_source._logs is not None
        (log,) = self.log_source._logs._set.logs
        return log.tail(1_000)


@pytest.fixture
def reader():
    readers: list[Reader] = []

    def begin(*logs: Path, **spec: object) -> Reader:
        readers.append(Reader(*logs, **spec))
        return readers[-1]

    yield begin
    for each in readers:
        each.log_source.close()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "train.log"
    path.write_bytes(b"".join(b"line %d\n" % n for n in range(1_000)))
    return path


def regex_processes() -> list[psutil.Process]:
    """Our own children that look for a regex."""
    found = []
    for child in psutil.Process().children():
        with suppress(psutil.Error):  # it has ended meanwhile, and was not reaped yet
            if any("regex_child" in word for word in child.cmdline()):
                found.append(child)
    return found


def texts(page: PageReading) -> list[str]:
    return [line.text for line in page.lines]


def numbers(page: PageReading) -> list[int]:
    return [int(line.text.split()[1]) for line in page.lines]


def test_forward_from_the_start(log, reader):
    page = reader(log).ask(0, count=3)
    assert texts(page) == ["line 0", "line 1", "line 2"]
    assert [line.offset for line in page.lines] == [0, 7, 14]
    assert (page.at_start, page.at_end, page.scanned_part) == (True, False, 1.0)


def test_back_from_the_end(log, reader):
    page = reader(log).ask(log.stat().st_size, "back", count=2)
    assert texts(page) == ["line 998", "line 999"]
    assert (page.at_start, page.at_end) == (False, True)


def test_back_from_a_line_gives_those_before_it_and_on_from_behind_its_start_those_after(log, reader):
    here = log.read_bytes().index(b"line 500")
    assert numbers(reader(log).ask(here, "back", count=2)) == [498, 499]
    assert numbers(reader(log).ask(here, "on", count=2)) == [500, 501]
    assert numbers(reader(log).ask(here + 1, "on", count=2)) == [501, 502]
    assert numbers(reader(log).ask(here + 3, "back", count=2)) == [498, 499]


def test_the_edges_of_the_file_are_told(log, reader):
    page = reader(log).ask(7, "back")
    assert (numbers(page), page.at_start) == ([0], True)
    page = reader(log).ask(0, "back")
    assert (page.lines, page.at_start) == ((), True)
    page = reader(log).ask(log.stat().st_size - 9, "on")
    assert (numbers(page), page.at_end) == ([999], True)
    page = reader(log).ask(10**12, "on")
    assert (page.lines, page.at_end) == ((), True)
    page = reader(log).ask(10**12, "back", count=1)
    assert numbers(page) == [999]


def test_a_last_line_without_end_is_a_line(log, reader):
    with log.open("ab") as file:
        file.write(b"line 1000")
    assert numbers(reader(log).ask(10**9, "back", count=2)) == [999, 1000]


def test_pages_and_tail_agree_on_every_line(tmp_path, reader):
    """Place and text are the same wherever a line comes from, or the screen would show it twice."""
    path = tmp_path / "train.log"
    path.write_bytes(
        b"\x1b[36m(WorkerDict pid=7)\x1b[0m Chinese \xe4\xbd\xa0\xe5\xa5\xbd\r\n\n"
        b"\r 10%|#| 1/10\r 20%|##| 2/10\n"
        b"[rank3]: step 5/10 loss 0.1\n\x00\x00\x00hole\n" + b"x" * 20_000 + b"\nlast\n"
    )
    watching = reader(path)
    page = watching.ask(10**9, "back")
    assert [(line.offset, line.rank, line.prefix, line.text, line.kind) for line in page.lines] == [
        (line.offset, line.rank, line.prefix, line.text, line.kind) for line in watching.tail()
    ]


def test_paging_through_a_big_file_meets_every_line_once_both_ways(tmp_path, reader):
    path = tmp_path / "big.log"
    rng = random.Random(1)
    path.write_bytes(b"".join(b"line %d %s\n" % (n, b"x" * rng.choice([0, 50, 3000])) for n in range(3_000)))
    watching = reader(path)
    seen: list[int] = []
    offset, page = 0, watching.ask(0, count=700)
    while page.lines:
        seen += numbers(page)
        offset = page.lines[-1].offset + 1
        page = watching.ask(offset, count=700)
    assert seen == list(range(3_000))
    seen, page = [], watching.ask(path.stat().st_size, "back", count=700)
    while page.lines:
        seen = numbers(page) + seen
        page = watching.ask(page.lines[0].offset, "back", count=700)
    assert seen == list(range(3_000))


def test_a_line_of_20_megabytes_is_no_wall(tmp_path, reader):
    path = tmp_path / "wall.log"
    path.write_bytes(b"line 1\n" + b"y" * 20_000_000 + b"\nline 3\n")
    assert texts(reader(path).ask(0))[0] == "line 1"
    assert texts(reader(path).ask(0))[-1] == "line 3"
    page = reader(path).ask(path.stat().st_size, "back")
    assert (texts(page)[0], texts(page)[-1], page.at_start) == ("line 1", "line 3", True)


def test_a_place_inside_a_bar_can_be_pointed_at(tmp_path, reader):
    path = tmp_path / "bar.log"
    path.write_bytes(b"start\n\r 10%\r boom happened\r 20%\nend\n")
    here = path.read_bytes().index(b" boom")
    page = reader(path).ask(here, count=2)
    assert page.lines[0].offset == here
    assert "boom" in page.lines[0].text


def test_plain_text_in_any_case(log, reader):
    assert numbers(reader(log).ask(0, pattern="LINE 99")) == [99, *range(990, 1000)]
    assert numbers(reader(log).ask(10**9, "back", pattern="Line 99", count=2)) == [998, 999]


@pytest.mark.parametrize("direction", ["on", "back"])
@pytest.mark.parametrize(
    ("pattern", "regex"),
    [
        ("rank 7", False),
        ("训练", False),
        ("straße", False),
        (" 12", False),
        ("(worker pid=5) step 12", False),
        (r"step \d*7\b", True),
        (r"(?i)STEP 1\d\d ", True),
        (r"^step 5|ok$", True),
        ("a.c", True),
    ],
)
def test_a_search_finds_what_a_look_at_every_line_finds(tmp_path, reader, pattern, regex, direction):
    path = tmp_path / "mixed.log"
    rng = random.Random(5)
    kinds = ["step {n} ok", "Rank 7 says {n}", "训练 {n}", "STRASSE {n}", "Straße {n}", "abc\t{n}"]
    kinds.append("\x1b[36m(Worker pid=5)\x1b[0m step {n} ok")
    path.write_text("".join(rng.choice(kinds).format(n=n) + "\n" for n in range(4_000)))
    watching = reader(path)
    first = watching.ask(0, count=2_000).lines
    everything = first + watching.ask(first[-1].offset + 1, count=2_000).lines
    assert len(everything) == 4_000

    def wanted(line: LogLine) -> bool:
        text = f"{line.prefix} {line.text}"
        return bool(re.search(pattern, text)) if regex else pattern.casefold() in text.casefold()

    expected = [line for line in everything if wanted(line)]
    expected = expected[:2_000] if direction == "on" else expected[-2_000:]
    page = watching.ask(0 if direction == "on" else 10**9, direction, pattern=pattern, regex=regex, count=2_000)
    assert [line.offset for line in page.lines] == [line.offset for line in expected]


def test_json_lines_are_searched_as_they_are_shown(tmp_path, reader):
    path = tmp_path / "train.log"
    path.write_text("".join(f'{{"level": "info", "msg": "\\u6b65", "step": {n}, "rank": 0}}\n' for n in range(50)))
    assert texts(reader(path).ask(0, pattern="步 step=41")) == ["步 step=41"]


@pytest.mark.parametrize("direction", ["on", "back"])
def test_json_lines_are_searched_as_they_are_shown_wherever_they_stand(tmp_path, reader, direction):
    path = tmp_path / "train.log"
    told = '{"level": "info", "msg": "done", "step": 41}'
    path.write_text("plain words\n" * 9 + f"{told}\n2026-01-11T10:00:00.1Z stdout F {told}\n" + "plain words, step=41\n")
    page = reader(path).ask(0 if direction == "on" else 10**9, direction, pattern="step=41")
    assert texts(page) == ["done step=41", "done step=41", "plain words, step=41"]


def test_next_and_previous(log, reader):
    here = log.read_bytes().index(b"line 500")
    watching = reader(log)
    assert numbers(watching.ask(here + 1, pattern="00", count=1)) == [600]
    assert numbers(watching.ask(here, "back", pattern="00", count=1)) == [400]


def test_only_errors_and_stages(tmp_path, reader):
    path = tmp_path / "train.log"
    noise = "step 3/10 loss 0.5\nnothing to see\n" * 100
    path.write_text(noise + "2026-01-11 10:00:00,123 ERROR something broke\n" + noise)
    page = reader(path).ask(0, kinds=("stage", "error"))
    assert texts(page) == ["something broke"]


def test_a_line_without_a_logger_is_an_error_by_its_own_words(tmp_path, reader):
    path = tmp_path / "train.log"
    told = [
        "ERROR worker 7 failed to fetch shard, will retry",
        "Error: no such file",
        "gcc: fatal error: no input files",
        "host app[12]: error: disk is full",
        "ValueError: bad thing",
        "shop.errors.OddError: bad thing",
        "Exception in thread Thread-3 (run):",
        "panic: index out of range",
    ]
    calm = ["0 errors, 3 warnings", "error_rate went down", "the ValueError: is handled", "an error we know of"]
    path.write_text("\n".join(f"[rank2]: {line}" for line in [*told, *calm]) + "\n")
    assert texts(reader(path).ask(0, kinds=("stage", "error"))) == told


def test_a_bad_regex_is_one_clear_line(log, reader):
    page = reader(log).ask(0, pattern="(unclosed", regex=True)
    assert page.lines == ()
    assert page.problem is not None
    assert page.problem.startswith("not a regex: missing ), unterminated subpattern at position 0")
    assert "\n" not in page.problem


def test_a_hostile_regex_is_stopped(tmp_path, reader):
    path = tmp_path / "train.log"
    path.write_text("a" * 60 + "!\n")
    page = reader(path).ask(0, pattern=r"(a+)+$", regex=True)  # it would take longer than this test may
    assert page.problem is not None
    assert "takes too long" in page.problem
    assert regex_processes() == []


def test_a_long_search_reports_on_its_way_and_can_be_left(tmp_path, reader):
    path = tmp_path / "long.log"
    path.write_bytes(b"some words of a line that is not wanted 0123456789\n" * 200_000)
    watching = reader(path)
    answer = watching.pages.answer(PageAsk(1, 0, 0, "on", pattern=r"wanted$|never", regex=True), clock.now())
    first = next(iter(answer))
    assert first.scanned_part < 1
    assert first.problem is None
    assert len(regex_processes()) == 1
    answer.close()  # type: ignore[attr-defined]
    assert regex_processes() == []


def test_a_search_in_a_big_file_ends_with_the_whole_answer(tmp_path, reader):
    path = tmp_path / "long.log"
    path.write_bytes(b"needle one\n" + b"hay hay hay\n" * 2_000_000 + b"needle two\n")
    watching = reader(path)
    page = watching.ask(0, pattern="NEEDLE")
    assert texts(page) == ["needle one", "needle two"]
    assert page.scanned_part == 1
    assert all(part.scanned_part < 1 for part in watching.parts[:-1])
    assert texts(watching.ask(path.stat().st_size, "back", pattern="needle", count=1)) == ["needle two"]


def test_a_file_that_is_gone_or_a_number_that_is_none_is_one_clear_line(log, reader):
    watching = reader(log)
    log.unlink()
    assert str(log) in (watching.ask(0).problem or "")
    assert watching.ask(0, file=9).problem == "there is no log number 9"


def test_the_rank_of_the_file_stands_in_its_lines(tmp_path, reader):
    for rank in (0, 1):
        (tmp_path / f"rank_{rank}.log").write_text("hello\n")
    assert [line.rank for line in reader(tmp_path).ask(0, file=1).lines] == [1]


def test_what_came_through_a_pipe_can_be_paged(reader):
    ours, theirs = os.pipe()
    os.write(theirs, b"".join(b"line %d\n" % n for n in range(100)))
    with kept(ours) as stdin:
        watching = reader(Path("-"), stdin=stdin)
        page = eventually(lambda: page if (page := watching.ask(10**9, "back", count=2)).lines else None, "the lines of the pipe")
        assert numbers(page) == [98, 99]
        assert numbers(watching.ask(0, count=1)) == [0]
    os.close(theirs)
    os.close(ours)
