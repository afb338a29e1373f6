"""The page of the verdict: all evidence, culprits with reasons, why and do, every finding with cause and fixes."""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace
from textual.binding import BindingType

from hangtop.actions.execute.client import tell
from hangtop.common import text
from hangtop.monitor.monitor import VerdictEntry
from hangtop.records.advice import Advice, TellAsk, Told
from hangtop.records.log import Finding, Remedy
from hangtop.records.nodes import pid_there
from hangtop.records.verdict import Culprit
from hangtop.remedies.catalogue import usable_places
from hangtop.remedies.harmless import harmless
from hangtop.render.advice_rows import Asked, Choice, Telling, advice_rows, choices
from hangtop.render.finding_rows import CHOSEN, cause_of, finding_rows, head_row, pastes
from hangtop.render.spans import BLANK, Row, align, cut, folded
from hangtop.render.view import View
from hangtop.render.wrap import section, wrapped
from hangtop.translations import say
from hangtop.tui.bindings import bindings
from hangtop.tui.keys import PAGE_KEYS, VERDICT_PAGE
from hangtop.tui.pages.page import PageScreen
from hangtop.tui.pages.why_page import WhyScreen
from hangtop.tui.panes.verdict_pane import findings_of, verdict_rows

BESIDE_EVIDENCE = 4
"""Lines of the verdict besides evidence: the headline on two, the refutation, the next steps."""
TELL_INDENT = 16
"""Cells beside the output of a command."""


def culprit_row(culprit: Culprit) -> Row:
    who = f"rank {culprit.rank}" if culprit.rank is not None else "process"
    where = " ".join(x for x in (culprit.host, f"pid {pid_there(culprit.pid)}" if culprit.pid is not None else None) if x)
    return (
        ("▸ ", "bad"),
        align(say(who), 10, "bad bold"),
        (f"{where}  " if where else "", "muted"),
        ("; ".join(map(say, culprit.why)), "ink"),
        (f"  {say(culprit.confidence)}", "muted"),
    )


def entry_rows(entry: VerdictEntry, width: int) -> list[Row]:
    """Time and headline of an earlier verdict."""
    return folded(
        ((f"  {text.clock(entry.at)}  ", "stale"), align(say(entry.word), 10, "ink"), (say(entry.headline), "muted")),
        width,
        22,
    )


def by_places(view: View) -> tuple[Advice, ...]:
    """The advice for the place in which the run stands; that of messages stands beside these."""
    messages = {finding.id for finding in findings_of(view.state.log)}
    return tuple(each for each in view.advice if each.place not in messages)


