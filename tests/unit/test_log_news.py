"""Since when a log says nothing new: the lines of one file, each with the time at which it arrived."""

from __future__ import annotations

import pytest

from hangtop.logs.catalog.load import load
from hangtop.logs.digest import Digest
from hangtop.logs.extract.line_values import said_in
from hangtop.logs.extract.literal_index import index_of
from hangtop.logs.extract.news import is_beside
from hangtop.logs.file_facts import FileFacts

INDEX = index_of(load())
BEGUN = 1_700_000_000.0
STEPS = tuple((number * 2.0, f"step {number} loss {2 - number / 100:.3f}") for number in range(20))
"""Twenty steps in forty seconds."""


def read(*lines: tuple[float, str]) -> FileFacts:
    """The facts of a file whose lines arrived at these seconds."""
    digest = Digest(INDEX, 0)
    for at, text in lines:
        digest.feed(f"{text}\n".encode(), BEGUN + at, BEGUN + at)
        digest.facts()
    return digest.facts()


def every(pause_s: float, *texts: str, since: float = 40.0) -> tuple[tuple[float, str], ...]:
    return tuple((since + number * pause_s, text) for number, text in enumerate(texts))


@pytest.mark.parametrize(
    "beats",
    [
        pytest.param(["waiting for env"] * 30, id="the same line"),
        pytest.param([f"still waiting, elapsed {number * 10}s" for number in range(30)], id="an elapsed time"),
        pytest.param([f"waiting {number // 6}:{number * 10 % 60:02}" for number in range(30)], id="an elapsed time as a clock"),
        pytest.param([f"retry in {300 - number * 10} s" for number in range(30)], id="a countdown"),
        pytest.param([f"heartbeat step=19 phase=wait phase_s={number * 10}.0" for number in range(30)], id="a step and its age"),
        pytest.param([f"waiting {'|/-'[number % 3]}" for number in range(30)], id="a spinner"),
        pytest.param([f"waiting{'.' * (number % 4)}" for number in range(30)], id="dots that come and go"),
        pytest.param(
            [f'{{"ts": {BEGUN + number * 10:.3f}, "running": 1, "waiting": 0}}' for number in range(30)], id="unix time"
        ),
        pytest.param([f"[rank {number % 3}] alive" for number in range(30)], id="heartbeats of several ranks"),
        pytest.param([f"GET /status {(200, 304)[number % 2]}" for number in range(30)], id="polling"),
    ],
)
def test_lines_that_say_nothing_new_are_no_news(beats: list[str]) -> None:
    facts = read(*STEPS, *every(10.0, *beats))
    assert 200 < facts.idle_s <= 300
    assert facts.repeats


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([f"evaluated {number * 7} of 900" for number in range(30)], id="a count that grows"),
        pytest.param([f"reward {1 / (number + 1):.4f}" for number in range(30)], id="a value that changes"),
        pytest.param(
            [f"batch took {1 + number % 7 / 10:.1f}{number} s" for number in range(30)], id="times that no clock explains"
        ),
        pytest.param([f"[{'#' * number}{' ' * (40 - number)}]" for number in range(3, 33)], id="a bar that grows"),
        pytest.param(["loading", "tokenizing", "packing", "saving shard a", "saving shard b"], id="other words"),
    ],
)
def test_lines_that_tell_anything_are_news(lines: list[str]) -> None:
    facts = read(*STEPS, *every(10.0, *lines))
    assert facts.idle_s <= 10


def test_steps_are_news_whatever_else_the_log_says() -> None:
    between = tuple((at + 1.0, "alive") for at, _ in STEPS)
    assert read(*sorted((*STEPS, *between))).idle_s <= 2


def test_lines_of_each_round_are_new_in_each_round() -> None:
    rounds = [
        line
        for number in range(4)
        for line in every(
            60.0, f"epoch {number} loss {1 / (number + 1)}", "evaluating", "computing scores", "saving", since=number * 240
        )
    ]
    assert read(*rounds).idle_s == 0


