"""Ranks by the names of log files: a number after "rank", torchrun's tree, or the number that varies between files that are
otherwise named alike. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from hangtop.common.late_pattern import late_pattern

_SAID = late_pattern(r"(?i)(?<![a-z])(?:global[_-]?)?rank[_\-=.]?(\d+)")
_SAID_LOCAL = late_pattern(r"(?i)local[_-]?rank[_\-=.]?\d+")
_TORCHRUN = late_pattern(r"/attempt_\d+/(\d+)/[^/]+$")
_DATE = late_pattern(r"(?<!\d)20\d\d[-_.]?\d\d[-_.]?\d\d(?:[-_.T]?\d\d[-_.:]?\d\d(?:[-_.:]?\d\d)?)?(?!\d)")
_NUMBER = late_pattern(r"\d+")


def ranks_of(paths: Sequence[str]) -> list[int | None]:
    """The rank of each path; `None` where its name tells none. Where two files of one kind would get the same rank (trees of
    several nodes with local ranks), neither has one, and the lines must tell."""
    said = [_said(path) for path in paths]
    varying = _varying(paths)
    ranks = [varying.get(path) if rank is None else rank for path, rank in zip(paths, said, strict=True)]
    kinds = [_NUMBER.sub("#", path.rpartition("/")[2]) for path in paths]
    seen = Counter(zip(kinds, ranks, strict=True))
    return [rank if seen[kind, rank] == 1 else None for kind, rank in zip(kinds, ranks, strict=True)]


def _said(path: str) -> int | None:
    """By the file's name, the whole name of its folder (`rank_3/train.log`), or torchrun's tree."""
    folder, _, name = path.rpartition("/")
    found = _SAID.search(_SAID_LOCAL.sub("", name)) or _SAID.fullmatch(folder.rpartition("/")[2]) or _TORCHRUN.search(path)
    return int(found[1]) if found else None


def _varying(paths: Sequence[str]) -> dict[str, int]:
    """The last number that differs between paths of one pattern, if it is small enough to count ranks."""
    alike: dict[tuple[str, ...], list[tuple[str, list[int]]]] = defaultdict(list)
    for path in paths:
        plain = _DATE.sub("date", path)
        alike[tuple(_NUMBER.split(plain))].append((path, [int(digits) for digits in _NUMBER.findall(plain)]))
    ranks: dict[str, int] = {}
    for group in alike.values():
        columns = list(zip(*(numbers for _, numbers in group), strict=True))
        differing = [column for column in columns if len(set(column)) > 1]
        if differing and max(differing[-1]) < max(64, 4 * len(set(differing[-1]))):
            ranks.update((path, rank) for (path, _), rank in zip(group, differing[-1], strict=True))
    return ranks
