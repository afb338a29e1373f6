"""The page of the verdict: all evidence, culprits with reasons, every finding with cause and fixes."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from hangtop.common import text
from hangtop.monitor.monitor import VerdictEntry
from hangtop.records.log import Finding, Remedy
from hangtop.records.verdict import Culprit
from hangtop.render.finding_rows import CHOSEN, cause_of, finding_rows, head_row, pastes
from hangtop.render.spans import BLANK, Row, align, cut, folded
from hangtop.render.view import View
from hangtop.render.wrap import section, wrapped
from hangtop.tui.keys import PAGE_KEYS, Key, bindings
from hangtop.tui.pages.page import PageScreen
from hangtop.tui.panes.verdict_pane import findings_of, verdict_rows

OWN_KEYS = (
    Key(shown="↑↓", word="finding"),
    Key("enter", "Enter", word="its line"),
    Key(shown="←→", word="fix"),
    Key("left", action="fix(-1)"),
    Key("right", action="fix(1)"),
    Key("y", "y", "copy", "copy fix"),
)
BESIDE_EVIDENCE = 4
"""Lines of the verdict besides evidence: the headline on two, the refutation, the next steps."""


def culprit_row(culprit: Culprit) -> Row:
    who = f"rank {culprit.rank}" if culprit.rank is not None else "process"
    where = " ".join(x for x in (culprit.host, f"pid {culprit.pid}" if culprit.pid is not None else None) if x)
    return (
        ("▸ ", "bad"),
        align(who, 10, "bad bold"),
        (f"{where}  " if where else "", "muted"),
        ("; ".join(culprit.why), "ink"),
        (f"  {culprit.confidence}", "muted"),
    )


def entry_rows(entry: VerdictEntry, width: int) -> list[Row]:
    """Time and headline of an earlier verdict."""
    return folded(((f"  {text.clock(entry.at)}  ", "stale"), align(entry.word, 10, "ink"), (entry.headline, "muted")), width, 22)


class VerdictScreen(PageScreen):
    """Arrows choose a finding and one of its fixes, Enter shows its line in the log, `y` copies the fix. A consequence is folded
    to one line until it is chosen."""

    keys = (*OWN_KEYS, *PAGE_KEYS)
    BINDINGS: ClassVar[list[BindingType]] = bindings(OWN_KEYS)

    def __init__(self) -> None:
        super().__init__()
        self.chosen = 0
        self.fix = 0
        self.copied = ""
        self._starts: list[int] = []

    def head(self, view: View) -> Row:
        return (("the verdict in full", "muted"),)

    def rows(self, view: View, width: int) -> list[Row]:
        known = bool(findings_of(view.state.log))  # they say it all below, and are what the page is opened for
        verdict = view.verdict
        most = len(verdict.evidence) + BESIDE_EVIDENCE if verdict is not None and known else None
        rows = verdict_rows(view, width, most, self.hangtop.keys)
        if verdict is not None and verdict.detail and not verdict.state.healthy:
            rows += [BLANK, *wrapped(verdict.detail, width, label="likely")]
        if verdict is not None and verdict.culprits:
            rows += [BLANK, section("Stands out", width)]
            for row in map(culprit_row, verdict.culprits):
                rows += [cut(row, width)] if known else folded(row, width, 12)
        rows += [BLANK, *self._finding_rows(view, width, len(rows) + 1)]
        past = [row for entry in reversed(view.history) for row in entry_rows(entry, width)]
        return [*rows, BLANK, section("Said so far", width), *past]

    def move(self, by: int) -> None:
        if not self._starts:
            self.body.top += by
            return
        self.chosen = max(0, min(self.chosen + by, len(self._starts) - 1))
        self.fix, self.copied = 0, ""
        self.rows(self.hangtop.view, self.body.size.width)  # what is folded has changed, and with it where all begins
        following = self._starts[self.chosen + 1] if self.chosen + 1 < len(self._starts) else self._starts[self.chosen] + 6
        self.body.bring_into_sight(following - 1)
        self.body.bring_into_sight(0 if self.chosen == 0 else self._starts[self.chosen])

    @property
    def _finding(self) -> Finding | None:
        """The chosen one."""
        findings = findings_of(self.hangtop.state.log)
        return findings[self.chosen] if self.chosen < len(findings) else None

    def open(self) -> None:
        if (finding := self._finding) is not None:
            self.hangtop.show_line(finding.file, finding.offset)

    def action_fix(self, by: int) -> None:
        most = len(pastes(finding)) - 1 if (finding := self._finding) is not None else 0
        self.fix, self.copied = max(0, min(self.fix + by, most)), ""
        self._show_fix()

    def action_copy(self) -> None:
        """Copy by the terminal (OSC 52), which works over SSH."""
        remedy = self._remedy()
        if remedy is not None:
            self.copied = remedy.paste
            self.app.copy_to_clipboard(remedy.paste)
            self._show_fix()

    def _show_fix(self) -> None:
        rows = self.rows(self.hangtop.view, self.body.size.width)
        line = next((n for n, row in enumerate(rows) if CHOSEN in row[1:]), None)
        if line is not None:
            self.body.bring_into_sight(line + 2)
            self.body.bring_into_sight(line - 1)
        self.body.show(self.hangtop.view)

    def _remedy(self) -> Remedy | None:
        known = pastes(finding) if (finding := self._finding) is not None else []
        return known[min(self.fix, len(known) - 1)] if known else None

    def _finding_rows(self, view: View, width: int, begin: int) -> list[Row]:
        """All findings; keeps the page line at which each begins, counted from `begin`."""
        log = view.state.log
        findings = findings_of(log)
        self.chosen = max(0, min(self.chosen, len(findings) - 1))
        attempt, framework = (log.attempt, log.framework) if log else (1, "")
        rows: list[Row] = [section(f"Findings  {len(findings)}", width)]
        self._starts = []
        for index, finding in enumerate(findings):
            self._starts.append(begin + len(rows))
            chosen, cause = index == self.chosen, cause_of(finding, findings)
            rows.append(head_row(finding, width, chosen=chosen, attempt=attempt, cause=cause))
            if cause is None or chosen:
                remedy = self._remedy() if chosen else None
                done = remedy is not None and self.copied == remedy.paste
                framework_ = "" if framework == "generic" else framework
                rows += finding_rows(finding, width, chosen=chosen, framework=framework_, remedy=remedy, copied=done)
        if not findings:
            rows.append((("  no known message in the log", "muted"),))
        return rows