def test_a_background_that_came_while_steps_went_on_is_none_once_they_stopped() -> None:
    def beat(number: int) -> tuple[float, str]:
        return number * 5.0 + 0.5, f"cpu {20 + number * 7 % 13} % mem {40 + number % 5} GB"

    steps = tuple((number * 2.0, f"step {number} loss {2 - number / 100:.3f}") for number in range(40))
    facts = read(*sorted((*steps, *(beat(number) for number in range(60)))))
    assert facts.idle_s > 200


def test_a_few_lines_between_the_steps_make_a_background_if_a_timer_prints_them() -> None:
    def monitor(number: int, late_s: float = 0.0) -> tuple[float, str]:
        return number * 10.0 + 9.5 + late_s, f"monitor load {20 + number * 7 % 13} rss {40 + number % 5} GB"

    assert read(*sorted((*STEPS, *map(monitor, range(20))))).idle_s > 100
    uneven = (monitor(number, late_s=number % 3) for number in range(20))
    assert read(*sorted((*STEPS, *uneven))).idle_s <= 12, "no timer, and too few to know them before"
    later = every(10.0, *(monitor(number)[1] for number in range(20)), since=45.0)
    assert read(*STEPS, *later).idle_s <= 10, "nothing tells that they are none of what the run does"


def test_beats_that_came_between_the_steps_are_told_from_those_that_came_only_later() -> None:
    beats = every(5.0, *["monitor tasks=3"] * 20, since=30.5)
    assert read(*sorted((*STEPS, *beats))).beats_in_course
    assert not read(*STEPS, *every(5.0, *["waiting for quota"] * 20, since=41.0)).beats_in_course


def test_the_course_of_a_run_may_be_told_by_lines_that_are_known_for_no_steps() -> None:
    goes_on = every(4.0, *(f"gain {(number * 7) % 11 / 10:+.2f} lag {number % 3}" for number in range(9)))
    beats = every(5.0, *["monitor tasks=3"] * 20, since=20.5)
    assert read(*sorted((*goes_on, *beats))).beats_in_course
    assert not read(*sorted((*goes_on[:2], *beats))).beats_in_course, "two lines are no course"
    assert not read(*goes_on, *every(5.0, *["waiting for quota"] * 20, since=80.0)).beats_in_course


def test_numbered_lines_at_even_pauses_may_come_from_a_clock() -> None:
    facts = read(*STEPS, *every(10.0, *(f"heartbeat {number}" for number in range(30))))
    assert facts.idle_s == 0
    assert facts.clockwork_s > 200


def test_numbered_lines_at_uneven_pauses_come_from_work() -> None:
    lines = [(40 + number * 10 + number * number % 7, f"exported sample {number}") for number in range(30)]
    assert read(*STEPS, *lines).clockwork_s < 60


def test_without_a_clock_the_times_in_the_lines_tell() -> None:
    digest = Digest(INDEX, 0)
    digest.feed(b"loading the model\n" + b"".join(b"still waiting, %d seconds\n" % (number * 10) for number in range(30)))
    assert digest.facts().idle_s == 290


WARNINGS = (
    ("[10:{:02}:12: W stall_inspector.cc:107] tensors wait for the other ranks", "Missing ranks:", "3: [grad.7.bias, grad.8]"),
    ("<W 2026/03/01 10:{:02}:12> no peer answered", "    peers asked: 4", "    peers left: 3"),
    ("queue is empty, uptime {:02}:00", "  oldest request: none"),
    ("waited {}m for the barrier", "-- held by:", "--   loader", "--   evaluator"),
)


@pytest.mark.parametrize("warning", WARNINGS, ids=lambda warning: warning[1].strip())
def test_the_last_line_need_not_tell_the_time_that_lines_above_it_tell(warning: tuple[str, ...]) -> None:
    stamped = [f"2026-03-01 10:00:{number:02} step {number} loss {2 - number / 100:.3f}" for number in range(20)]
    warned = [line.format(minute) for minute in range(2, 18) for line in warning]
    assert 700 <= from_file(*stamped, *warned).idle_s <= 900