class VerdictScreen(PageScreen):
    """Arrows choose why and do, or a finding, and one of the fixes there; Enter shows the line of a finding in the log, `y`
    copies the fix, `i` runs the command that tells the chosen cause from the others, `w` tells why. A consequence is folded to
    one line until it is chosen."""

    keys = (*VERDICT_PAGE, *PAGE_KEYS)
    BINDINGS: ClassVar[list[BindingType]] = bindings(VERDICT_PAGE)

    def __init__(self) -> None:
        super().__init__()
        self.chosen = 0
        self.fix: int | None = None  # the first remedy
        self.copied = ""
        self._told: dict[Asked, Told | None] = {}
        self._starts: list[int] = []

    def head(self, view: View) -> Row:
        return ((say("the verdict in full"), "muted"),)

    def rows(self, view: View, width: int) -> list[Row]:
        known = bool(findings_of(view.state.log))  # they say it all below, and are what the page is opened for
        verdict = view.verdict
        most = len(verdict.evidence) + BESIDE_EVIDENCE if verdict is not None and known else None
        bare = replace(view, advice=())  # which has a part of its own below
        rows = verdict_rows(bare, width, most, self.hangtop.keys, self.hangtop.keymap)
        said = verdict is not None and any(verdict.detail in each.cause for each in view.advice)
        if verdict is not None and verdict.detail and not verdict.state.healthy and not said:
            rows += [BLANK, *wrapped(say(verdict.detail), width, label="likely")]
        if verdict is not None and verdict.culprits:
            rows += [BLANK, section(say("Stands out"), width)]
            for row in map(culprit_row, verdict.culprits):
                rows += [cut(row, width)] if known else folded(row, width, 12)
        self._starts = []
        if told := by_places(view):
            self._starts.append(len(rows) + 1)
            places, problem = usable_places(view.spec.config_dir)
            chosen = self._choice()
            copied = chosen is not None and self.copied == chosen.text
            telling = Telling(self._told, self.hangtop.keymap.shown("tell") if self.hangtop.replay is None else "")
            rows += [BLANK, *advice_rows(told, places, width, chosen, copied=copied, telling=telling)]
            rows += wrapped(problem, width, label="note", role="warn") if problem else []
        rows += [BLANK, *self._finding_rows(view, width, len(rows) + 1)]
        past = [row for entry in reversed(view.history) for row in entry_rows(entry, width)]
        return [*rows, BLANK, section(say("Said so far"), width), *past]

    def move(self, by: int) -> None:
        if len(self._starts) < 2:
            self.body.top += by
            return
        self.chosen = max(0, min(self.chosen + by, len(self._starts) - 1))
        self.fix, self.copied = None, ""
        self.rows(self.hangtop.view, self.body.size.width)  # what is folded has changed, and with it where all begins
        following = self._starts[self.chosen + 1] if self.chosen + 1 < len(self._starts) else self._starts[self.chosen] + 6
        self.body.bring_into_sight(following - 1)
        self.body.bring_into_sight(0 if self.chosen == 0 else self._starts[self.chosen])

    @property
    def _finding(self) -> Finding | None:
        """The chosen one."""
        findings, at = findings_of(self.hangtop.state.log), self.chosen - bool(by_places(self.hangtop.view))
        return findings[at] if 0 <= at < len(findings) else None

    def _choice(self) -> Choice | None:
        """What `y` copies while why and do are chosen: first a remedy."""
        known = self._choices()
        if not known:
            return None
        first = next((number for number, choice in enumerate(known) if not choice.tells), 0)
        return known[max(0, min(first if self.fix is None else self.fix, len(known) - 1))]

    def _choices(self) -> list[Choice]:
        return choices(by_places(self.hangtop.view)) if self.chosen == 0 else []

    def open(self) -> None:
        if (finding := self._finding) is not None:
            self.hangtop.show_line(finding.file, finding.offset)

    def action_fix(self, by: int) -> None:
        if (finding := self._finding) is not None:
            now, most = self.fix or 0, len(pastes(finding)) - 1
        else:
            known, chosen = self._choices(), self._choice()
            now, most = known.index(chosen) if chosen is not None else 0, len(known) - 1
        self.fix, self.copied = max(0, min(now + by, most)), ""
        self._show_fix()

    def action_tell(self) -> None:
        """Run the command that tells the chosen cause from the others, in a process of its own, if all it can do is read."""
        chosen = self._choice()
        if chosen is None or self.hangtop.replay is not None:
            return
        known = self._choices()
        number = next((n for n, each in enumerate(known) if each.tells and each.cause == chosen.cause), None)
        if number is None or self._told.get(known[number].asked, Told()) is None:  # at work
            return
        self.fix, self.copied = number, ""
        if isinstance(ask := harmless(known[number].text), TellAsk):
            self._told[known[number].asked] = None
            wide = replace(ask, columns=max(40, self.body.size.width - TELL_INDENT))
            self.run_worker(self._tell(known[number].asked, wide), name="tell", group="tell")
        self._show_fix()

    async def _tell(self, asked: Asked, ask: TellAsk) -> None:
        self._told[asked] = told = await tell(ask)
        self._show_fix(len(told.lines) + 3)

    def action_why(self) -> None:
        """All facts behind the verdict."""
        self.app.push_screen(WhyScreen())

    def action_copy(self) -> None:
        """Copy by the terminal (OSC 52), which works over SSH."""
        remedy, choice = self._remedy(), self._choice()
        if remedy is not None or choice is not None:
            self.copied = remedy.paste if remedy is not None else choice.text if choice is not None else ""
            self.app.copy_to_clipboard(self.copied)
            self._show_fix()

    def _show_fix(self, below: int = 2) -> None:
        """Bring what is chosen into sight, with so many lines below it."""
        rows = self.rows(self.hangtop.view, self.body.size.width)
        line = next((n for n, row in enumerate(rows) if CHOSEN in row[1:]), None)
        if line is not None:
            self.body.bring_into_sight(line + below)
            self.body.bring_into_sight(line - 1)
        self.body.show(self.hangtop.view)

    def _remedy(self) -> Remedy | None:
        known = pastes(finding) if (finding := self._finding) is not None else []
        return known[min(self.fix or 0, len(known) - 1)] if known else None

    def _finding_rows(self, view: View, width: int, begin: int) -> list[Row]:
        """All findings; keeps the page line at which each begins, counted from `begin`."""
        log = view.state.log
        findings = findings_of(log)
        before = len(self._starts)
        self.chosen = max(0, min(self.chosen, before + len(findings) - 1))
        attempt, framework = (log.attempt, log.framework) if log else (1, "")
        rows: list[Row] = [section(say(f"Findings  {len(findings)}"), width)]
        for index, finding in enumerate(findings, before):
            self._starts.append(begin + len(rows))
            chosen, cause = index == self.chosen, cause_of(finding, findings)
            rows.append(head_row(finding, width, chosen=chosen, attempt=attempt, cause=cause))
            if cause is None or chosen:
                remedy = self._remedy() if chosen else None
                done = remedy is not None and self.copied == remedy.paste
                framework_ = "" if framework == "generic" else framework
                rows += finding_rows(finding, width, chosen=chosen, framework=framework_, remedy=remedy, copied=done)
        if not findings:
            rows.append(((say("  no known message in the log"), "muted"),))
        return rows
