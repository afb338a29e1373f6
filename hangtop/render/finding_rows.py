"""A finding in full: the log line, its cause, the fixes and where each is set, and the sources of both."""

from __future__ import annotations

from collections.abc import Sequence

from hangtop.common import text
from hangtop.records.log import Finding, Remedy
from hangtop.render.spans import BLANK, Row, align, cut
from hangtop.render.wrap import LABEL_CELLS, wrapped
from hangtop.translations import say

SEVERITY_ROLES = {"fatal": "bad", "warning": "warn", "hint": "muted"}
FOLLOWS = ("consequence", "summary")
"""Roles that add nothing when the cause is listed above."""
CHOSEN = ("▸ ", "accent bold")
"""Before the remedy that `y` copies."""
_INDENT_CELLS = LABEL_CELLS + 6
_WHERE_CELLS = 13


def cause_of(finding: Finding, findings: Sequence[Finding]) -> Finding | None:
    """The earliest cause of this consequence or summary; `None` if the finding stands for itself."""
    if finding.role not in FOLLOWS:
        return None
    causes = (
        other for other in findings if other.role == "cause" and other.severity != "hint" and other.attempt == finding.attempt
    )
    return next(causes, None)


def pastes(finding: Finding) -> list[Remedy]:
    """The remedies that can be copied."""
    return [remedy for remedy in finding.remedies if remedy.paste]


def head_row(finding: Finding, width: int, *, chosen: bool, attempt: int, cause: Finding | None = None) -> Row:
    """Id, role, ranks and count; and the cause that it follows."""
    role = SEVERITY_ROLES[finding.severity]
    facts = [
        "survived" if finding.severity == "hint" and finding.role == "cause" else finding.role,
        _who(finding),
        text.clock(finding.at) if finding.at is not None else "",
        say(f"attempt {finding.attempt}" if finding.attempt != attempt else ""),
        say(f"follows {cause.id}, above" if cause else ""),
    ]
    row: Row = (
        CHOSEN if chosen else ("  ", ""),
        (finding.id, f"{role} bold reverse" if chosen else "muted" if cause else f"{role} bold"),
        (f"  {'  '.join(say(fact) for fact in facts if fact)}", "muted"),
    )
    return cut(row, width)


def finding_rows(
    finding: Finding, width: int, *, chosen: bool, framework: str = "", remedy: Remedy | None = None, copied: bool = False
) -> list[Row]:
    """The lines below the head line. `remedy`: the one that `y` copies; `copied`: it was copied."""
    rows: list[Row] = [cut((("    ", ""), (text.first_line(finding.text), "ink")), width)]
    if place := finding.groups.get("own") or finding.groups.get("frame"):
        rows += wrapped(place, width, label="code")
    if finding.cause:
        rows += wrapped(say(finding.cause), width, label="cause")
    for number, fix in enumerate(finding.remedies, 1):
        count = f"{number}. " if len(finding.remedies) > 1 else ""
        rows += wrapped(count + say(fix.text), width, label="fix" if number == 1 else "")
        if fix.paste:
            rows += _paste_rows(fix, width, framework, chosen=chosen and fix is remedy)
            if copied and fix is remedy:
                rows.append(((" " * (_INDENT_CELLS - 2), ""), (say("✓ sent to the clipboard of your terminal"), "ok")))
    if finding.folklore:
        rows += wrapped(say(finding.folklore), width, label="note", role="muted")
    if finding.cite:
        rows += wrapped(" · ".join(finding.cite), width, label="known", role="muted")
    return [*rows, BLANK]


def _who(finding: Finding) -> str:
    """`rank 3`, or how often and on which: `×12 on ranks 0-3 5`."""
    ranks = finding.ranks or (() if finding.rank is None else (finding.rank,))
    on = text.numbered("rank", ranks) if ranks else ""
    if finding.count > 1:
        return say(f"×{finding.count} on {on}" if on else f"×{finding.count}")
    return say(on)


def _paste_rows(remedy: Remedy, width: int, framework: str, *, chosen: bool) -> list[Row]:
    """Where the fix is set and what to paste: side by side, or below each other where a word would break."""
    where = say(f"{framework} config" if remedy.where == "config" and framework else remedy.where)
    beside_cells = max(_WHERE_CELLS, text.cells(where) + 2)
    below = max(map(text.cells, remedy.paste.split())) > width - _INDENT_CELLS - beside_cells
    lines = text.wrap(remedy.paste, max(20, width - _INDENT_CELLS - (0 if below else beside_cells)))
    rows: list[Row] = []
    for number, line in enumerate(["", *lines] if below else lines):
        sign, begin = (("  ", ""), "") if number else (CHOSEN if chosen else ("  ", ""), where)
        place = align(begin, text.cells(begin) if below else beside_cells, "muted")
        rows.append(((" " * (_INDENT_CELLS - 2), ""), sign, place, (line, "accent bold" if chosen else "data")))
    return rows
