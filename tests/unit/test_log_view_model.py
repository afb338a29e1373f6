"""The lines in view: the tail as it grows, the whole file page by page."""

from __future__ import annotations

import random
import re

import pytest
from msgspec.structs import replace

from hangtop.common.text import clock
from hangtop.records.ask import PageAsk
from hangtop.records.log import LogFile, LogLine, LogReading, PageReading
from hangtop.records.reading import Reading
from hangtop.render.log.log_goal import Goal, goal_of, step_regex
from hangtop.render.log.log_query import LogQuery
from hangtop.render.log.log_rows import LineLook, line_rows
from hangtop.render.log.log_view_model import MOST_LINES, LogViewModel
from hangtop.render.spans import width_of
from hangtop.state.run_state import RunState, fold
from tests.fakes.views import view_of

HEIGHT = 20


class Log:
    """A log of `count` lines in as many files as asked for, a state that knows its tail, and a probe that answers at once."""

    def __init__(self, count: int = 12_000, files: int = 1, tail: int = 500) -> None:
        self.lines = [LogLine(i % files, 10 * i, float(i), None, "", f"line {i}") for i in range(count)]
        self.count, self.files = count, files
        self.state = RunState()
        self.book = LogViewModel(self.send)
        self.asked: list[PageAsk] = []
        self.feed(*self.lines[-tail:], fresh=True)

    def feed(self, *lines: LogLine, fresh: bool = False) -> None:
        files = tuple(LogFile(f"{i}.log", size_bytes=10 * self.count) for i in range(self.files))
        self.state = fold(self.state, Reading("log", "", 0.0, LogReading(files, tail=lines, fresh=fresh)))
        self.book.take_tail(self.state)

    def say(self, *texts: str) -> None:
        for text in texts:
            self.lines.append(LogLine(0, 10 * self.count, float(self.count), None, "", text))
            self.count += 1
        self.feed(*self.lines[-len(texts) :])

    def send(self, ask: PageAsk) -> None:
        self.asked.append(ask)

    def answer(self) -> None:
        """Everything that was asked, as the probe would."""
        while self.asked:
            ask = self.asked.pop(0)
            fits = [line for line in self.lines if line.file == ask.file and (not ask.pattern or ask.pattern in line.text)]
            back = ask.direction == "back"
            page = [x for x in fits if (x.offset < ask.offset if back else x.offset >= ask.offset)]
            page = page[-ask.count :] if back else page[: ask.count]
            at_start, at_end = not page or page[0] == fits[0], not page or page[-1] == fits[-1]
            self.book.take_page(PageReading(ask.ask, tuple(page), at_start=at_start, at_end=at_end), HEIGHT, self.state)

    def scroll(self, by: int) -> None:
        self.book.scroll(by, HEIGHT, self.state)
        self.answer()

    @property
    def shown(self) -> list[str]:
        return [line.text for line in self.book.visible(HEIGHT)]


def test_it_follows_the_end():
    log = Log()
    assert log.shown[-1] == "line 11999"
    log.say("one", "two")
    assert log.shown[-2:] == ["one", "two"]


def test_every_line_of_the_file_can_be_reached_backwards_and_forwards():
    log = Log()
    seen: list[str] = []
    for _ in range(2_000):
        before = log.shown[0]
        log.scroll(-(HEIGHT - 1))
        seen.append(log.shown[0])
        if log.shown[0] == before == "line 0":
            break
    assert log.shown[0] == "line 0"
    assert len(log.book.lines) <= MOST_LINES
    reached = set()
    for _ in range(2_000):
        reached.update(log.shown)
        log.scroll(HEIGHT - 1)
        if log.book.following:
            break
    reached.update(log.shown)
    assert reached >= {f"line {i}" for i in range(12_000)}


@pytest.mark.parametrize("seed", range(5))
def test_wherever_one_scrolls_lines_stand_in_order_without_gap_or_double(seed):
    log, dice = Log(count=5_000), random.Random(seed)
    for _ in range(300):
        match dice.randrange(5):
            case 0:
                log.say(f"line {log.count}")
            case 1:
                log.book.to_start(log.state)
                log.answer()
            case 2:
                log.book.jump((0, 10 * dice.randrange(log.count)), HEIGHT, log.state)
                log.answer()
            case _:
                log.scroll(dice.choice([-1, 1]) * dice.randrange(400))
        numbers = [int(text.split()[1]) for text in log.shown]
        assert numbers == list(range(numbers[0], numbers[0] + HEIGHT))


