"""Whose voice is missing at the end of the log: most ranks said one thing last, and this one stands where they stood earlier.

Told by difference between voices only. A number in a line is no difference: each rank has its own loss, shard and time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import chain

from msgspec import Struct

from hangtop.common.grouped import grouped
from hangtop.common.late_pattern import late_pattern
from hangtop.common.memo import memoized
from hangtop.diagnosis.facts.line_form import form_of
from hangtop.diagnosis.facts.message_evidence import short
from hangtop.diagnosis.facts.named_voices import Voices, named_missing, named_voices
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.log import LogLine
from hangtop.records.verdict import Culprit
from hangtop.stacks.printed_stacks import begins_stack

VOICES = 3
"""Of two voices nothing tells which is the usual one."""
SILENT_PART = 3
"""That a rank never spoke means something where three times as many did."""
SHORT = 60
LEAST_ROUNDS = 3
"""Answers alike in so many rounds are a rule that one more answer breaks."""
_WATCHDOG = late_pattern(r"\bcollective operation timeout: Work")
SAYS = frozenset({"plain", "warning"})
"""Kinds of lines in which ranks may answer a question otherwise: a stage or an error of one tells more by itself."""
BEATS = 3
"""A line that a rank says so often in a row tells where it stands."""
_WORD = late_pattern(r"(?i)(?!(?:rank|info|warning|error|debug)\b)[a-z_][\w.]{3,}")
_WAITS = late_pattern(
    r"(?i)all_?(?:reduce|gather|to_?all)|reduce|gather|scatter|broadcast|barrier|collective|sync|wait|recv|nccl|gloo|idle"
)
"""Words of those that wait for others."""


class Unfinished(Struct, frozen=True):
    """Ranks, each with what its peers went on to say. `took_s`: how long these took for it at most."""

    ranks: dict[int, str] = {}
    took_s: float = 0.0


@memoized
def missing_voices(snapshot: Snapshot) -> tuple[Culprit, ...]:
    """The ranks that did not say what most said last, or never spoke at all; nobody where that is not plain."""
    own, named = _voices(snapshot), named_voices(_said(snapshot))
    odd = (
        _few(own, _left_out(own))
        or _few(own, _a_step_less(snapshot, own))
        or _few(own, _elsewhere(own))
        or {rank: f"it says “{said}”, the others “{most}”" for rank, (said, most) in other_ways(snapshot).items()}
        or named_missing(_said(snapshot))
        or _few(named, _left_out(named))
        or _few(named, _elsewhere(named))
        or dict(_never_spoke(snapshot))
        or dict(_never_named(snapshot, named))
    )
    pids = snapshot.pid_of
    return tuple(Culprit(rank, pids.get(rank), None, "possible", (short(why),)) for rank, why in sorted(odd.items()))


@memoized
def unfinished(snapshot: Snapshot) -> Unfinished:
    """The ranks that began what all others have ended, or went on from, by their own lines or by lines about them."""
    for voices in (_voices(snapshot), named_voices(_said(snapshot))):
        if odd := _few(voices, _left_out(voices)):
            began = {form_of(voices[rank][-1]) for rank in odd}
            peers = (lines for rank, lines in voices.items() if rank not in odd)
            return Unfinished(odd, max((_took_s(lines, began) for lines in peers), default=0.0))
    return Unfinished()


def _took_s(lines: Sequence[LogLine], began: Collection[str]) -> float:
    """From the last time that a peer said what the others said last, to its own last line; 0 without a clock."""
    at = next((line.at for line in reversed(lines) if form_of(line) in began), None)
    return 0.0 if at is None or lines[-1].at is None else lines[-1].at - at


def _few(voices: Voices, odd: Iterator[tuple[int, str]]) -> dict[int, str]:
    """What is told of some ranks, if these are the fewer."""
    told = dict(odd) if len(voices) >= VOICES else {}
    return told if 2 * len(told) < len(voices) else {}


def _said(snapshot: Snapshot) -> Sequence[LogLine]:
    """The last lines, but for those behind the title of a stack that somebody printed."""
    tail = snapshot.state.tail
    return tail[: next((place for place, line in enumerate(tail) if begins_stack(line.text)), len(tail))]


def _voices(snapshot: Snapshot) -> Voices:
    return grouped((line for line in snapshot.state.tail if line.rank is not None and line.text), lambda line: line.rank or 0)


def _left_out(voices: Voices) -> Iterator[tuple[int, str]]:
    """Ranks whose last line the others had said, too, before they said one that these never came to."""
    last = {rank: form_of(lines[-1]) for rank, lines in voices.items()}
    form, size = Counter(last.values()).most_common(1)[0]
    if 2 * size <= len(voices):
        return
    most = [voices[rank] for rank, its in last.items() if its == form]
    said = [sum(form_of(line) == form for line in lines) for lines in most]
    for rank, lines in voices.items():
        if last[rank] == form or sum(form_of(line) == form for line in lines) >= max(said):
            continue
        earlier = all(any(form_of(line) == last[rank] for line in theirs) for theirs in most)
        if earlier and all(_may_precede(lines[-1], theirs[-1]) for theirs in most):
            yield rank, f"the others went on to say: {short(most[0][-1].text, 60)}"


def _a_step_less(snapshot: Snapshot, voices: Voices) -> Iterator[tuple[int, str]]:
    """Ranks that told one step less than most, in lines that no other voice has torn."""
    steps = {rank.rank: rank.step for rank in snapshot.ranks if rank.rank in voices and rank.step is not None}
    if len(steps) < len(voices):
        return
    most, size = Counter(steps.values()).most_common(1)[0]
    for rank, lines in voices.items():
        if 2 * size > len(voices) and steps[rank] == most - 1 and _whole_since(snapshot.state.tail, lines[-1]):
            yield rank, f"it alone did not tell step {most:,}"


def _whole_since(tail: Sequence[LogLine], last: LogLine) -> bool:
    """Whether each line after this one, in its file, begins with a voice of its own, and with one alone."""
    later = [line for line in tail if line.file == last.file and line.offset > last.offset and line.text]
    tag = last.prefix.strip()
    return all(line.rank is not None and (not tag or tag not in line.text) for line in later)


def _never_spoke(snapshot: Snapshot) -> Iterator[tuple[int, str]]:
    """Ranks of the world without a single line, where nearly all others have some."""
    spoke = snapshot.state.ranks
    world = max((log.world or number + 1 for number, log in spoke.items()), default=0)
    silent = [number for number in range(world) if number not in spoke]
    if len(spoke) >= VOICES and silent and SILENT_PART * len(silent) <= len(spoke):
        yield from ((number, "it never spoke, all others did") for number in silent)


def _never_named(snapshot: Snapshot, named: Voices) -> Iterator[tuple[int, str]]:
    """Ranks of the world of which the newest lines tell nothing, where they tell the same of nearly all others."""
    world = max((snapshot.log.world or 0, *(rank + 1 for rank in named)), default=0)
    silent = [rank for rank in range(world) if rank not in named]
    if len(named) >= VOICES and silent and SILENT_PART * len(silent) <= len(named):
        others = next(iter(named.values()))[-1]
        yield from ((rank, f"of all others it is said: {short(others.text, 60)}") for rank in silent)


def _elsewhere(voices: Voices) -> Iterator[tuple[int, str]]:
    """Ranks that say again and again where they stand, at another place than most, who wait."""
    last = {rank: {form_of(line) for line in lines[-BEATS:]} for rank, lines in voices.items() if len(lines) >= BEATS}
    stand = {rank: forms.pop() for rank, forms in last.items() if len(forms) == 1}
    if len(stand) < len(voices):
        return
    most, size = Counter(stand.values()).most_common(1)[0]
    for rank, form in stand.items():
        own = " ".join(word for word in form.split() if word not in most.split())
        if 2 * size > len(voices) and own and not _WAITS.search(own) and _WAITS.search(most):
            yield rank, f"it stands elsewhere than its peers: {short(voices[rank][-1].text, 60)}"


@memoized
def other_ways(snapshot: Snapshot) -> dict[int, tuple[str, str]]:
    """The ranks that said what all others said, and then another line than these: what they said last, and what most did."""
    said = _before_time_out(_said(snapshot))
    own = grouped((line for line in said if line.rank is not None and line.text), lambda line: line.rank or 0)
    return _other_ways(own) or _other_ways(named_voices(said)) or _once_otherwise(own)


def answered_otherwise(snapshot: Snapshot) -> tuple[Culprit, ...]:
    """The ranks that gave another answer than all others."""
    pids = snapshot.pid_of
    told = {rank: f"it says “{said}”, the others “{most}”" for rank, (said, most) in other_ways(snapshot).items()}
    return tuple(Culprit(rank, pids.get(rank), None, "possible", (short(why),)) for rank, why in sorted(told.items()))


def _before_time_out(lines: Sequence[LogLine]) -> Sequence[LogLine]:
    """These lines but for those since a watchdog spoke, which tell nothing more of what ranks did."""
    return lines[: next((place for place, line in enumerate(lines) if _WATCHDOG.search(line.text)), len(lines))]


def _once_otherwise(voices: Voices) -> dict[int, tuple[str, str]]:
    """The ranks that answered as nobody did before, and went on, where all others answered alike as in each round."""
    forms = {rank: [form_of(line) for line in lines] for rank, lines in voices.items()}
    if len(voices) < VOICES:
        return {}
    (most, size), said = Counter(its[-1] for its in forms.values()).most_common(1)[0], Counter(chain(*forms.values()))
    odd = {rank: _behind(its, most) for rank, its in forms.items() if its[-1] != most}
    rounds = {forms[rank].count(most) for rank in forms if rank not in odd}
    fewer = {forms[rank].count(most) + 1 for rank in odd}
    if fewer != rounds or max(rounds) < LEAST_ROUNDS or 2 * len(odd) >= len(voices) or size + len(odd) < len(voices):
        return {}
    theirs = next(short(voices[rank][-1].text, SHORT) for rank in voices if rank not in odd)
    answers = {rank: forms[rank][place] for rank, place in odd.items()}
    told = [rank for rank, answer in answers.items() if said[answer] == 1 and _share(answer, most)]
    return {rank: (short(voices[rank][odd[rank]].text, SHORT), theirs) for rank in told}


def _behind(forms: Sequence[str], form: str) -> int:
    """The place right behind the last of this form."""
    return len(forms) - forms[::-1].index(form) if form in forms else 0


def _other_ways(voices: Voices) -> dict[int, tuple[str, str]]:
    ends = {rank: ("", *map(form_of, lines))[-2:] for rank, lines in voices.items() if lines[-1].kind in SAYS}
    if len(voices) < VOICES or not ends:
        return {}
    (before, last), size = Counter(ends.values()).most_common(1)[0]
    odd = [
        rank
        for rank, (first, second) in ends.items()
        if first == before and second not in (last, before) and _share(second, last)
    ]
    if before == last or 2 * size <= len(voices) or 2 * len(odd) >= len(voices):
        return {}
    said = {rank: short(voices[rank][-1].text, SHORT) for rank in ends}
    most = next(said[rank] for rank, end in ends.items() if end == (before, last))
    return {rank: (said[rank], most) for rank in odd}


def _share(one: str, other: str) -> bool:
    """Whether two lines are about the same thing, by a word of both: then they are two answers to one question."""
    return not set(_WORD.findall(one)).isdisjoint(_WORD.findall(other))


def _may_precede(line: LogLine, other: LogLine) -> bool:
    """Whether it was written first, as far as that is known: by place in one file, by time in two."""
    if line.file == other.file:
        return line.offset < other.offset
    return line.at is None or other.at is None or line.at <= other.at
