"""The checks of profiles and signatures beyond their shape: what is wrong, and where.

Among them inputs that make a careless regex run for minutes: long, repetitive, and almost a match.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable, Iterator
from types import FrameType

from msgspec import Struct

from hangtop.logs.catalog.literal_coverage import unproven
from hangtop.logs.catalog.profile import STAGE_IDS, Marker, Profile, ProgressLine, Table
from hangtop.logs.catalog.signature import Signature

LENGTH = 100_000
LIMIT_S = 1.0
"""CPU seconds for one search. A sound regex needs at most a tenth; one that starts over at each blank takes half a minute, and
catastrophic backtracking would not end."""


class Flaw(Struct, frozen=True):
    """What is wrong, and at which key of the file (`stage[2].enter[0].regex`)."""

    key: str
    text: str


def signature_flaws(signature: Signature) -> Iterator[Flaw]:
    """Each reason why this signature would miss its message or match another."""
    if not signature.kind:
        yield from _pattern_flaws("regex", signature.regex, signature.literal, signature.example)
    elif problem := _broken(signature.regex):
        yield Flaw("regex", f"does not compile: {problem}")
    elif signature.literal:
        yield Flaw("literal", "a kind of exception is not scanned for: it has no literals")
    elif not re.search(signature.regex, signature.example):
        yield Flaw("example", f"{signature.example!r} is not matched")
    for text in signature.negative:
        if not _broken(signature.regex) and re.search(signature.regex, text):
            yield Flaw("negative", f"{text!r} matches the regex, but must not")
    yield from _unknown_stages((f"stage[{n}]", stage) for n, stage in enumerate(signature.stage))


def profile_flaws(profile: Profile, known: frozenset[str]) -> Iterator[Flaw]:
    """Each reason why this profile would not work. `known` are the names of all profiles there are."""
    named = [*(("contains", name) for name in profile.contains), ("refines", profile.refines)]
    for key, name in named:
        if name is not None and name not in known:
            yield Flaw(key, f"there is no profile {name!r}; known are {', '.join(sorted(known))}")
    yield from _unknown_stages(
        [("nests_in", profile.nests_in), *((f"stall_hint.{stage_id}", stage_id) for stage_id in profile.stall_hint)]
    )
    for n, stage in enumerate(profile.stage):
        yield from _unknown_stages([(f"stage[{n}].id", stage.id), (f"stage[{n}].after_done", stage.after_done)])
        for key, markers in (("enter", stage.enter), ("done", stage.done)):
            for m, marker in enumerate(markers):
                yield from _marker_flaws(f"stage[{n}].{key}[{m}]", marker)
    for n, line in enumerate(profile.progress):
        yield from _progress_flaws(f"progress[{n}]", line)
    for n, table in enumerate(profile.table):
        yield from _table_flaws(f"table[{n}]", profile, table)
    for n, mesh in enumerate(profile.mesh):
        yield from _pattern_flaws(f"mesh[{n}].regex", mesh.regex, mesh.literal, mesh.example)
    for n, block in enumerate(profile.free_text):
        yield from _marker_flaws(f"free_text[{n}].begin", block.begin)
        for key, ends in (("until", block.until), ("last", block.last)):
            for m, marker in enumerate(ends):
                yield from _marker_flaws(f"free_text[{n}].{key}[{m}]", marker)


def _unknown_stages(named: Iterable[tuple[str, str | None]]) -> Iterator[Flaw]:
    for key, name in named:
        if name is not None and name not in STAGE_IDS:
            yield Flaw(key, f"stage {name!r} is unknown; known are {' '.join(STAGE_IDS)}")


def _marker_flaws(key: str, marker: Marker) -> Iterator[Flaw]:
    if not marker.literal or not all(marker.literal):
        yield Flaw(f"{key}.literal", "a marker needs at least one literal that is not empty")
    if marker.regex is not None:
        yield from _pattern_flaws(f"{key}.regex", marker.regex, marker.literal, marker.example)
    elif marker.example is not None and not any(literal in marker.example for literal in marker.literal):
        yield Flaw(f"{key}.example", f"{marker.example!r} holds none of the literals {list(marker.literal)}")


def _progress_flaws(key: str, line: ProgressLine) -> Iterator[Flaw]:
    yield from _pattern_flaws(f"{key}.regex", line.regex, line.literal, line.example)
    if problem := _broken(line.pair_regex):
        yield Flaw(f"{key}.pair", f"does not compile: {problem}")
    elif {"key", "value"} - re.compile(line.pair_regex).groupindex.keys():
        yield Flaw(f"{key}.pair", "needs the named groups key and value")
    if line.doubt is not None and (problem := _broken(line.doubt)):
        yield Flaw(f"{key}.doubt", f"does not compile: {problem}")
    yield from _unknown_stages([(f"{key}.stage", line.stage)])
    if line.total_from is not None:
        yield from _pattern_flaws(f"{key}.total_from", line.total_from, line.total_literal, line.total_example)


def _table_flaws(key: str, profile: Profile, table: Table) -> Iterator[Flaw]:
    from hangtop.logs.extract.steps import step_tables

    if problem := _broken(table.needs):
        yield Flaw(f"{key}.needs", f"does not compile: {problem}")
    elif not any(literal and literal in table.example[0] for literal in table.literal):
        yield Flaw(f"{key}.literal", f"the line of names {table.example[0]!r} holds none of them")
    elif not step_tables.tells(step_tables.Columns(profile, table), *table.example):
        yield Flaw(f"{key}.example", f"{table.example[1]!r} tells no step below {table.example[0]!r}")
    yield from _unknown_stages([(f"{key}.stage", table.stage)])


def _pattern_flaws(key: str, pattern: str, literals: tuple[str, ...], example: str | None) -> Iterator[Flaw]:
    if problem := _broken(pattern):
        yield Flaw(key, f"does not compile: {problem}")
        return
    if not literals or not all(literals):
        yield Flaw(key, "needs at least one literal that is not empty, or the scan never tries it")
        return
    if example is not None and not re.search(pattern, example):
        yield Flaw(key, f"does not match its example {example!r}")
    if missed := unproven(pattern, literals):
        yield Flaw(key, f"can match text without any of the literals {list(literals)}, for instance by way of {missed!r}")


def _broken(pattern: str) -> str | None:
    try:
        re.compile(pattern)
    except re.error as error:
        return f"{error} in {pattern!r}"
    return None


def hostile_texts(literals: tuple[str, ...], example: str) -> Iterator[str]:
    """Texts of `LENGTH` characters: one character, words, pairs, and the message's own parts again and again."""
    half = example[: len(example) // 2]
    for piece in ("a", " ", "1", "a ", "1.", "a:", "a=1 ", " - a:1", "'a': ", "/a", "━", "a|", *literals[:6], example, half):
        if piece:
            yield (piece * (LENGTH // len(piece) + 1))[:LENGTH]
    for literal in literals[:2]:
        yield literal + "a" * LENGTH
        yield "a" * LENGTH + literal


def too_slow(pattern: str, literals: tuple[str, ...], example: str) -> str | None:
    """The start of a hostile text for which one search takes more than `LIMIT_S`; `None` if all are quick.

    A timer of CPU time breaks off the search, so this must be called in the main thread.
    """
    regex = re.compile(pattern)
    before = signal.signal(signal.SIGVTALRM, _give_up)
    try:
        for text in hostile_texts(literals, example):
            try:
                signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT_S)
                regex.search(text)
            except _TooSlow:
                return text[:60]
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    finally:
        signal.signal(signal.SIGVTALRM, before)
    return None


def _give_up(number: int, frame: FrameType | None) -> None:
    raise _TooSlow


class _TooSlow(Exception):
    pass
