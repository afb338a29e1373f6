"""JSON lines: the envelope is opened, what is data stays closed."""

from __future__ import annotations

import pytest

from hangtop.logs.lines.block_lines import Lines
from hangtop.logs.lines.json_envelope import opened
from hangtop.logs.lines.prefixes import strip
from hangtop.logs.lines.split import Block
from hangtop.logs.lines.timestamps import LogClock


def test_a_containers_line_is_read_as_its_program_wrote_it() -> None:
    prefix, text = strip(
        r'{"log":"[rank3]: \u001b[31mstep: 12\u001b[39m\n","stream":"stderr","time":"2026-01-11T10:00:00.123456789Z"}'
    )
    assert (prefix.rank, prefix.stream, prefix.time, text) == (3, "stderr", "2026-01-11T10:00:00.123456789Z", "step: 12")


def test_the_journals_microseconds_are_a_time() -> None:
    said, text = opened('{"__REALTIME_TIMESTAMP":"1768125600000000","MESSAGE":"step 1/9","_PID":"41"}') or ({}, "")
    assert (said["time"], text) == ("2026-01-11T10:00:00.000000Z", "step 1/9")


@pytest.mark.parametrize("time", ["1e400", '"' + "9" * 400 + '"', "-1", '"²"', "[1]", "9" * 30, "1768125600123456789"])
@pytest.mark.parametrize("rank", ["-1", "true", '"²"', "9" * 30, "null"])
def test_no_odd_number_is_a_time_or_a_rank(time: str, rank: str) -> None:
    prefix, _ = strip(f'{{"level": "info", "time": {time}, "rank": {rank}, "msg": "x"}}')
    assert prefix.rank is None
    assert prefix.time in ("", "²", "2026-01-11T10:00:00.123457Z")


def test_an_object_nested_without_end_is_left_alone() -> None:
    text = '{"time": 1, "a": ' * 400_000 + "1" + "}" * 400_000  # from Python 3.14 on thousands are no matter
    assert opened(text) is None


def test_a_structured_entry_becomes_its_message_and_pairs() -> None:
    said, text = opened(
        '{"ts": 1768125600.5, "level": "info", "rank": 2, "msg": "train", "metrics": {"step": 4, "loss": 2.5}}'
    ) or (
        {},
        "",
    )
    assert (said, text) == (
        {"time": "2026-01-11T10:00:00.500000Z", "level": "info", "rank": 2},
        "train step=4 loss=2.5",
    )


@pytest.mark.parametrize(
    "text",
    [
        '{"prompt": "why?", "response": "CUDA out of memory", "time": 3}',
        '{"step": 4, "loss": 2.5}',
        '{"level": "info", "msg": "cut',
        '{"level": "info"} and more',
        "{'loss': 2.5, 'epoch': 1.0}",
        '["level", "time"]',
    ],
)
def test_examples_and_what_is_no_log_entry_stay_as_they_are(text: str) -> None:
    assert opened(text) is None
    assert strip(text)[1] == text


@pytest.mark.parametrize("line", [b"train_step loss=2.1 rank=3 step=9\n", b'{"level": "info", "step": 9, "rank": 3}\n'])
def test_the_rank_among_the_pairs_of_a_step_line_is_its_writers(line: bytes) -> None:
    lines = Lines(Block(line, 0), LogClock())
    assert lines.parse(lines.span(0)).writer == ("rank", 3)
    assert b"rank" in lines.key(0, line.index(b"step"))
