"""The users' own documents, row by row: `tests/corpus/seeds.toml` says what hangtop does about each, and this proves it."""

from __future__ import annotations

import re
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hangtop.cli.commands import explain
from hangtop.diagnosis.judge import judge
from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.logs.digest import Digest
from hangtop.logs.joined_logs import join_logs
from hangtop.records.advice import Advice
from hangtop.records.health import SourceHealth
from hangtop.records.log import LogFile, LogReading
from hangtop.records.process import ProcessReading
from hangtop.records.verdict import Verdict
from hangtop.records.watch_spec import WatchSpec
from hangtop.remedies.advise import advice
from hangtop.state.run_state import RunState
from tests.fakes.read_log import INDEX

ROOT = Path(__file__).parents[2]
BEGAN = 1_768_125_600.0
"""2026-01-11 10:00:00 UTC."""
ROWS = {"G": 44, "T": 31, "S": 29, "P": 19, "Q": 19, "L": 41, "W": 14}


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """See the head of `seeds.toml`."""

    log: str = ""
    last_s: float = 0.0
    silent_s: float = 0.0
    framework: str | None = None
    stage: str | None = None
    stages: tuple[str, ...] | None = None
    word: str | None = None
    kind: str | None = None
    headline: str | None = None
    step: int | None = None
    total: int | None = None
    finding: str | None = None
    evidence: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    explain: str | None = None
    page: str | None = None


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    asks: str
    works: str = "yes"
    why: str = ""
    proof: tuple[str, ...] = ()
    case: tuple[Case, ...] = ()


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    schema: int
    row: tuple[Row, ...]


@cache
def rows() -> tuple[Row, ...]:
    return msgspec.toml.decode((ROOT / "tests" / "corpus" / "seeds.toml").read_bytes(), type=_File).row


def of_a_log() -> list[Any]:
    return [pytest.param(case, id=f"{row.id}-{number}") for row in rows() for number, case in enumerate(row.case, 1) if case.log]


def of_a_text() -> list[Any]:
    return [
        pytest.param(case, id=f"{row.id}-{number}") for row in rows() for number, case in enumerate(row.case, 1) if case.explain
    ]


def looked_at(case: Case, procs: ProcessReading | None = None) -> tuple[LogReading, Verdict, tuple[Advice, ...]]:
    """What is said of a run of which only this log is known, `silent_s` after its last byte."""
    written_at = BEGAN + case.last_s
    digest = Digest(INDEX, 0, clock_shift_s=0.0, written_by=written_at)
    digest.feed(case.log.encode())
    file, now = digest.facts(), written_at + case.silent_s
    seen = (LogFile("train.log", status="ok", size_bytes=file.bytes, scanned_bytes=file.bytes),)
    log = join_logs((file,), seen, INDEX.catalog, last_output_at=written_at, outputs=((file, written_at),), tail=digest.tail(200))
    processes = {} if procs is None else {"n1": procs}
    state = RunState(log=log, tail=log.tail, health={"log": SourceHealth("log", read_at=now)}, heard_at=now, processes=processes)
    snapshot = take_snapshot(state, WatchSpec(logs=("train.log",)), now)
    verdict = judge(snapshot)
    return log, verdict, advice(snapshot, verdict)


@pytest.mark.parametrize("case", of_a_log())
def test_what_the_log_of_a_row_shows_is_said(case: Case) -> None:
    log, verdict, told = looked_at(case)
    stages = tuple(dict.fromkeys(event.id for event in log.stages))
    found = {
        "framework": log.framework,
        "stage": stages[-1] if stages else None,
        "stages": stages,
        "word": verdict.word,
        "kind": verdict.kind,
        "step": log.progress.step,
        "total": log.progress.total,
        "finding": next((finding.id for finding in log.findings), None),
    }
    wanted = {name: getattr(case, name) for name in found if getattr(case, name) is not None}
    assert wanted == {name: found[name] for name in wanted}
    assert (case.headline or "") in verdict.headline
    said = " | ".join(fact.text for fact in verdict.evidence)
    assert [part for part in case.evidence if part not in said] == [], said
    advised = " | ".join(f"{each.cause}: {each.remedy}" for each in told)
    assert [part for part in case.advice if part not in advised] == [], advised


@pytest.mark.parametrize("case", of_a_text())
def test_the_text_of_a_row_leads_to_its_page_first(case: Case) -> None:
    out = StringIO()
    assert explain.run(case.explain, listing=False, lang="en", framework=None, out=out) == explain.FOUND
    assert case.page is not None
    first_line = out.getvalue().partition("\n")[0]
    assert first_line == case.page or first_line.startswith(f"{case.page}  "), first_line


def test_every_row_of_the_documents_is_here_once() -> None:
    found = [row.id for row in rows()]
    assert len(found) == len(set(found))
    assert {letter: sum(name.startswith(letter) for name in found) for letter in ROWS} == ROWS


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.id)
def test_every_row_is_proven_or_says_why_not(row: Row) -> None:
    if row.works == "yes":
        assert row.case or row.proof
    else:
        assert row.works in ("in part", "must not")
        assert row.why
    for proof in row.proof:
        file, _, name = proof.partition("::")
        text = (ROOT / file).read_text()
        assert not name or re.search(rf"def {name}\b", text), proof


def test_a_bare_exception_that_nobody_follows_is_a_crash() -> None:
    """No traceback, and no process that writes the log any more."""
    case = Case(log="loading\nException: the engine could not be made\n", silent_s=300)
    gone = ProcessReading(sought=True)
    assert looked_at(case, gone)[1].word == "crashed"
