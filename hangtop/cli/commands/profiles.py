"""`hangtop profiles list|show|test`: what frameworks are known, and whether what a user wrote works."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from hangtop.common.clean_text import clean_text
from hangtop.common.late_pattern import compiled
from hangtop.common.text import some
from hangtop.logs.catalog.checks import profile_flaws, signature_flaws, too_slow
from hangtop.logs.catalog.load import Catalog, load
from hangtop.logs.catalog.profile import Marker, Profile, Stage
from hangtop.logs.catalog.signature import Signature
from hangtop.logs.extract.steps.step_tables import Columns, is_names
from hangtop.logs.lines.prefixes import strip

OK, FLAWED, UNKNOWN = 0, 1, 2
_SHOWN = 100


def list_profiles(out: TextIO, user_dir: Path | None = None) -> int:
    """One line a profile: name, what it reports, stages, and its title."""
    for profile in sorted(load(user_dir).profiles.values(), key=lambda each: each.name):
        inside = f"  holds {', '.join(profile.contains)}" if profile.contains else ""
        out.write(f"{profile.name:<14} {profile.framework:<12} {some(len(profile.stage), 'stage'):<9}  {profile.title}{inside}\n")
    return OK


def show(name: str, out: TextIO, user_dir: Path | None = None) -> int:
    """The stages of one profile in order, with their limits and markers, and its progress lines."""
    catalog = load(user_dir)
    profile = catalog.profiles.get(name)
    if profile is None:
        return _unknown(name, catalog, out)
    out.write(
        f"{profile.name}: {profile.title}, reported as {profile.framework}\n\nstages (typical / slow / stalled after, seconds)\n"
    )
    for stage in profile.stage:
        out.write(f"  {stage.id:<18} {stage.title:<15} {_limits(stage)}\n")
        for sign, markers in (("▸", stage.enter), ("✓", stage.done)):
            out.writelines(f"      {sign} {' | '.join(marker.literal)}\n" for marker in markers)
    out.write("\nprogress lines\n")
    out.writelines(f"  {line.id:<18} {line.example[:_SHOWN]}\n" for line in profile.progress)
    if profile.table:
        out.write("\ntables\n")
        out.writelines(f"  {table.id:<18} {table.example[0][:_SHOWN]}\n" for table in profile.table)
    return OK


def prove(name: str | None, out: TextIO, user_dir: Path | None = None, log: Path | None = None, extra: Path | None = None) -> int:
    """Prove one profile, or everything. With `log`, also what matched where in it, by the base profiles too, whose bars and step
    lines hold in every run. 0: all well, 1: flaws, 2: no such profile.

    Raises `CatalogError` when a file cannot even be read, and `OSError` when the log cannot.
    """
    catalog = load(user_dir, extra)
    profiles = tuple(catalog.profiles.values())
    signatures = tuple(catalog.signatures.values())
    if name is not None:
        if name not in catalog.profiles:
            return _unknown(name, catalog, out)
        profiles, signatures = (catalog.profiles[name],), ()
    flaws = [*flaws_of(profiles, signatures, frozenset(catalog.profiles))]
    below = tuple(each for each in catalog.profiles.values() if each.base and each not in profiles)
    out.writelines(f"✗ {flaw}\n" for flaw in flaws)
    if not flaws:
        out.write(f"✓ {some(len(profiles), 'profile')} and {some(len(signatures), 'signature')} hold\n")
    if log is not None:
        read, messages = (*profiles, *below), tuple(catalog.signatures.values())
        with log.open("r", encoding="utf-8", errors="replace", newline="\n") as lines:
            for number, line in enumerate(lines, 1):
                out.writelines(f"{number:>8}  {what}\n" for what in matches(line, read, messages))
    return FLAWED if flaws else OK


def flaws_of(profiles: tuple[Profile, ...], signatures: tuple[Signature, ...], known: frozenset[str]) -> Iterator[str]:
    """All flaws, with regexes that a hostile text keeps busy."""
    for profile in profiles:
        yield from (f"profile {profile.name}: {flaw.key}: {flaw.text}" for flaw in profile_flaws(profile, known))
        for where, pattern, literals, example in _patterns(profile):
            if begins := too_slow(pattern, literals, example):
                yield f"profile {profile.name}: {where}: regex needs too long on a text that begins {begins!r}"
    for signature in signatures:
        yield from (f"signature {signature.id}: {flaw.key}: {flaw.text}" for flaw in signature_flaws(signature))
        if begins := too_slow(signature.regex, signature.literal, signature.example):
            yield f"signature {signature.id}: regex needs too long on a text that begins {begins!r}"


def matches(line: str, profiles: tuple[Profile, ...], signatures: tuple[Signature, ...]) -> Iterator[str]:
    """What these profiles and signatures find in one line of a log, in words."""
    for piece in line.rstrip("\r\n").split("\r"):
        whole = clean_text(piece)
        text = strip(whole)[1]
        for profile in profiles:
            yield from (f"{profile.name}: {what}  {text[:_SHOWN]}" for what in _profile_matches(profile, whole, text))
        for signature in signatures:
            if _holds(Marker(signature.literal, signature.regex), text):
                yield f"message {signature.id}  {text[:_SHOWN]}"


def _profile_matches(profile: Profile, whole: str, text: str) -> Iterator[str]:
    for detect in profile.detect:
        if _holds(Marker((detect.literal,), detect.regex), whole):
            yield f"detect +{detect.weight} by {detect.literal!r}"
    for stage in profile.stage:
        if any(_holds(marker, text) for marker in stage.enter):
            yield f"stage {stage.id}"
        if any(_holds(marker, text) for marker in stage.done):
            yield f"stage {stage.id} done"
    for line in profile.progress:
        if _holds(Marker(line.literal, line.regex), text):
            yield f"progress {line.id}"
            break
    for table in profile.table:
        if _holds(Marker(table.literal), text) and is_names(Columns(profile, table), text):
            yield f"names of the table {table.id}"
    if any(_holds(Marker(mesh.literal, mesh.regex), text) for mesh in profile.mesh):
        yield "parallel groups"
    if any(_holds(block.begin, text) for block in profile.free_text):
        yield "free text begins"


def _holds(marker: Marker, text: str) -> bool:
    literal = any(literal in text for literal in marker.literal)
    return literal and (marker.regex is None or compiled(marker.regex).search(text) is not None)


def _patterns(profile: Profile) -> Iterator[tuple[str, str, tuple[str, ...], str]]:
    for stage in profile.stage:
        for marker in (*stage.enter, *stage.done):
            if marker.regex is not None:
                yield f"stage {stage.id}", marker.regex, marker.literal, marker.example or ""
    for line in profile.progress:
        yield f"progress {line.id}", line.regex, line.literal, line.example
        yield f"pair of {line.id}", line.pair_regex, (), line.example
        if line.doubt is not None:
            yield f"doubt of {line.id}", line.doubt, (), line.example
    for table in profile.table:
        yield f"needs of {table.id}", table.needs, (), table.example[0]
    for number, mesh in enumerate(profile.mesh):
        yield f"mesh {number}", mesh.regex, mesh.literal, mesh.example
    for number, block in enumerate(profile.free_text):
        for marker in (block.begin, *block.until, *block.last):
            if marker.regex is not None:
                yield f"free_text {number}", marker.regex, marker.literal, marker.example or ""
    for detect in profile.detect:
        if detect.regex is not None:
            yield f"detect {detect.literal!r}", detect.regex, (detect.literal,), ""


def _limits(stage: Stage) -> str:
    if stage.steady:
        return "follows the run's own pace"
    return " / ".join(
        "–" if each is None else f"{each:g}" for each in (stage.typical_s, stage.slow_after_s, stage.stalled_after_s)
    )


def _unknown(name: str, catalog: Catalog, out: TextIO) -> int:
    out.write(f"no profile {name!r}; known are {', '.join(sorted(catalog.profiles))}\n")
    return UNKNOWN
