"""Lines that differ in their digits alone are matched once: what is read from them is the same as one by one."""

from __future__ import annotations

import random
import re

import pytest

from hangtop.logs.catalog.load import load
from hangtop.logs.lines import prefixes
from hangtop.logs.lines.digit_shapes import LONGEST, all_groups, found_groups, is_blind, shape_of

TOLD_APART = (r"0\b|default", r"[0123]\d", "20\\d\\d", "[1-5]", r"(\d)\1", "(?P<a>\\d)(?P=a)", "(a)?(?(1)b|c)", "\\x31", "top-5")
TAKEN_ALIKE = (r"\d{1,5}", "[0-9.]+", "(?P<step2>[a-z0-9_]+)", r"step[ :=]{0,3}(?P<step>\d+)\b", r"[\w.-]+:\d+")
EXAMPLES = sorted(
    {line.example for profile in load().profiles.values() for line in profile.progress}
    | {
        "2026-03-01 12:00:07 [rank3]: step 5/5000 loss 1.5",
        "[rank12]: [2026-03-01 12:00:07,123] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, lr=[1e-05]",
        "\t(WorkerDict pid=4711, ip=10.0.0.2) step:3 - loss:0.5 [repeated 7x across cluster]",
        "[rank0]:[PG ID 0 PG GUID 0(default_pg) Rank 3] ProcessGroupNCCL initialized",
        'n1: {"time": "2026-03-01T12:00:07Z", "rank": 0, "message": "rank 0 step 4 loss 2.5"}',
        "E20260301 12:00:07.5 4711 file.cc:12] failed",
    }
)


@pytest.mark.parametrize("regex", TAKEN_ALIKE)
def test_a_regex_without_a_digit_of_its_own_takes_all_alike(regex: str) -> None:
    assert is_blind(regex)


@pytest.mark.parametrize("regex", TOLD_APART)
def test_a_regex_that_tells_digits_apart_is_matched_line_by_line(regex: str) -> None:
    assert not is_blind(regex)


def test_of_all_prefixes_only_that_of_a_process_group_tells_digits_apart() -> None:
    forms = (prefixes._BRACKET, prefixes._PAREN, prefixes._DIGIT, prefixes._LETTER)
    seeing = [pattern for each in forms for pattern in each._patterns if not is_blind(pattern)]
    assert all(prefixes._ONE_GROUP in pattern.replace("\\", "") for pattern in seeing)


def test_prefixes_of_a_line_do_not_depend_on_the_lines_of_its_shape_before_it() -> None:
    for example in EXAMPLES:
        for text in _with_other_digits(example):
            prefixes._layout_of_shape.cache_clear()
            alone = prefixes.strip(text)
            prefixes._layout_of_shape.cache_clear()
            for other in _with_other_digits(example):
                prefixes.strip(other)
            assert prefixes.strip(text) == alone
            if '{"' not in text:
                assert alone == prefixes._layout(text).read(text)


def test_groups_are_those_that_the_regex_finds_in_the_line_itself() -> None:
    lines = [line for profile in load().profiles.values() for line in profile.progress]
    for line in lines:
        for text in (*_with_other_digits(line.example), line.example + " x" * LONGEST):
            found = re.compile(line.regex).search(text)
            told = None if found is None else {name: value for name, value in found.groupdict().items() if value is not None}
            assert found_groups(line.regex, text, shape_of(text)) == told
            pairs = [
                {name: value for name, value in pair.groupdict().items() if value is not None}
                for pair in re.compile(line.pair_regex).finditer(text)
            ]
            assert all_groups(line.pair_regex, text, shape_of(text)) == pairs


def test_a_shape_has_the_places_of_its_text() -> None:
    text = "第12步 loss 1.25 ⠙ rank 7\U0001f600 9"
    shape = shape_of(text)
    assert shape == "第00步 loss 0.00 ⠙ rank 0\U0001f600 0"


def test_what_a_json_line_tells_of_rank_0_is_kept() -> None:
    line = '{"time": "2026-03-01T12:00:07Z", "message": "[rank0]: step 4 loss 2.5"}'
    prefix, text = prefixes.strip(line)
    assert (prefix.rank, text) == (0, "step 4 loss 2.5")


def _with_other_digits(text: str) -> list[str]:
    chance = random.Random(text)
    return [text, *(re.sub(r"[0-9]", lambda _: str(chance.randrange(10)), text) for _ in range(4))]
