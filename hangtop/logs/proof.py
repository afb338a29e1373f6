"""What must hold for a profile and a signature beyond their shape: each function returns what is wrong, in words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hangtop.logs.needles import unproven
from hangtop.logs.profile import STAGE_IDS, Marker, Profile, ProgressLine
from hangtop.logs.signature import WHERE, Signature


def signature_flaws(signature: Signature) -> list[str]:
    """Each reason why this signature would miss its message or match another."""
    return [f"signature {signature.id}: {flaw}" for flaw in _signature_flaws(signature)]


def profile_flaws(profile: Profile, known: frozenset[str]) -> list[str]:
    """Each reason why this profile would not work. `known` are the names of all profiles there are."""
    return [f"profile {profile.name}: {flaw}" for flaw in _profile_flaws(profile, known)]


def _signature_flaws(signature: Signature) -> Iterator[str]:
    yield from _pattern_flaws("regex", signature.regex, signature.literal, signature.example)
    for text in signature.negative:
        if not _broken(signature.regex) and re.search(signature.regex, text):
            yield f"negative {text!r} matches the regex, but must not"
    for stage in signature.stage:
        if stage not in STAGE_IDS:
            yield f"stage {stage!r} is unknown; known are {', '.join(STAGE_IDS)}"
    for fix in signature.fix:
        if fix.where not in WHERE:
            yield f"fix.where {fix.where!r} is unknown; known are {', '.join(WHERE)}"


def _profile_flaws(profile: Profile, known: frozenset[str]) -> Iterator[str]:
    for name in (*profile.contains, *filter(None, [profile.refines])):
        if name not in known:
            yield f"names the profile {name!r}, which does not exist; known are {', '.join(sorted(known))}"
    if profile.nests_in is not None and profile.nests_in not in STAGE_IDS:
        yield f"nests_in {profile.nests_in!r} is unknown; known are {', '.join(STAGE_IDS)}"
    for stage in profile.stage:
        for name in filter(None, (stage.id, stage.after_done)):
            if name not in STAGE_IDS:
                yield f"stage {name!r} is unknown; known are {', '.join(STAGE_IDS)}"
        for marker in (*stage.enter, *stage.done):
            yield from (f"stage {stage.id}: {flaw}" for flaw in _marker_flaws(marker))
    for line in profile.progress:
        yield from (f"progress {line.id}: {flaw}" for flaw in _progress_flaws(line))
    for block in profile.free_text:
        for marker in (block.begin, *block.until):
            yield from (f"free_text: {flaw}" for flaw in _marker_flaws(marker))
    for name in profile.stall_hint:
        if name not in STAGE_IDS:
            yield f"stall_hint names the stage {name!r}, which is unknown"


def _marker_flaws(marker: Marker) -> Iterator[str]:
    if not marker.literal or not all(marker.literal):
        yield "a marker needs at least one literal that is not empty"
    if marker.regex is not None:
        yield from _pattern_flaws("regex", marker.regex, marker.literal, marker.example)
    elif marker.example is not None and not any(literal in marker.example for literal in marker.literal):
        yield f"example {marker.example!r} holds none of the literals {list(marker.literal)}"


def _progress_flaws(line: ProgressLine) -> Iterator[str]:
    yield from _pattern_flaws("regex", line.regex, line.literal, line.example)
    if problem := _broken(line.pair):
        yield f"pair does not compile: {problem}"
    elif {"key", "value"} - re.compile(line.pair).groupindex.keys():
        yield "pair needs the named groups key and value"
    if line.stage is not None and line.stage not in STAGE_IDS:
        yield f"stage {line.stage!r} is unknown; known are {', '.join(STAGE_IDS)}"
    if line.total_from is not None:
        literals = (line.total_literal,) if line.total_literal else ()
        yield from _pattern_flaws("total_from", line.total_from, literals, line.total_example)


def _pattern_flaws(key: str, pattern: str, literals: tuple[str, ...], example: str | None) -> Iterator[str]:
    if problem := _broken(pattern):
        yield f"{key} does not compile: {problem}"
        return
    if not literals or not all(literals):
        yield f"{key} needs at least one literal that is not empty, or the scan never tries it"
        return
    if example is not None and not re.search(pattern, example):
        yield f"{key} does not match its example {example!r}"
    if missed := unproven(pattern, literals):
        yield f"{key} can match text without any of the literals {list(literals)}, for instance by way of {missed!r}"


def _broken(pattern: str) -> str | None:
    try:
        re.compile(pattern)
    except re.error as error:
        return f"{error} in {pattern!r}"
    return None
