"""Nodes whose voice is missing at the end of a log, where lines begin with the name of a node and tell no rank, as pdsh and clush
print them: `gpu-a03: iteration 26`. Told by difference between voices only, as in `missing_voice.py`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hangtop.common.grouped import grouped
from hangtop.common.memo import memoized
from hangtop.diagnosis.facts.line_form import form_of_text
from hangtop.diagnosis.facts.message_evidence import short
from hangtop.diagnosis.facts.named_voices import LINES
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.log import LogLine
from hangtop.records.verdict import Culprit

VOICES, LINES_EACH, FURTHER = 3, 2, 2
"""So many nodes, so many lines of each, and so many lines that each other one wrote after the last of one that stayed behind."""
NEARLY_ALL = 0.8
"""Part of the lines that begin so, where a launcher writes them."""
_NODE = re.compile(r"^(?=[\w.-]*[A-Za-z])(?=[\w.-]*\d)([A-Za-z][\w.-]{1,60}): (?=\S)")

Voices = Mapping[str, Sequence[tuple[int, LogLine]]]


@memoized
def silent_nodes(snapshot: Snapshot) -> tuple[Culprit, ...]:
    """The few nodes that said nothing more while all others went on."""
    voices = _voices(snapshot.state.tail)
    last = {node: lines[-1][0] for node, lines in voices.items()}
    odd = [node for node, at in last.items() if _left_behind(voices, node, at)]
    if len(voices) < VOICES or 2 * len(odd) >= len(voices):
        return ()
    going = next((lines[-1][1].text for node, lines in voices.items() if node not in odd), "")
    why = f"the others went on to say: {short(_NODE.sub('', going), 60)}"
    return tuple(Culprit(None, None, node, "possible", (why,)) for node in sorted(odd))


def _voices(tail: Sequence[LogLine]) -> Voices:
    """By node, its lines with their places. Names of nodes are alike but for their digits."""
    lines = [line for line in tail[-LINES:] if line.text.strip()]
    named = [
        (place, line, found[1]) for place, line in enumerate(lines) if line.rank is None and (found := _NODE.match(line.text))
    ]
    families = grouped(named, lambda each: form_of_text(each[2]))
    most = max(families.values(), key=len, default=[])
    if len(most) < NEARLY_ALL * len(lines) or len({line.file for _, line, _ in most}) > 1:
        return {}
    voices = grouped(most, lambda each: each[2])
    return {node: [(place, line) for place, line, _ in said] for node, said in voices.items() if len(said) >= LINES_EACH}


def _left_behind(voices: Voices, node: str, at: int) -> bool:
    """Whether nearly all others wrote on: each of those that are further wrote several lines since."""
    later = [sum(place > at for place, _ in lines) for other, lines in voices.items() if other != node]
    return sum(count >= FURTHER for count in later) * 2 > len(voices)