def test_new_lines_do_not_move_what_is_read():
    log = Log()
    log.scroll(-100)
    before = log.shown
    log.say(*(f"more {i}" for i in range(50)))
    assert log.shown == before


def test_a_jump_shows_the_line_among_its_neighbours():
    log = Log()
    log.book.jump((0, 12_340), HEIGHT, log.state)
    log.answer()
    assert "line 1234" in log.shown
    assert "line 1233" in log.shown
    assert log.book.target == (0, 12_340)


def test_a_filter_finds_old_lines_and_takes_new_ones():
    log = Log()
    log.book.look_for(LogQuery("line 777"), log.state)
    log.answer()
    assert log.shown == [f"line {i}" for i in (777, *range(7770, 7780))]
    log.say("nothing", "line 7770 again")
    assert log.shown[-1] == "line 7770 again"


def test_a_regex_is_never_matched_here():
    sought = LogQuery("(a+)+$", regex=True)
    assert not sought.local(LogLine(0, 0, None, None, "", "a" * 50 + "b"))


def test_regex_follows_by_asking_the_probe():
    log = Log()
    log.book.look_for(LogQuery("line 1199", regex=True), log.state)
    log.answer()
    log.say("line 1199 once more")
    assert log.shown[-1] == "line 11999"
    log.book.refresh_regex()
    log.answer()
    log.book.refresh_regex()
    assert not log.asked
    assert log.shown[-1] == "line 1199 once more"


def test_a_late_answer_to_what_was_left_is_not_shown():
    log = Log()
    log.book.look_for(LogQuery("line 777"), log.state)
    late, log.asked = log.asked, []
    log.book.look_for(LogQuery(), log.state)
    log.asked = late
    log.answer()
    assert log.shown[0] == "line 11980"


def test_a_restart_of_the_log_starts_over():
    log = Log()
    log.feed(LogLine(0, 0, None, None, "", "a new file"), fresh=True)
    assert log.shown == ["a new file"]


def test_a_line_that_is_still_written_replaces_itself():
    log = Log()
    log.feed(LogLine(0, 999_999, None, None, "", "10 %"))
    log.feed(LogLine(0, 999_999, None, None, "", "20 %"))
    assert log.shown[-2:] == ["line 11999", "20 %"]


def test_a_line_told_twice_stands_once_in_its_place_from_the_start_and_among_other_files():
    log = Log(files=2)
    first, other = LogLine(0, 999_990, 1.0, None, "", "10 %"), LogLine(1, 999_990, 1.0, None, "", "other")
    again = replace(first, text="20 %")
    log.feed(first, other, again, fresh=True)
    assert log.shown == ["20 %", "other"]
    log.feed(replace(first, text="30 %"), replace(other, offset=999_999, text="more"))
    assert log.shown == ["30 %", "other", "more"]


