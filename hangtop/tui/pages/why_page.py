"""The page "why": the rule that decided, and every fact that was weighed."""

from __future__ import annotations

from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.diagnosis.why import why
from hangtop.render.evidence_rows import why_rows
from hangtop.render.spans import Row
from hangtop.render.view import View
from hangtop.translations import say
from hangtop.tui.pages.page import PageScreen


class WhyScreen(PageScreen):
    """Over the page of the verdict. It follows the run."""

    def head(self, view: View) -> Row:
        key = self.hangtop.keymap.shown("bundle")
        return ((say(f"why this verdict; {key} packs it for a report, if it is wrong"), "muted"),)

    def rows(self, view: View, width: int) -> list[Row]:
        if view.verdict is None:
            return [((say("reading …"), "muted"),)]
        return why_rows(why(take_snapshot(view.state, view.spec, view.now), view.verdict), width)
