"""Which frameworks a log shows, and which one the run uses: the weights of distinct texts add up, 3 is proof enough."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hangtop.common.late_pattern import compiled
from hangtop.logs.catalog.profile import Detect, Profile
from hangtop.logs.lines.block_lines import Line

PROOF = 3
FALLBACK = "generic"


class FrameworkVotes:
    """The texts seen so far that speak for each profile."""

    def __init__(self) -> None:
        self.seen: dict[str, set[Detect]] = {}

    def vote(self, profile: Profile, detect: Detect, line: Line) -> None:
        """This text was found in a line. The prefixes of the line count too: some frameworks show only there."""
        known = self.seen.setdefault(profile.name, set())
        if detect in known:
            return
        if detect.regex is None or compiled(detect.regex).search(line.prefix.text + line.text):
            known.add(detect)

    def knows(self, detects: Iterable[tuple[Profile, Detect]]) -> bool:
        """Whether all of these texts were seen already."""
        return all(detect in self.seen.get(profile.name, ()) for profile, detect in detects)

    def scores(self) -> dict[str, int]:
        return {name: sum(detect.weight for detect in seen) for name, seen in self.seen.items()}


def active(profiles: Mapping[str, Profile], scores: Mapping[str, int], chosen: str | None = None) -> tuple[Profile, ...]:
    """The profiles whose lines count, the leading one first, the base ones last. `chosen`: the one that the user named."""
    proven = {name for name, score in scores.items() if score >= PROOF and name in profiles}
    for profile in profiles.values():
        if profile.refines in proven and scores.get(profile.name, 0) > 0:
            proven.add(profile.name)
    proven -= {name for profile in profiles.values() if profile.name in proven for name in filter(None, [profile.refines])}
    if chosen in profiles:
        proven.add(str(chosen))
    weak = {name for name, score in scores.items() if score > 0 and name in profiles} if not proven else set()
    names = proven or weak
    inside = set(_closure(profiles, names))
    ranked = sorted(names, key=lambda name: (name != chosen, name in inside - {chosen}, -scores.get(name, 0), name))
    base = [profile for profile in profiles.values() if profile.base and profile.name not in names]
    contained = [profiles[name] for name in sorted(inside - names) if name in profiles and not profiles[name].base]
    return (*(profiles[name] for name in ranked), *contained, *base)


def _closure(profiles: Mapping[str, Profile], names: Iterable[str]) -> Iterable[str]:
    """The profiles that the named ones contain, directly or indirectly."""
    seen: set[str] = set()
    todo = [inner for name in names for inner in profiles[name].contains]
    while todo:
        name = todo.pop()
        if name not in seen and name in profiles:
            seen.add(name)
            todo += profiles[name].contains
    return seen


def leading(found: tuple[Profile, ...]) -> str:
    """The framework to report."""
    return (found[0].framework or found[0].name) if found else FALLBACK
