"""Ranks as lines of other writers name them: `Saved zero_pp_rank_3_mp_rank_00.pt`, `joined: rank 5`, `missing ranks: 3`.

A number is a rank here only by difference: lines of one form name it, and only it differs between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hangtop.common.grouped import grouped
from hangtop.common.late_pattern import late_pattern
from hangtop.diagnosis.facts.line_form import form_of
from hangtop.records.log import LogLine

Voices = Mapping[int, Sequence[LogLine]]

LINES = 1_000
"""So many of the last lines are compared."""

_NAMES = late_pattern(r"(?i)(?:(?<![a-z])|(?<=seconds))(?:rank|process|proc|worker|task)[ _:=#-]{0,3}(\d{1,4})(?![\d.])")
_RANK = late_pattern(r"(?i)(?<![a-z])rank[ _:=#-]{0,3}(\d{1,5})\b(?:[ ,(\[]{1,3}pid[ :=]{0,2}(\d+))?")
_LISTED = late_pattern(
    r"(?i)\bmissing (?:ranks?|workers?|process(?:es)?)\b[ :=]{0,3}[\[(]?(?P<missing>\d+(?:, ?\d+)*)"
    r"|\branks? (?P<failed>\d+(?:, ?\d+)*) failed to pass monitoredBarrier"
    r"|^(?=.{0,300}\b(?:rank|barrier|arrive|join|peer|member|participant|world)).{0,300}\b"
    r"(?:missing|absent|not arrived|waiting (?:for|on)):? ?[\[(](?P<listed>\d+(?:, ?\d+)*)[\])]"
    r"|\bwaiting (?:for|on) ranks?\b[ :=]{0,3}[\[(]?(?P<awaited>\d+(?:, ?\d+)*)"
    r"|\branks? (?P<late>\d+(?:, ?\d+)*) (?:has|have|did|is|are) not (?:yet )?"
    r"(?:arriv|join|report|respond|reach|enter|ready|check)"
    r"|\bno (?:heartbeat|response|answer|gradients?|message|update|reply) from ranks? (?P<quiet>\d+(?:, ?\d+)*)"
)
_HEAD = late_pattern(r"(?i)^\W{0,8}missing ranks?:?\s*$")
_ROW = late_pattern(r"^(\d{1,5}): ?\[")
"""Horovod's list of the ranks that never submitted a tensor, a row for each (stall_inspector.cc)."""


def named_voices(tail: Sequence[LogLine]) -> Voices:
    """The lines about each rank, by the forms of which many ranks have one and all were written by one voice, or by none."""
    named = [(line, _NAMES.findall(line.text)) for line in tail[-LINES:] if line.text]
    forms = grouped(((line, names) for line, names in named if names), lambda each: (form_of(each[0]), len(each[1])))
    about = sorted((each for form in forms.values() for each in _about(form)), key=lambda each: (each[1].file, each[1].offset))
    return {rank: [line for _, line in lines] for rank, lines in grouped(about, lambda each: each[0]).items()}


def _about(form: Sequence[tuple[LogLine, list[str]]]) -> Iterator[tuple[int, LogLine]]:
    if len({line.rank for line, _ in form}) > 1:
        return
    differ = [place for place, numbers in enumerate(zip(*(names for _, names in form), strict=True)) if len(set(numbers)) > 1]
    if len(differ) == 1 or len(form[0][1]) == 1:  # of one rank alone, too: it may stand elsewhere than its peers
        place = differ[0] if differ else 0
        yield from ((int(names[place]), line) for line, names in form)


def named_alone(text: str) -> tuple[int, int | None] | None:
    """The one rank that a line speaks of, and its pid where that stands behind it: `rank 2 (pid 812) exited with code 3`."""
    named: dict[str, str] = dict(_RANK.findall(text))
    if len(named) != 1:
        return None
    rank, pid = next(iter(named.items()))
    return int(rank), int(pid) if pid else None


def named_missing(tail: Sequence[LogLine]) -> dict[int, str]:
    """The ranks that the last such message calls missing, with its words; a message before the last step counts no more."""
    told: dict[int, str] = {}
    rows: dict[int, str] = {}
    for line in reversed(tail[-LINES:]):
        if told or line.kind == "progress":
            break
        if found := _LISTED.search(line.text):
            told = {int(number): line.text for number in (found[found.lastgroup or 0]).split(",")}
        elif row := _ROW.match(f"{line.prefix.rpartition('>:')[2]}{line.text}"):
            rows[int(row[1])] = line.text
        elif _HEAD.match(line.text):
            told = {number: f"missing ranks: {number}: {text}" for number, text in rows.items()}
        else:
            rows = {}
    return told
