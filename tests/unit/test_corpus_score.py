"""Labelled logs are read as a person labelled them, but for the misses that `tests/corpus/batches.toml` gives reasons for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path

import pytest

from hangtop.records.log import LogReading
from hangtop.records.verdict import Culprit
from tests.corpus.score import CORPUS, Answer, Batch, batches, held_out, labelled, named, read


def surprises(answers: Iterable[tuple[str, Answer]], known: Mapping[str, str]) -> list[str]:
    """Misses that are not known, and known ones that are right by now: they come off the list."""
    missed = {f"{answer.question} {file}": answer.instead for file, answer in answers if not answer.right}
    new = [f"new miss: {name}: {instead}" for name, instead in missed.items() if name not in known]
    return new + [f"right by now, take it off the list: {name}" for name in known if name not in missed]


def test_the_labelled_logs_are_read_right_but_for_the_known_misses() -> None:
    assert surprises(labelled(), batches().labelled) == []


@pytest.mark.parametrize("batch", batches().batch, ids=lambda batch: batch.name)
def test_logs_never_seen_before_are_read_right_but_for_the_known_misses(batch: Batch) -> None:
    assert surprises(held_out(batch.name), batch.misses) == []


def test_a_new_miss_and_a_mended_one_both_fail() -> None:
    answers = [("a.log", Answer("stage", False, "config")), ("b.log", Answer("stage", True, "train_loop"))]
    assert surprises(answers, {"stage b.log": "an older reason"}) == [
        "new miss: stage a.log: config",
        "right by now, take it off the list: stage b.log",
    ]


def culprit(rank: int | None = None, pid: int | None = None) -> Culprit:
    return Culprit(rank=rank, pid=pid, host=None, confidence="likely", why=())


@pytest.mark.parametrize(
    ("found", "right"),
    [
        ([culprit(rank=5)], True),
        ([culprit(pid=77)], True),
        ([culprit(rank=5, pid=77)], True),
        ([culprit(rank=5, pid=78)], False),
        ([culprit(rank=4)], False),
        ([culprit()], False),
        ([culprit(rank=5), culprit(rank=6)], False),
        ([], False),
    ],
)
def test_who_is_to_blame_is_named_by_whatever_is_known_of_it_and_nobody_else_is(found: list[Culprit], right: bool) -> None:
    assert named([{"rank": 5, "pid": 77}], found) is right


def before_each_line(prefix: bytes) -> Callable[[bytes], bytes]:
    return lambda data: b"".join(prefix + line + b"\n" for line in data.split(b"\n"))


WRAPPED: dict[str, Callable[[bytes], bytes]] = {
    "kubernetes": before_each_line(b"2026-01-11T10:00:00.5Z stderr F "),
    "docker": before_each_line(b"2026-01-11T10:00:00.123456Z "),
    "compose": before_each_line(b"trainer-0  | "),
    "colour": lambda data: b"".join(b"\x1b[32m" + line + b"\x1b[0m\n" for line in data.split(b"\n")),
    "windows": lambda data: data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"),
    "utf-16": lambda data: ("\ufeff" + data.decode("utf-8", "replace")).encode("utf-16-le"),
}


def said(reading: LogReading) -> tuple[object, ...]:
    steps = {rank.rank: rank.step for rank in reading.ranks}
    stage = reading.stages[-1].id if reading.stages else None
    return reading.framework, stage, steps, reading.progress.step, {finding.id for finding in reading.findings}


@cache
def said_plainly() -> dict[Path, tuple[object, ...]]:
    """What is read from each labelled log as it lies there."""
    return {path: said(read(path.read_bytes())) for path in sorted(CORPUS.glob("*/*.log"))}


@pytest.mark.parametrize("wrapper", WRAPPED)
def test_a_log_says_the_same_in_whatever_it_is_wrapped(wrapper: str) -> None:
    wrapped = {path: said(read(WRAPPED[wrapper](path.read_bytes()))) for path in said_plainly()}
    assert [path.name for path, plainly in said_plainly().items() if wrapped[path] != plainly] == []
