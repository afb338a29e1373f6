"""Questions in SQL over what this hangtop has seen, with their answers as a table or a chart. A child process answers them."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Key as KeyPressed
from textual.worker import Worker

from hangtop.common.text import some
from hangtop.query.chart_series import chart_columns, chart_series
from hangtop.query.completion import complete
from hangtop.query.recipes import recipes
from hangtop.query.requests import ChartAsk, ChildAnswer, Shown, SqlAsk
from hangtop.query.tables import TABLES, columns, summary
from hangtop.render.spans import BLANK, Row, align, cut, folded
from hangtop.render.view import View
from hangtop.render.wrap import section
from hangtop.translations import say
from hangtop.tui.background_work import answered
from hangtop.tui.bindings import bindings
from hangtop.tui.keys import PAGE_KEYS, QUERY_PAGE
from hangtop.tui.pages.page import PageScreen
from hangtop.tui.seen_here import logs_here, seen_here
from hangtop.tui.widgets.query_line import QueryLine
from hangtop.tui.widgets.result_table import ResultTable
from hangtop.tui.widgets.row_widget import RowWidget

NAME_CELLS = 18


class Choices(RowWidget):
    """What the word that is typed may become."""

    def show(self, view: View) -> None:
        line = self.screen.query_one(QueryLine)
        found = complete(line.value, line.cursor_position).choices if line.has_focus else ()
        row: Row = ((" Tab ", "accent bold"), *((f" {name}", "muted") for name in found)) if found else BLANK
        self.paint((cut(row, self.size.width),))


class QueryScreen(PageScreen):
    """Until something is asked it shows the tables and the list of questions. Esc ends a question that is not answered yet, then
    leaves the line, then the page."""

    CSS = "QueryScreen PageBody { margin: 1 1 0 1; }"
    AUTO_FOCUS = "#question"
    keys = (*QUERY_PAGE, *PAGE_KEYS)
    BINDINGS: ClassVar[list[BindingType]] = bindings(QUERY_PAGE)

    def __init__(self) -> None:
        super().__init__()
        self._asking: Worker[None] | None = None
        self._asked_at = 0.0
        self._answer: ChildAnswer | None = None
        self._table: ResultTable | None = None
        self._notice, self._took_s = "", 0.0
        self._chart: tuple[str, ...] | None = None
        self._charting = False
        self._y = 0
        self._early = ""

    def compose(self) -> ComposeResult:
        head, body, foot = super().compose()
        yield head
        yield body
        yield Choices()
        yield QueryLine(self.hangtop.questions)
        yield foot

    @property
    def line(self) -> QueryLine:
        return self.query_one(QueryLine)

    @property
    def typing(self) -> bool:
        """From the first moment: over a slow line a question comes in one packet with the key that opens this page."""
        return self.focused is None or super().typing

    def on_key(self, event: KeyPressed) -> None:
        """What is typed before the line is there."""
        if self.focused is None and event.character is not None and event.is_printable:
            self._early += event.character
            event.stop()

    def on_mount(self) -> None:
        self.line.value = self._early
        self.line.cursor_position = len(self._early)
        self.set_focus(self.line, scroll_visible=False)

    def edit(self) -> None:
        """Back to the line, at once: the next letters may be there already."""
        self.set_focus(self.line, scroll_visible=False)
        self.show(self.hangtop.view)

    def head(self, view: View) -> Row:
        if self._asking is not None:
            return ((say(f"asking … {monotonic() - self._asked_at:.0f} s, Esc ends it"), "warn"),)
        if self._notice:
            return ((self._notice, "ink"),)
        if self._table is None:
            return ((say("ask in SQL what was seen"), "muted"),)
        shown = self._table.shown
        if self._chart is not None and len(shown.points) < len(self._table) + shown.more:
            return ((say(f"{some(len(shown.points), 'row')} of {len(self._table) + shown.more:,}, evenly chosen"), "ink"),)
        more = say(f", {shown.more:,} more are not shown") if shown.more else ""
        return ((say(f"{some(len(self._table), 'row')} in {self._took_s:.1f} s") + more, "ink"),)

    def above(self, view: View, width: int) -> Sequence[Row]:
        answer = self._answer
        if answer is None:
            return ()
        notes: list[Row] = [cut(((note, "warn"),), width) for note in answer.notes[:2]]
        if answer.problem or self._chart is not None or self._table is None:
            return notes
        return (*notes, self._table.names(width))

    def rows(self, view: View, width: int) -> Sequence[Row]:
        if self._answer is not None and self._answer.problem:
            return folded(((self._answer.problem, "bad"),), width, 2)
        if self._chart is not None:
            return [((line, "data"),) for line in self._chart]
        if self._table is not None:
            return self._table.within(width) if len(self._table) else [((say("no row"), "muted"),)]
        return _what_there_is(width)

    def on_input_changed(self) -> None:
        self.query_one(Choices).show(self.hangtop.view)

    def on_descendant_focus(self) -> None:
        self.show(self.hangtop.view)

    def on_query_line_typed(self, event: QueryLine.Typed) -> None:
        if event.question is None:
            self.leave()
        elif event.question:
            self.ask(event.question)

    def leave(self) -> None:
        """End the question that is under way, else close the page."""
        if self._asking is not None:
            self._end(say("ended"))
        else:
            self.dismiss()

    def ask(self, question: str) -> None:
        """Ask this: SQL, the name of a question of the list, or of a table."""
        if self._asking is not None:
            self._asking.cancel()
        app = self.hangtop
        if question not in app.questions[-1:]:
            app.questions.append(question)
        sql = recipes()[question].sql if question in recipes() else f"FROM {question}" if question in TABLES else question
        self._notice, self._asked_at, self._chart = "", monotonic(), None
        self._asking = self.run_worker(self._ask(SqlAsk(sql, logs_here(app), app.spec.config_dir)), name="ask", group="ask")
        self.show(app.view)

    async def _ask(self, ask: SqlAsk) -> None:
        answer = await answered(ask, seen_here(self.hangtop))
        self._answer, self._took_s, self._asking = answer, monotonic() - self._asked_at, None
        self._table = None if answer.table is None else ResultTable(answer.table)
        self.body.top, self._y = 0, 0
        if self._table is not None and len(self._table):
            self.set_focus(self.body, scroll_visible=False)
        self.show(self.hangtop.view)

    def _end(self, why: str) -> None:
        if self._asking is not None:
            self._asking.cancel()
        self._asking, self._notice = None, why
        self.show(self.hangtop.view)

    def action_chart(self) -> None:
        """Between the table and a chart of two of its columns."""
        if self._chart is not None:
            self._chart = None
            self.show(self.hangtop.view)
        elif self._table is not None and not self._charting:
            self._draw()

    def _draw(self) -> None:
        assert self._table is not None
        if (pair := chart_columns(self._table.shown, self._y)) is None:
            self._notice = say("a chart needs two columns of numbers")
            self.show(self.hangtop.view)
            return
        (x, y), size, shown = pair, self.body.size, self._table.shown
        series = chart_series(shown, x, y)
        names = (shown.names[x], shown.names[y])
        ask = ChartAsk(names, series, size.width, size.height - 1, x in shown.moments, self.hangtop.ascii)
        self._charting = True
        self.run_worker(self._show_chart(ask), name="chart", group="chart")

    async def _show_chart(self, ask: ChartAsk) -> None:
        answer = await answered(ask)
        self._charting = False
        if answer.problem:
            self._notice = say(answer.problem)
        else:
            self._chart, self.body.top = answer.lines, 0
        self.show(self.hangtop.view)

    def on_resize(self) -> None:
        if self._chart is not None and not self._charting:
            self._draw()

    def action_aside(self, by: int) -> None:
        """Other columns: of the table further ones, of the chart another against the first."""
        if self._table is None:
            return
        if self._chart is None:
            self._table.left = max(0, min(self._table.left + by, len(self._table.shown.names) - 1))
            self.show(self.hangtop.view)
        elif not self._charting and chart_columns(self._table.shown, self._y + by) is not None and self._y + by >= 0:
            self._y += by
            self._draw()

    def action_copy(self) -> None:
        """Copy all rows that are shown, with tabs between their cells, to the terminal's clipboard (OSC 52)."""
        if self._table is None:
            return
        shown: Shown = self._table.shown
        self.app.copy_to_clipboard("\n".join("\t".join(row) for row in (shown.names, *shown.cells)))
        self._notice = say(f"{some(len(shown.cells), 'row')} copied, if this terminal permits it")
        self.show(self.hangtop.view)


def _what_there_is(width: int) -> list[Row]:
    """Tables with their columns, and the questions of the list."""
    rows: list[Row] = [section(say("Questions to begin with: type the name"), width)]
    rows += [cut((align(each.name, NAME_CELLS, "accent"), (say(each.asks), "ink")), width) for each in recipes().values()]
    rows += [BLANK, section(say("Tables"), width)]
    for name, row in TABLES.items():
        rows.append(cut((align(name, NAME_CELLS, "accent"), (say(summary(row)), "ink")), width))
        names: Row = ((" " * NAME_CELLS, ""), (", ".join(column.name for column in columns(row)), "muted"))
        rows += folded(names, width, NAME_CELLS)
    return rows
