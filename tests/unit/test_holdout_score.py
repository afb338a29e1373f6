"""Logs that no rule was written on, scored: labels were written before hangtop saw them. `pytest -s` prints every miss.

`first`: 51 logs; its misses were then mended by general rules, so its figures of today are tuned. `second`: 15 logs written after
that, scored once, and no rule was changed for them; `third`: 12 logs of platforms and frameworks that hangtop has no profile for,
whose three misses were mended. `strangers`: 62 logs by someone who had not yet seen signatures, profiles and corpus, and
`strangers_second`: 20 more by the same hand after a look at them; their misses were mended too. `messages`: 40 of 225 short logs,
each around one message that people met, drawn by lot, and 7 healthy logs that hold such words; `messages_second`: 30 of 80 rarer
ones, written after the first were mended; `messages_third`: 45 of 164 rare ones; `messages_fourth`, `messages_fifth`: 48 and 42
more, all that were written after the ones before were mended. Of these only the verdict and the explanation are asked: the page,
and for an exception without one the kind. `AT_FIRST` holds what each scored when it was first read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hangtop.diagnosis.judge import diagnose
from hangtop.logs.catalog.load import load
from hangtop.logs.digest import Digest
from hangtop.logs.extract.literal_index import LiteralIndex
from hangtop.logs.joined_logs import join_logs
from hangtop.records.health import SourceHealth
from hangtop.records.log import LogFile, LogReading
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState

HOLDOUT = Path(__file__).parents[1] / "corpus" / "holdout"
INDEX = LiteralIndex(load())
NOW = 1_800_000_000.0
QUESTIONS = ("framework", "stage", "verdict", "recall", "first", "kind", "forbidden")

AT_FIRST = {
    "first": {"framework": 50, "stage": 47, "verdict": 43, "recall": 28, "first": 28, "forbidden": 43},
    "second": {"framework": 15, "stage": 15, "verdict": 15, "recall": 7, "first": 7, "forbidden": 15},
    "third": {"framework": 12, "stage": 9, "verdict": 11, "recall": 8, "first": 8, "forbidden": 11},
    "strangers": {"framework": 59, "stage": 57, "verdict": 62, "recall": 31, "first": 28, "forbidden": 56},
    "strangers_second": {"framework": 19, "stage": 20, "verdict": 20, "recall": 11, "first": 11, "forbidden": 20},
    "messages": {"verdict": 34, "recall": 26, "first": 25, "forbidden": 7},
    "messages_second": {"verdict": 22, "recall": 5, "first": 5},
    "messages_third": {"verdict": 39, "recall": 14, "first": 13},
    "messages_fourth": {"verdict": 45, "recall": 30, "first": 29, "kind": 3},
    "messages_fifth": {"verdict": 39, "recall": 29, "first": 29, "kind": 10},
}
"""Logs right of those asked: 51 (recall and first 28, forbidden 50), 15 (7), 12 (8), 62 (recall and first 37, forbidden 57), 20
(12); of the messages only verdict 34, recall and first 40, forbidden 7; verdict 22, recall and first 30; 45; 48, kind 9; and 42,
kind 17. Where the answer to `first` is the traceback itself, it says that there is no page, and counts as right."""


def read(data: bytes, silence_s: float) -> LogReading:
    digest = Digest(INDEX, 0)
    digest.feed(data)
    files = [LogFile("train.log", size_bytes=len(data), scanned_bytes=len(data), modified_at=NOW - silence_s)]
    return join_logs([digest.facts()], files, INDEX.catalog, last_output_at=NOW - silence_s, tail=digest.tail(200))


def marks(label: dict[str, Any], data: bytes) -> Iterator[tuple[str, bool, str]]:
    """What is asked of a log, whether it is right, and what was read instead."""
    reading = read(data, label["silence_s"])
    state = RunState(log=reading, tail=reading.tail, health={"log": SourceHealth("log", read_at=NOW)}, heard_at=NOW)
    word = diagnose(state, WatchSpec(logs=("train.log",)), NOW).word
    stage = reading.stages[-1].id if reading.stages else "none"
    ids = [finding.id for finding in reading.findings]
    fatal = {finding.id for finding in reading.findings if finding.severity == "fatal"}
    for question, answer in (("framework", reading.framework), ("stage", stage), ("verdict", word)):
        if label[question]:
            yield question, answer in label[question], answer
    if label["first"]:
        yield "recall", not set(label["first"]).isdisjoint(ids), str(ids)
        yield "first", bool(ids) and ids[0] in label["first"], str(ids[:3])
    if kinds := label.get("kind"):
        kind = next((finding.groups.get("kind", "none") for finding in reading.findings if finding.id == ids[0]), "none")
        yield "kind", kind in kinds, kind
    if label["forbid"]:
        unwanted = fatal if label["forbid"] == ["*"] else fatal.intersection(label["forbid"])
        yield "forbidden", not unwanted, str(sorted(unwanted))


@pytest.fixture(scope="module", params=AT_FIRST)
def score(request: pytest.FixtureRequest) -> tuple[str, dict[str, list[tuple[bool, str]]]]:
    """Of one batch: for each question, what was right and what was read instead."""
    where = HOLDOUT / request.param
    asked: dict[str, list[tuple[bool, str]]] = {question: [] for question in QUESTIONS}
    for line in (where / "labels.jsonl").read_bytes().splitlines():
        label = msgspec.json.decode(line)
        for question, right, instead in marks(label, (where / label["file"]).read_bytes()):
            asked[question].append((right, f"{label['file']}: {instead}"))
    return request.param, asked


@pytest.mark.parametrize("question", QUESTIONS)
def test_logs_never_seen_before_are_read_well(score: tuple[str, dict[str, list[tuple[bool, str]]]], question: str) -> None:
    batch, asked = score
    answers = asked[question]
    right = sum(is_right for is_right, _ in answers)
    misses = [instead for is_right, instead in answers if not is_right]
    print(
        f"\n{batch} {question}: {right} of {len(answers)}, when first read {AT_FIRST[batch].get(question, 0)}",
        *misses,
        sep="\n  ",
    )
    assert right >= max(AT_FIRST[batch].get(question, 0), 0.95 * len(answers)), misses
