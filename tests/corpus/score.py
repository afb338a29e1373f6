"""What is read from a labelled log, against what a person wrote down: the labelled logs, and the batches of `holdout/`.

A miss is `question file`, such as `stage logs/quota_checkpoint.log`, with what was read instead. A label with `last_at` is a run
as it lay on a disk: its log or logs are read by the log source itself, `silence_s` after they were written to.

Where a person wrote which line to point at (`points_at`), the first message has to be that one. `advice`: one of these texts has
to stand in the first cause that is advised on.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest import mock

import msgspec

from hangtop.common import clock
from hangtop.diagnosis.judge import diagnose
from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.logs.digest import Digest
from hangtop.logs.joined_logs import join_logs
from hangtop.records.health import SourceHealth
from hangtop.records.log import Finding, LogFile, LogReading
from hangtop.records.verdict import Culprit, Verdict
from hangtop.records.watch_spec import WatchSpec
from hangtop.remedies.advise import advice
from hangtop.state.run_state import RunState
from tests.fakes.log_session import Session, settled
from tests.fakes.read_log import INDEX

CORPUS = Path(__file__).parent
NOW = 1_800_000_000.0
NUMBERS = ("step", "total", "loss", "step_s", "ranks", "rank_steps")
FREE = frozenset("plain unknown mixed slurm mpi k8s torch datasets loguru rich".split())
"""Launchers, libraries and formatters that no profile reports: the framework may be whatever truly fits."""
SAME = {"seed_gkd": "gkd"}
ALIVE = frozenset({"running", "slow", "waiting"})


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
        look = _looked_at(folder, label)
        for answer in (*_answers(label, look.reading, look.verdict), *_why(label, look), *_numbers(label, look.reading)):
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


class Look(NamedTuple):
    """What is said of a run, what was read, and the cause that is advised on first."""

    verdict: Verdict
    reading: LogReading
    cause: str


def _look(state: RunState, spec: WatchSpec, reading: LogReading, now: float) -> Look:
    verdict = diagnose(state, spec, now)
    told = advice(take_snapshot(state, spec, now), verdict)
    return Look(verdict, reading, told[0].cause if told else "")


def _looked_at(folder: Path, label: dict[str, Any]) -> Look:
    """What is said of the run, and what was read: of one log in memory, or of files with their own time."""
    if "last_at" in label:
        return _on_disk(folder, label)
    reading = read((folder / label["file"]).read_bytes(), label["silence_s"])
    state = RunState(log=reading, tail=reading.tail, health={"log": SourceHealth("log", read_at=NOW)}, heard_at=NOW)
    return _look(state, WatchSpec(logs=("train.log",)), reading, NOW)


def _on_disk(folder: Path, label: dict[str, Any]) -> Look:
    """`last_at`: when the log was last written to. `files`: of several, how long each is silent."""
    now = label["last_at"] + label["silence_s"]
    with TemporaryDirectory() as place:
        copies = []
        for name, silence_s in label.get("files", {label["file"]: label["silence_s"]}).items():
            copies.append(Path(place, name))
            copies[-1].parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / name, copies[-1])
            os.utime(copies[-1], (now - silence_s, now - silence_s))
        really = clock.now
        later_s = now - really()
        with mock.patch.object(clock, "now", side_effect=lambda: really() + later_s):
            session = Session(*copies)
            try:
                reading = session.until(settled)
            finally:
                session.source.close()
            return _look(session.state, session.spec, reading, now)


def _answers(label: dict[str, Any], reading: LogReading, verdict: Verdict) -> Iterator[Answer]:
    """Framework, stage, verdict, who is to blame, and what is said of the messages."""
    word = verdict.word
    stage = reading.stages[-1].id if reading.stages else "none"
    ids = [finding.id for finding in reading.findings]
    for question, answer in (("framework", reading.framework), ("stage", stage), ("verdict", word)):
        if label[question]:
            yield Answer(question, answer in label[question], answer)
    if "culprits" in label:
        yield Answer("culprits", named(label["culprits"], verdict.culprits), str(verdict.culprits))
        if not ALIVE.isdisjoint(label["verdict"]):
            yield Answer("alarm", word in ALIVE, word)
    if label["first"]:
        names = [_names(finding) for finding in reading.findings]
        yield Answer("recall", any(not each.isdisjoint(label["first"]) for each in names), str(ids))
        yield Answer("first", bool(names) and not names[0].isdisjoint(label["first"]), str(ids[:3]))
    if kinds := label.get("kind"):
        kind = next((finding.groups.get("kind", "none") for finding in reading.findings if finding.id == ids[0]), "none")
        yield Answer("kind", kind in kinds, kind)
    if "only" in label:
        causes = [finding for finding in reading.findings if _is_cause(finding)]
        extra = {finding.id for finding in causes if _names(finding).isdisjoint(label["only"])}
        yield Answer("extra", not extra, str(sorted(extra)))
    if label["forbid"]:
        fatal = {finding.id for finding in reading.findings if finding.severity == "fatal"}
        unwanted = fatal if label["forbid"] == ["*"] else fatal.intersection(label["forbid"])
        yield Answer("forbidden", not unwanted, str(sorted(unwanted)))


def _why(label: dict[str, Any], look: Look) -> Iterator[Answer]:
    """The line that is pointed at, and the cause that is told."""
    if label["first"] and (line := label.get("points_at")):
        shown = next((finding.text for finding in look.reading.findings if finding.severity != "hint"), "nothing")
        yield Answer("line", line in shown or shown in line, shown[:100])
    if causes := label.get("advice"):
        yield Answer("advice", any(cause in look.cause for cause in causes), look.cause[:100])


def _names(finding: Finding) -> set[str]:
    """Its id, and the page that explains it, where that is of its kind alone (`kind.timeout` of a traceback)."""
    return {finding.id, finding.groups.get("kind", finding.id)}


def _is_cause(finding: Finding) -> bool:
    return finding.role == "cause" and finding.severity != "hint" and not finding.survived


def named(wanted: list[dict[str, Any]], found: Sequence[Culprit]) -> bool:
    """Whether all who are to blame are named, and nobody else: by rank, pid or host, whichever is said."""
    left = list(found)
    for label in wanted:
        said = [{name: getattr(one, name) for name in label if getattr(one, name) is not None} for one in left]
        match = next((number for number, names in enumerate(said) if names and names.items() <= label.items()), None)
        if match is None:
            return False
        del left[match]
    return not left


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
