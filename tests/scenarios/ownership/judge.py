"""What must hold of every answer: nothing foreign is blamed, looked into, or stands in a plan."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator

import msgspec

PID = re.compile(r"(?<![\d.])(\d{6})(?![\d.])")
CAUSES = ("headline", "refute", "evidence", "findings", "decided_by", "advice", "waits_for", "culprits")
"""The parts of `check --json` that say what is wrong and why."""
OFFERED = "--yes does it"
"""Ends a plan that may be carried out."""
MAY_BE = re.compile(
    r"no process here is known to write the log; .* may be the run|or a process that may be the run is at work: --pid"
)
"""A sentence that calls nobody the run or the cause: it says that no fact tells whether some process is."""
SPARED = re.compile(r"^\s*leaves\b|is not (stopped|touched)|left as it is|which of them is the run")
"""A line that tells what stays as it is, or asks which of several is meant."""


class Answer(msgspec.Struct, frozen=True):
    """What one command said."""

    name: str
    code: int
    out: str
    err: str


class Facts(msgspec.Struct, frozen=True):
    """Whose is what. `foreign`: pids. `marks`: words that only stand for things of others (sessions, addresses, names)."""

    own: frozenset[int]
    foreign: frozenset[int]
    marks: tuple[str, ...]


def faults_of(answer: Answer, facts: Facts, verdicts: Collection[str]) -> Iterator[str]:
    """What is wrong with one answer."""
    if "Traceback (most recent call last)" in answer.err:
        yield f"{answer.name}: a traceback: {answer.err.strip().splitlines()[-1]}"
    elif answer.name == "check":
        yield from _faults_of_check(answer, facts, verdicts)
    elif answer.name == "stacks":
        yield from _faults_of_stacks(answer, facts)
    else:
        yield from _faults_of_plan(answer, facts)


def verdict_of(answer: Answer) -> str | None:
    """The word of a `check`; `None` of all else."""
    return json.loads(answer.out)["verdict"] if answer.name == "check" and answer.out.startswith("{") else None


def _faults_of_check(answer: Answer, facts: Facts, verdicts: Collection[str]) -> Iterator[str]:
    if not answer.out.startswith("{"):
        yield f"check: no JSON: {(answer.err or answer.out).strip()[:300]}"
        return
    said = json.loads(answer.out)
    if said["verdict"] not in verdicts:
        yield f"check: {said['verdict']} ({said['headline']}), should be {' or '.join(verdicts)}"
    for part in CAUSES:
        for text in _texts(said.get(part)):
            if (found := foreign_in(text, facts)) and not MAY_BE.search(text):
                yield f"check: {part} names {', '.join(found)}, which is not the run's: {text[:160]}"
    for member in ("culprits", "ranks"):
        for rank in said[member]:
            if rank["pid"] is not None and rank["pid"] in facts.foreign:
                yield f"check: {member} hold pid {rank['pid']}, which is not the run's"


def _faults_of_stacks(answer: Answer, facts: Facts) -> Iterator[str]:
    if answer.out.startswith("{"):
        shown = {int(pid) for pid in PID.findall(answer.out)}
        for pid in sorted(shown & facts.foreign):
            yield f"stacks: looked into pid {pid}, which is not the run's"


def _faults_of_plan(answer: Answer, facts: Facts) -> Iterator[str]:
    if OFFERED not in answer.out and answer.name.startswith(("ray", "clean")):
        return  # a list of sessions to choose from tells whose they are, and what stays is told with its owner
    lines = [line.strip() for line in (answer.out + answer.err).splitlines() if not SPARED.search(line)]
    named = [(line, found) for line in lines if (found := foreign_in(line, facts))]
    if named:
        first, found = named[0]
        yield f"{answer.name}: {len(named)} lines name what is not the run's, the first of it {', '.join(found)}: {first[:160]}"


def foreign_in(text: str, facts: Facts) -> list[str]:
    """The pids and words in a text that belong to others."""
    pids = sorted({int(found) for found in PID.findall(text)} & facts.foreign)
    return [*map(str, pids), *(mark for mark in facts.marks if mark in text)]


def _texts(value: object) -> Iterator[str]:
    """All strings and numbers in a piece of JSON, as text."""
    if isinstance(value, dict):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)
    elif isinstance(value, (str, int)) and not isinstance(value, bool):
        yield str(value)