@pytest.mark.parametrize("seed", range(5))
def test_a_filtered_view_of_several_files_goes_back_to_their_starts_in_order_and_forth_again(seed):
    dice, count = random.Random(seed), 14_000
    log = Log(count=count, files=4, tail=100)
    writers = [dice.choice((0, 0, 0, 1, 1, 2) if at < 9_000 else (0, 1, 3)) for at in range(count)]
    log.lines = [LogLine(writers[i], 10 * i, float(i), None, "", f"line {i}") for i in range(count)]
    log.feed(*log.lines[-100:], fresh=True)
    log.book.look_for(LogQuery("7"), log.state)
    log.answer()
    wanted = [i for i in range(count) if "7" in str(i)]
    for way, end in ((-1, wanted[0]), (1, wanted[-1])):
        for _ in range(2_000):
            log.scroll(way * dice.randrange(1, 200))
            shown = [line.offset // 10 for line in log.book.visible(HEIGHT)]
            begin = wanted.index(shown[0])
            assert shown == wanted[begin : begin + HEIGHT]
            if end in shown and (way < 0 or log.book.following):
                break
        assert end in shown


def test_a_regex_takes_new_lines_of_every_file_that_has_grown():
    log = Log(count=400, files=3)
    log.book.look_for(LogQuery("again", regex=True), log.state)
    log.answer()
    for file in (0, 2):
        log.lines.append(LogLine(file, 10 * log.count, float(log.count), None, "", f"file {file} again"))
        log.count += 1
    log.feed(*log.lines[-2:])
    log.book.refresh_regex()
    log.answer()
    assert log.shown == ["file 0 again", "file 2 again"]


@pytest.mark.parametrize("seed", range(5))
def test_several_files_are_read_as_one_in_the_order_of_time(seed):
    dice, count = random.Random(seed), 14_000
    log = Log(count=count, files=4)
    writers = [dice.choice((0, 0, 0, 1, 1, 2) if at < 9_000 else (0, 1, 3)) for at in range(count)]  # one ends, one begins late
    silent = [i % 5 == 1 and writers[i] == writers[i - 1] for i in range(count)]  # lines that tell no time
    log.lines = [LogLine(writers[i], 10 * i, None if silent[i] else float(i), None, "", f"line {i}") for i in range(count)]
    log.feed(*log.lines[-400:], fresh=True)

    def go(way: int) -> None:
        log.scroll(way * dice.randrange(1, 600))
        shown = [line.offset // 10 for line in log.book.visible(HEIGHT)]
        timed = [number for number in shown if not silent[number]]
        assert timed == [number for number in range(timed[0], timed[-1] + 1) if not silent[number]]
        for file in range(4):
            own = [number for number in shown if writers[number] == file]
            between = range(own[0], own[-1] + 1) if own else ()
            assert own == [number for number in between if writers[number] == file]

    for _ in range(500):
        go(-1)
    assert log.shown[0] == "line 0"
    assert log.book.at_start
    for _ in range(500):
        go(1)
    assert log.shown[-1] == "line 13999"
    assert log.book.following


def test_files_that_tell_no_time_are_read_one_by_one_and_it_says_so():
    log = Log(count=4_000, files=4, tail=100)
    log.lines = [replace(line, at=None) for line in log.lines]
    log.feed(*log.lines[-100:], fresh=True)
    for _ in range(5):
        log.book.scroll(-HEIGHT, HEIGHT, log.state)
    assert "this file alone" in log.book.said
    log.answer()
    for _ in range(40):
        log.scroll(-HEIGHT)
    assert {line.file for line in log.book.visible(HEIGHT)} == {log.book.sought.file}
    log.book.follow(log.state)
    assert log.shown[-1] == "line 3999"
    assert {line.file for line in log.book.visible(HEIGHT)} == {0, 1, 2, 3}


def test_asks_go_out_one_at_a_time_for_a_new_one_replaces_the_old():
    log = Log()
    log.book.jump((0, 12_340), HEIGHT, log.state)
    assert [ask.direction for ask in log.asked] == ["back"]
    log.answer()
    assert log.book.lines[-1].offset > 12_340
    assert not log.book.waiting


def test_parts_of_an_answer_show_as_they_come():
    log = Log()
    log.book.look_for(LogQuery("line 777"), log.state)
    (ask,) = log.asked
    log.book.take_page(PageReading(ask.ask, (log.lines[7779],), scanned_part=0.4), HEIGHT, log.state)
    assert log.shown == ["line 7779"]
    assert log.book.said == "searched 40%"
    log.book.take_page(PageReading(ask.ask, (log.lines[777], log.lines[7779]), at_start=True), HEIGHT, log.state)
    assert log.shown == ["line 777", "line 7779"]
    assert log.book.said == ""


def test_a_problem_of_the_probe_is_said():
    log = Log()
    log.book.look_for(LogQuery("x"), log.state)
    log.book.take_page(PageReading(log.asked[-1].ask, problem="permission denied"), HEIGHT, log.state)
    assert log.book.said == "permission denied"


def rotated(log: Log, *texts: str) -> None:
    """The file is rotated: the probe tells its last lines again, each before byte 0, the border, and the first new lines."""
    behind = log.lines[-1].offset + 2
    kept = [replace(line, offset=line.offset - behind) for line in log.lines[-200:]]
    new = [LogLine(0, 10 * at, None, None, "", text) for at, text in enumerate(texts)]
    log.feed(*kept, LogLine(0, -1, None, None, "", "", "border"), *new, fresh=True)
    log.lines = new


def test_after_a_rotation_the_old_lines_stand_above_the_new_ones() -> None:
    log = Log(300)
    rotated(log, "of the new file")
    assert [line.text for line in log.book.visible(4)] == ["line 298", "line 299", "", "of the new file"]


def test_a_person_that_reads_back_stays_where_he_is_when_the_log_is_rotated() -> None:
    log = Log(300)
    log.scroll(-30)
    before = [line.text for line in log.book.visible(HEIGHT)]
    rotated(log, "of the new file", "and on")
    assert [line.text for line in log.book.visible(HEIGHT)] == before
    log.scroll(-300)
    assert [line.text for line in log.book.visible(1)] == ["line 0"]
    assert "of the new file" not in [line.text for line in log.book.lines]
    log.scroll(1_000)
    log.scroll(1_000)
    assert [line.text for line in log.book.lines[-2:]] == ["of the new file", "and on"]


def test_a_border_is_no_match_of_a_filter() -> None:
    log = Log(30)
    log.book.look_for(LogQuery("line"), log.state)
    log.answer()
    rotated(log, "line of the new file")
    assert {line.kind for line in log.book.lines} == {"plain"}


@pytest.mark.parametrize("at", [0.0, 1.0, 17.5, 4_000.0, 11_999.0, 99_999.0])
@pytest.mark.parametrize("untimed", [0.0, 0.9])
def test_a_time_is_found_wherever_it_stands_also_among_lines_without_one(at: float, untimed: float) -> None:
    log, dice = Log(), random.Random(7)
    log.lines = [replace(line, at=None) if dice.random() < untimed else line for line in log.lines]
    log.book.go_to(Goal(at=at), HEIGHT, log.state)
    log.answer()
    wanted = next((line for line in log.lines if line.at is not None and line.at >= at), log.lines[-1])
    assert log.book.target == (0, wanted.offset)
    assert wanted.text in log.shown


def test_no_time_in_the_whole_log_is_said() -> None:
    log = Log(count=50)
    log.lines = []
    log.book.go_to(Goal(at=3.0), HEIGHT, log.state)
    log.answer()
    assert log.book.said == "no line of this log tells a time"


@pytest.mark.parametrize(
    ("line", "tells"),
    [
        ("step: 120 - loss 0.3", True),
        ("Iter 120/400 lr 1e-6", True),
        ("{'loss': 1.2, 'step': 120}", True),
        ("120/400 [00:31<01:12]", True),
        ("global_step=1,200", False),
        ("step 1200", False),
        ("step 12 reward 120", False),
        ("took 120 s", False),
    ],
)
def test_which_lines_tell_a_step(line: str, tells: bool) -> None:
    assert bool(re.search(step_regex(120), line)) is tells


def test_places_are_named_as_people_type_them() -> None:
    view = view_of("fleet_hung")
    stage = view.state.log.stages[-1]
    assert goal_of("step 1,234", view) == goal_of("1234", view) == Goal(step=1234)
    assert goal_of(stage.title.upper(), view) == Goal(place=(stage.file, stage.offset))
    at = goal_of("10:03", view).at
    assert clock(at) == "10:03:00"
    assert 0 <= view.now - at < 86_400
    assert goal_of("25:00", view) == "that is no time of a day"
    assert "is called 'nosuch'" in goal_of("nosuch", view)


def test_a_wrapped_line_loses_nothing() -> None:
    for words in ("word " * 60, "x" * 301, "权重同步" * 40, "a权" * 50):
        line = LogLine(0, 0, 1_768_126_000.0, 3, "[rank3]: ", words)
        for width in (20, 33, 80):
            rows = line_rows(line, width, LineLook(wraps=True))
            assert all(width_of(row) <= width for row in rows)
            told = "".join(part for row in rows for part, _ in row)
            assert "".join(told.split())[8:] == "".join(f"[rank3]: {words}".split())
