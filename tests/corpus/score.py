"""What is read from a labelled log, against what a person wrote down: the labelled logs, and the batches of `holdout/`.

A miss is `question file`, such as `stage logs/quota_checkpoint.log`, with what was read instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from hangtop.diagnosis.judge import diagnose
from hangtop.logs.digest import Digest
from hangtop.logs.joined_logs import join_logs
from hangtop.records.health import SourceHealth
from hangtop.records.log import LogFile, LogReading
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState
from tests.fakes.read_log import INDEX

CORPUS = Path(__file__).parent
NOW = 1_800_000_000.0
NUMBERS = ("step", "total", "loss", "step_s", "ranks", "rank_steps")
FREE = frozenset("plain unknown mixed slurm mpi k8s torch datasets loguru rich".split())
"""Launchers, libraries and formatters that no profile reports: the framework may be whatever truly fits."""
SAME = {"seed_gkd": "gkd"}


class Answer(NamedTuple):
    """One question about one log: whether it was answered right, and what was read."""

    question: str
    right: bool
    instead: str


class Batch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Logs that were written and labelled before hangtop read them; see `batches.toml`."""

    name: str
    worth: str
    at_first: dict[str, int]
    misses: dict[str, str] = {}


class Batches(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file `batches.toml`. `labelled`: known misses among the logs of `labels.jsonl`."""

    labelled: dict[str, str]
    batch: tuple[Batch, ...]


@cache
def batches() -> Batches:
    return msgspec.toml.decode((CORPUS / "batches.toml").read_bytes(), type=Batches)


def read(data: bytes, silence_s: float = 0.0) -> LogReading:
    """A log as the log source reads it, written to `silence_s` ago."""
    digest = Digest(INDEX, 0)
    digest.feed(data)
    at = NOW - silence_s
    files = [LogFile("train.log", size_bytes=len(data), scanned_bytes=len(data), modified_at=at)]
    return join_logs([digest.facts()], files, INDEX.catalog, last_output_at=at, tail=digest.tail(200))


def labelled() -> Iterator[tuple[str, Answer]]:
    """Every answer about `logs/` and `real/`, with the file. The regexes were tuned on these logs."""
    for label in _labels(CORPUS):
        reading = read((CORPUS / label["file"]).read_bytes())
        for answer in _labelled_answers(label, reading):
            yield label["file"], answer


def held_out(batch: str) -> Iterator[tuple[str, Answer]]:
    """Every answer about this batch of `holdout/`, with the file."""
    folder = CORPUS / "holdout" / batch
    for label in _labels(folder):
        reading = read((folder / label["file"]).read_bytes(), label["silence_s"])
        for answer in (*_answers(label, reading), *_numbers(label, reading)):
            yield label["file"], answer


def _labels(folder: Path) -> Iterator[dict[str, Any]]:
    for line in (folder / "labels.jsonl").read_bytes().splitlines():
        yield msgspec.json.decode(line)


def _labelled_answers(label: dict[str, Any], reading: LogReading) -> Iterator[Answer]:
    framework = SAME.get(label["framework"], label["framework"])
    yield Answer("framework", framework in FREE or reading.framework == framework, reading.framework)
    stage = reading.stages[-1].id if reading.stages else None
    yield Answer("stage", stage == label["stage"], str(stage))
    ranks = [rank.rank for rank in reading.ranks]
    yield Answer("ranks", ranks == label["ranks"], str(ranks))
    steps = {str(rank.rank): rank.step for rank in reading.ranks if rank.step is not None}
    for name, step in label["last_step"].items():
        found = steps.get(name, reading.progress.step if name not in steps else None)
        yield Answer("step", found == step, f"{name} at {found}, not {step}")
    ids = [finding.id for finding in reading.findings]
    for wanted in label["expect"]:
        yield Answer("expected", wanted in ids, f"{wanted} not in {ids}")
    for unwanted in label["forbid"]:
        yield Answer("forbidden", unwanted not in ids, unwanted)
    if label["expect"]:
        yield Answer("first", bool(ids) and ids[0] in label["expect"], str(ids[:3]))


def _answers(label: dict[str, Any], reading: LogReading) -> Iterator[Answer]:
    """Framework, stage, verdict, and what is said of the messages."""
    state = RunState(log=reading, tail=reading.tail, health={"log": SourceHealth("log", read_at=NOW)}, heard_at=NOW)
    word = diagnose(state, WatchSpec(logs=("train.log",)), NOW).word
    stage = reading.stages[-1].id if reading.stages else "none"
    ids = [finding.id for finding in reading.findings]
    for question, answer in (("framework", reading.framework), ("stage", stage), ("verdict", word)):
        if label[question]:
            yield Answer(question, answer in label[question], answer)
    if label["first"]:
        yield Answer("recall", not set(label["first"]).isdisjoint(ids), str(ids))
        yield Answer("first", bool(ids) and ids[0] in label["first"], str(ids[:3]))
    if kinds := label.get("kind"):
        kind = next((finding.groups.get("kind", "none") for finding in reading.findings if finding.id == ids[0]), "none")
        yield Answer("kind", kind in kinds, kind)
    if label["forbid"]:
        fatal = {finding.id for finding in reading.findings if finding.severity == "fatal"}
        unwanted = fatal if label["forbid"] == ["*"] else fatal.intersection(label["forbid"])
        yield Answer("forbidden", not unwanted, str(sorted(unwanted)))


def _numbers(label: dict[str, Any], reading: LogReading) -> Iterator[Answer]:
    progress = reading.progress
    found = {
        "step": progress.step,
        "total": progress.total,
        "loss": progress.metrics.get("loss"),
        "step_s": progress.step_s,
        "ranks": [rank.rank for rank in reading.ranks],
        "rank_steps": {str(rank.rank): rank.step for rank in reading.ranks},
    }
    for question in NUMBERS:
        if question in label:
            yield Answer(question, _agrees(label[question], found[question]), f"{found[question]}, not {label[question]}")


def _agrees(label: Any, found: Any) -> bool:
    """A value, all ranks, the steps of some ranks, or the bounds of a value."""
    if isinstance(label, dict):
        return bool(label.items() <= found.items())
    if isinstance(label, list) and not isinstance(found, list):
        return found is not None and label[0] <= found <= label[1]
    return bool(label == found)
