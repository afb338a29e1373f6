"""Which lines of a block are parsed: all if hits are few; in a flood the first ones and each writer's newest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter

from msgspec import Struct

from hangtop.logs.extract.framework_votes import FrameworkVotes
from hangtop.logs.extract.literal_index import LiteralIndex
from hangtop.logs.extract.repeated_literals import FLOOD, PIECES, RepeatedLiterals, stands_in_rows
from hangtop.logs.lines.block_lines import SURE, SURE_BYTES, Lines
from hangtop.logs.lines.literal_scan import Hit, find_folded

FEW, FIRST = 64, 24
"""If a literal has at most `FEW` hits in a block, all its lines are parsed, else the `FIRST` ones, for the pace."""

CLOSING = 16
"""If a literal that may end free text is everywhere, as a bar is, this many lines are parsed after each beginning of a text."""

SPREAD = 32
"""About this many step lines of a small block are parsed, so that their values make a curve."""

LARGE = 256 << 10
FEW_IN_LARGE, FIRST_IN_LARGE = 8, 2
"""The same in a block larger than `LARGE`: an older part of a big file, or a flood in a live one."""

_CROWD = 4_096
"""From one hit in this many bytes on it pays to leave out literals that tell nothing new."""


class SampledLines(Struct, frozen=True):
    """`at`: a byte index inside each line to parse, ascending. `skipped`: the number of hits left out, by literal. `floods`: the
    literals that flood the block."""

    at: list[int]
    skipped: dict[int, int] = {}
    floods: frozenset[int] = frozenset()


class LineSampler:
    """Chooses, block for block, the lines of one file that are parsed, and learns which literals have no more to say."""

    def __init__(self, index: LiteralIndex, frameworks: FrameworkVotes) -> None:
        self._index = index
        self._frameworks = frameworks
        self._repeated = RepeatedLiterals(index)
        self._left_out: frozenset[int] = frozenset()
        self._known_votes: tuple[int, frozenset[int]] = (0, frozenset())
        self._counts: Counter[int] = Counter()

    def sample(self, lines: Lines, *, in_text: bool) -> SampledLines:
        """The lines of a block to parse. `in_text`: free text is open at its start."""
        hits, left = self._hits(lines)
        self._counts = Counter(map(itemgetter(0), hits))
        if known := self._counts.keys() & self._said():
            hits = [hit for hit in hits if hit[0] not in known]
        new = Counter({number: count for number, count in self._counts.items() if number not in known}) + Counter(left)
        return pick(hits, new, lines, self._index, in_text)

    def learn(self, sampled: SampledLines, lines: Lines) -> None:
        """The lines of the block were read. Votes that are counted by now, and are everywhere, are left out of the next scan."""
        said = self._said()
        if sum(self._counts[number] for number in self._counts.keys() & said) > len(lines.block.data) // _CROWD:
            self._left_out |= said
        self._repeated.learn(sampled.floods)

    def _hits(self, lines: Lines) -> tuple[list[Hit], dict[int, int]]:
        """The hits that are new, and how many more there are of literals in a flood."""
        block = lines.block
        find = self._index.finder(self._left_out | self._repeated.numbers, len(block.data))
        folded = len(block.data) > LARGE and lines.has_bars
        hits = find_folded(block.data, find) if folded else find(block.data)
        flooding, left = self._repeated.hits(lines)
        if flooding:
            hits = sorted((*hits, *flooding), key=itemgetter(2))
        if block.seen:
            hits = [hit for hit in hits if hit[2] > block.seen]
        return hits, left

    def _said(self) -> frozenset[int]:
        """Literals that only vote for a framework, and have done so: NCCL prints a million."""
        votes = sum(map(len, self._frameworks.seen.values()))
        if votes != self._known_votes[0]:
            only_detect = self._index.only_detects.items()
            self._known_votes = (votes, frozenset(number for number, detects in only_detect if self._frameworks.knows(detects)))
        return self._known_votes[1]


def pick(hits: Sequence[Hit], counts: Mapping[int, int], lines: Lines, index: LiteralIndex, in_text: bool) -> SampledLines:
    """The lines to parse. `counts`: the number of hits of each literal, with the hits that are not listed. `in_text`: free text
    is open, so its end must not be missed."""
    size = len(lines.block.data)
    few, first = (FEW, FIRST) if size <= LARGE else (FEW_IN_LARGE, FIRST_IN_LARGE)
    borders = in_text or not index.begins_text.isdisjoint(counts)
    many = {number for number, count in counts.items() if count > few and not (borders and number in index.begins_text)}
    if len(hits) <= few or not many:
        return SampledLines(sorted({start for _, start, _ in hits}))
    rare = len(many) < len(counts)
    picked = {start for number, start, _ in hits if number not in many} if rare else set()
    picked.update(_first(hits, many, first))
    if borders:
        picked.update(_closing(hits, {number for number in many if index.each[number].ends_text}, index, in_text))
    flooding = {number for number in many if counts[number] > FLOOD}
    storms = {number for number in flooding if not index.each[number].progress}
    floods = storms | {number for number in flooding - storms if stands_in_rows(index.scanner.literals[number], lines)}
    picked.update(_first(reversed(hits), storms, few))
    picked.update(_newest_of_each_writer(hits, lines, many - storms))
    if size <= LARGE:
        picked.update(_spread(hits, {number for number in many if index.each[number].progress}, counts))
    counted = {number for number in many if index.each[number].signatures}
    taken = Counter(number for number, start, _ in hits if start in picked) if counted else Counter()
    return SampledLines(
        at=sorted(picked),
        skipped={number: counts[number] - taken[number] for number in counted},
        floods=frozenset(floods),
    )


def _closing(hits: Sequence[Hit], ends: set[int], index: LiteralIndex, in_text: bool) -> list[int]:
    """The next hits of literals that may end free text, after each place where one begins."""
    left = dict.fromkeys(ends, CLOSING if in_text else 0)
    found: list[int] = []
    if not ends:
        return found
    for number, start, _ in hits:
        if number in index.begins_text:
            left = dict.fromkeys(ends, CLOSING)
        elif left.get(number):
            left[number] -= 1
            found.append(start)
    return found


def _first(hits: Iterable[Hit], many: set[int], count: int) -> list[int]:
    """The first `count` hits of each of these literals."""
    left = dict.fromkeys(many, count)
    found: list[int] = []
    if not left:
        return found
    for number, start, _ in hits:
        if number in left:
            found.append(start)
            left[number] -= 1
            if not left[number]:
                del left[number]
                if not left:
                    break
    return found


def _spread(hits: Sequence[Hit], progress: set[int], counts: Mapping[int, int]) -> list[int]:
    """About `SPREAD` step lines at even distances: without them a loss spike in the middle would be missed."""
    most = max(progress, key=lambda number: counts[number], default=None)
    places = [start for number, start, _ in hits if number == most]
    return places[:: 1 + len(places) // SPREAD]


def _newest_of_each_writer(hits: Sequence[Hit], lines: Lines, many: set[int]) -> list[int]:
    """Each line once, the newest first; a line is skipped if its writer was seen with the same literal.

    All lines are visited: the rank that lags wrote its newest line furthest back, and it is the one that matters.
    """
    seen: dict[int, set[bytes]] = {number: set() for number in many}
    found: list[int] = []
    data, bars = lines.block.data, lines.has_bars
    find, rfind = data.find, data.rfind  # this loop runs once for each hit
    line_start, row, pieces = len(data), len(data), 0
    for number, start, _ in reversed(hits):
        if start >= line_start or number not in many:
            continue
        line_start = rfind(b"\n", 0, start) + 1
        if bars:
            pieces = pieces + 1 if line_start == row else 0
            row = line_start
            line_start = rfind(b"\r", row, start) + 1 or row if pieces < PIECES else row
        known = seen[number]
        if bars and (percent := find(b"%|", line_start, start + 2) - 3) >= line_start:
            drawn = b"|" + data[line_start:percent]  # all that a bar says before its numbers
            if drawn in known:
                continue
            known.add(drawn)
        name = data[line_start : line_start + SURE_BYTES]
        if name not in known:
            if not name.startswith(SURE):
                name = lines.key(line_start, start)
            if name not in known:
                known.add(name)
                found.append(start)
    return found
