"""The verdict in full: all evidence, culprits with why, and every finding with its cause and fixes."""

from __future__ import annotations

from hangtop import text
from hangtop.diagnosis.history import Entry
from hangtop.panes.keys import Key
from hangtop.panes.line import BLANK, Row, align, cut
from hangtop.panes.verdict import findings_of, verdict_rows
from hangtop.panes.view import View
from hangtop.records.log import Finding
from hangtop.records.verdict import Culprit
from hangtop.screens.help import section
from hangtop.screens.page import PAGE_KEYS, PageScreen
from hangtop.screens.wrap import wrapped

SEVERITY_ROLES = {"fatal": "bad", "warning": "warn", "hint": "muted"}


def culprit_row(culprit: Culprit, width: int) -> Row:
    who = f"rank {culprit.rank}" if culprit.rank is not None else "process"
    where = " ".join(x for x in (culprit.host, f"pid {culprit.pid}" if culprit.pid is not None else None) if x)
    row: Row = (
        ("▸ ", "bad"),
        align(who, 10, "bad bold"),
        (f"{where}  " if where else "", "muted"),
        ("; ".join(culprit.why), "ink"),
    )
    return cut((*row, (f"  {culprit.confidence}", "muted")), width)


def finding_rows(finding: Finding, width: int, *, chosen: bool) -> list[Row]:
    """Head line, the text as it stands in the log, cause, fixes."""
    role = SEVERITY_ROLES[finding.severity]
    who = (
        f"rank {finding.rank}"
        if finding.rank is not None
        else f"ranks {text.rank_ranges(finding.ranks)}"
        if finding.ranks
        else ""
    )
    times = f"×{finding.count}" if finding.count > 1 else ""
    at = text.clock(finding.at) if finding.at is not None else ""
    facts = "  ".join(part for part in (finding.role, who, at, times) if part)
    rows: list[Row] = [
        cut(
            (
                ("▸ " if chosen else "  ", "accent bold"),
                (finding.id, f"{role} bold reverse" if chosen else f"{role} bold"),
                (f"  {facts}", "muted"),
            ),
            width,
        ),
        cut((("    ", ""), (text.first_line(finding.text), "ink")), width),
    ]
    if finding.cause:
        rows += wrapped(finding.cause, width, label="cause")
    for number, fix in enumerate(finding.fixes):
        rows += wrapped(fix, width, label="fix" if not number else "")
    return [*rows, BLANK]


def entry_row(entry: Entry, width: int) -> Row:
    """When a verdict was first said, and its headline."""
    return cut(((f"  {text.clock(entry.at)}  ", "stale"), align(entry.word, 10, "ink"), (entry.headline, "muted")), width)


class VerdictScreen(PageScreen):
    """Arrows choose a finding, Enter shows its line in the log."""

    keys = (
        Key("", "↑↓", "", "finding", ""),
        Key("", "Enter", "", "its line", ""),
        *PAGE_KEYS,
    )

    def __init__(self) -> None:
        super().__init__()
        self.chosen = 0
        self._starts: list[int] = []

    def head(self, view: View) -> Row:
        return ((view.title, "ink bold"), ("   ", ""), ("the verdict in full", "muted"))

    def rows(self, view: View, width: int) -> list[Row]:
        rows = verdict_rows(view, width, 100)
        verdict = view.verdict
        if verdict is not None and verdict.detail and verdict.word not in ("running", "finished"):
            rows += [BLANK, *wrapped(verdict.detail, width, label="likely")]
        if verdict is not None and verdict.culprits:
            rows += [BLANK, section("Stands out", width), *(culprit_row(culprit, width) for culprit in verdict.culprits)]
        findings = findings_of(view.state.log)
        self.chosen = max(0, min(self.chosen, len(findings) - 1))
        rows += [BLANK, section(f"Findings  {len(findings)}", width)]
        self._starts = []
        for index, finding in enumerate(findings):
            self._starts.append(len(rows))
            rows += finding_rows(finding, width, chosen=index == self.chosen)
        if not findings:
            rows.append((("  no known message in the log", "muted"),))
        return [*rows, BLANK, section("Said so far", width), *(entry_row(entry, width) for entry in reversed(view.history))]

    def move(self, by: int) -> None:
        if not self._starts:
            self.body.top += by
            return
        self.chosen = max(0, min(self.chosen + by, len(self._starts) - 1))
        following = self._starts[self.chosen + 1] if self.chosen + 1 < len(self._starts) else self._starts[self.chosen] + 6
        self.body.bring_into_sight(following - 1)
        self.body.bring_into_sight(0 if self.chosen == 0 else self._starts[self.chosen])

    def open(self) -> None:
        findings = findings_of(self.hangtop.state.log)
        if self.chosen < len(findings):
            finding = findings[self.chosen]
            self.hangtop.show_line(finding.file, finding.offset)
