"""Evidence in lines, and the page that tells why a verdict is what it is."""

from __future__ import annotations

from hangtop.common import text
from hangtop.diagnosis.why import Why
from hangtop.records.verdict import Evidence
from hangtop.render.spans import BLANK, Row, align, folded
from hangtop.render.wrap import section
from hangtop.translations import say

EVIDENCE_CELLS = 13
"""Cells of sign and source before a piece of evidence."""


def evidence_row(fact: Evidence, role: str) -> Row:
    """`+ stacks   rank 3 sleeps in load`. `role`: the colour of what speaks for the verdict."""
    sign, colour = {True: ("+", role), False: ("−", "muted"), None: ("?", "warn")}[fact.supports]
    page = ((f"   explain {fact.page}", "muted"),) if fact.page else ()
    return (
        (f"  {sign} ", f"{colour} bold"),
        align(say(fact.source), 9, "muted"),
        (say(text.first_line(fact.text)), "ink"),
        *page,
    )


def why_rows(why: Why, width: int) -> list[Row]:
    """The rule in its own words, the facts that were weighed, and what could not be seen."""
    known = [fact for fact in why.facts if fact.supports is not None]
    unseen = [fact for fact in why.facts if fact.supports is None]
    rows: list[Row] = [section(say("The rule"), width, why.rule or "none")]
    rows += folded((("  ", ""), (say(why.meaning), "ink")), width, 2)
    rows += [BLANK, section(say("The facts"), width), *_facts(known, width)]
    if unseen:
        rows += [BLANK, section(say("Not seen"), width), *_facts(unseen, width)]
    return rows


def _facts(facts: list[Evidence], width: int) -> list[Row]:
    return [line for fact in facts for line in folded(evidence_row(fact, "ink"), width, EVIDENCE_CELLS)]