def test_a_pause_behind_lines_that_come_at_a_rhythm_is_known_from_them() -> None:
    def phase(number: int) -> list[tuple[float, str]]:
        begin = number * 300.0
        trained = [(begin + step, f"step {number * 100 + step} loss {2 / (number * 100 + step + 1):.5f}") for step in range(100)]
        return [*trained, (begin + 100, f"bucket <- {number}")]

    facts = read(*(line for number in range(8) for line in phase(number)))
    assert facts.paused_until == BEGUN + 7 * 300 + 100 + 2 * 200


def from_file(*lines: str) -> FileFacts:
    """The facts of a file that was there before hangtop came: no line has a time."""
    digest = Digest(INDEX, 0)
    digest.feed("".join(f"{line}\n" for line in lines).encode())
    return digest.facts()


def test_a_time_in_numbered_lines_is_a_clock_for_the_lines_beside_them() -> None:
    steps = [f"[worker 0] train step {step} loss {1 / step:.3f}" for step in range(1, 30)]
    beats = [
        f"[worker {worker}] heartbeat {number}: alive, up {3 + number * 3} s, step 29"
        for number in range(8)
        for worker in range(3)
    ]
    facts = from_file(*steps[:14], *beats[:3], *steps[14:], *beats[3:])
    assert facts.clockwork_s == 18  # from the first beat behind the last step on
    assert facts.beat_s == 3


def test_the_beats_before_a_rhythm_was_known_are_taken_back() -> None:
    beats = every(10.0, *(f"heartbeat {number}" for number in range(6)))
    assert read(*STEPS, *beats[:4]).clockwork_s == 0
    assert read(*STEPS, *beats).clockwork_s == 50


def test_a_number_that_grows_beside_one_that_changes_is_no_beat() -> None:
    assert from_file(*(f"batch {number}, {number * 3} s, loss {1 / (number + 1):.4f}" for number in range(30))).clockwork_s == 0


def test_numbered_lines_that_pause_once_come_from_work_up_to_then() -> None:
    even = every(10.0, *(f"exported {number}" for number in range(20)))
    late = every(10.0, *(f"exported {number}" for number in range(20, 40)), since=257.0)
    assert read(*STEPS, *even).clockwork_s == 190
    assert 0 < read(*STEPS, *even, *late).clockwork_s <= 190


@pytest.mark.parametrize("beat", ["[worker 1] alive", "[worker 1] heartbeat {} step 29"])
def test_beats_without_any_time_are_dated_by_their_pace_since_hangtop_looks(beat: str) -> None:
    digest = Digest(INDEX, 0, written_by=BEGUN)
    before = [*(f"step {step} loss {1 / (step + 1):.3f}" for step in range(30)), *(beat.format(number) for number in range(10))]
    digest.feed("".join(f"{line}\n" for line in before).encode())
    assert digest.facts().beats_untimed
    for number in range(10, 13):
        assert digest.facts().clockwork_s <= 3
        digest.feed(f"{beat.format(number)}\n".encode(), BEGUN + number * 3, BEGUN + number * 3)
    facts = digest.facts()
    assert not facts.beats_untimed
    assert 30 <= facts.clockwork_s <= 36
    assert facts.beat_s == 3


def drawn(
    frames: int, every_s: float, look_s: float = 0.3, watch_s: float = 4.0, text: str = "{} round 25: waiting for 1"
) -> FileFacts:
    """A spinner that was drawn so often before hangtop came, and is drawn on at this pace."""
    digest = Digest(INDEX, 0, written_by=BEGUN)
    digest.feed(b"".join(f"\r{text.format(number % 9)}".encode() for number in range(24)) + b"\rround 24 best 0.7\n")
    signs = iter(r"|/-\\"[number % 4] for number in range(9_999))
    digest.feed("".join(f"\r{text.format(next(signs))}" for _ in range(frames)).encode())
    digest.facts()
    shown = 0
    for look in range(1, int(watch_s / look_s) + 1):
        due = int(look * look_s / every_s)
        new, shown = due - shown, due
        if new:
            digest.feed(
                "".join(f"\r{text.format(next(signs))}" for _ in range(new)).encode(),
                BEGUN + look * look_s,
                BEGUN + (look - 1) * look_s,
            )
        digest.facts()
    return digest.facts()


@pytest.mark.parametrize("every_s", [0.1, 0.25, 0.5])
def test_a_spinner_that_stands_tells_by_its_pace_for_how_long(every_s: float) -> None:
    """Each of its pictures is drawn over the one before, and only the last would be seen."""
    assert 0.6 * 20 <= drawn(int(20 / every_s), every_s).clockwork_s <= 24
    assert drawn(4, every_s).clockwork_s <= 4 + 4 * every_s


def test_a_spinner_beside_what_changes_is_news_all_the_while() -> None:
    rounds = iter(range(100, 9_999))

    class Changing(str):
        def format(self, *signs: object) -> str:
            return f"{signs[0]} round {next(rounds)}: waiting for {next(rounds) % 7} best {1 / next(rounds):.5f}"

    assert drawn(100, 0.5, text=Changing()).clockwork_s <= 1


def test_a_spinner_whose_pace_is_not_known_yet_is_to_be_watched() -> None:
    assert drawn(40, 0.5, watch_s=1.0).beats_untimed
    assert not drawn(40, 0.5).beats_untimed


def test_lines_of_work_without_any_time_are_not_dated() -> None:
    facts = from_file(*(f"step {step} loss {1 / (step + 1):.3f}" for step in range(30)))
    assert not facts.beats_untimed


def test_the_same_step_told_again_is_no_step() -> None:
    beats = [f"still alive, step 29, up {number * 5} s" for number in range(20)]
    assert from_file(*(f"step {step} loss {1 / (step + 1):.3f}" for step in range(30)), *beats).idle_s == 95


def test_a_line_in_words_numbers_and_times() -> None:
    said = said_in("worker3: 12 of 40 done after 1:05, 2.5 min left")
    assert said.values == ("3", "12", "40")
    assert said.times_s == (65.0, 150.0)


def test_lines_of_a_timer_are_told_from_those_that_work_makes_by_what_comes_between_them_without_any_step() -> None:
    chunks = tuple(
        (number * 0.7 + number % 3 / 5, f"chunk {number} of worker {number % 4} mean 0.{number}") for number in range(40)
    )
    loads = tuple((number * 5.0 + 1, f"load {20 + number * 7 % 13}.{number} left 3") for number in range(30))
    assert read(*sorted((*chunks, *loads))).idle_s > 100, "the chunks have stopped"
    assert read(*sorted((*chunks[:5], *loads))).idle_s < 10, "one of them before, and then all others: a part of the run"


VISIT = '[rank0]:I1114 22:15:00.257000 154 torch/distributed/debug/_frontend.py:334] ::1 "GET /tcpstore HTTP/1.1" 200 -'


def test_a_visit_to_the_debug_server_is_no_output_of_the_run() -> None:
    assert read(*STEPS, (100.0, VISIT)).moved_at == read(*STEPS).moved_at
    assert is_beside(f"{VISIT}\n".encode())
    assert not is_beside(f"{VISIT}\nstep 4\n".encode())
    assert not is_beside(b"\n")


@pytest.mark.parametrize(("rows", "is_bar"), [(6, True), (0, False)])
def test_a_bar_that_no_profile_knows_was_drawn_in_the_course_if_it_was_drawn_over_with_other_counts(
    rows: int, is_bar: bool
) -> None:
    """Between the lines it is drawn anew, then they are written in its place; at last it is drawn alone, at the same count."""
    digest = Digest(INDEX, 0, written_by=BEGUN)
    bar = "\r评分中 |███   | {}/96 已用 00:{:02d}"
    digest.feed("".join(f"{bar.format(row, row)}\r作文 {row} 得分 0.{row}1\n" for row in range(1, rows + 1)).encode())
    for second in range(10, 22):
        digest.feed(bar.format(rows, second).encode(), BEGUN + second, BEGUN + second)
        digest.facts()
    facts = digest.facts()
    assert facts.clockwork_s >= 8
    assert facts.beats_in_course is is_bar
