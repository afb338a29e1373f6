"""Pane 4: the processes of the run as a tree, alike ones folded; below it other signs of life."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from msgspec.structs import replace
from textual.binding import BindingType

from hangtop.records.health import NO_ANSWER_S
from hangtop.render.processes import process_lines
from hangtop.render.processes.life_signs import life_signs
from hangtop.render.processes.process_rows import RowLook, table_rows
from hangtop.render.processes.process_tree import ORDERS, Folds, Path, ProcessKey, TreeLine, state_of
from hangtop.render.rank_rows import odd_role
from hangtop.render.spans import BLANK, Row, cut, dotted
from hangtop.render.view import View
from hangtop.translations import say
from hangtop.tui.bindings import local
from hangtop.tui.keys import Key
from hangtop.tui.panes.footer import keys_row
from hangtop.tui.panes.pane import TablePane, one_line
from hangtop.tui.selection import Selection, select_process
from hangtop.tui.widgets.layout import RIGHT_WIDTH, PaneNeed

MOST_ROWS = 10
REPAINT_S = 5.0
"""Changed numbers are painted this seldom, since each change costs bytes. New, ended and troubled processes are painted at
once."""
FULL_WIDTH = 76
KEYS = (
    Key(shown="Enter", word="detail", of=("detail",)),
    Key(shown="← →", word="fold", of=("left", "right")),
    Key(shown="o", word="order", of=("order",)),
    Key(shown="a", word="all training processes", of=("everything",)),
    Key(shown="/", word="filter", of=("filter",)),
)
HEAD_CELLS = 70
"""The room for the summary in the head."""


class ProcessesPane(TablePane[process_lines.TreeOptions]):
    """The choice is a process (host, pid, start): it stays when the order changes."""

    id_, title, orders = "procs", "Processes", ORDERS
    chosen: ProcessKey | None
    BINDINGS: ClassVar[list[BindingType]] = local(right="unfold", left="fold", fold="fold_or_unfold", everything="everything")

    def __init__(self) -> None:
        super().__init__()
        self.options = process_lines.PLAIN
        self._all: list[TreeLine] = []
        self._made_for: object = None
        self._steady: tuple[float, process_lines.Readings, object] = (0.0, {}, None)
        self._shown_as = RowLook(0.0)
        self._most = 0

    def want(self, view: View, width: int) -> PaneNeed:
        """Never fewer lines than before: processes come and go, the panes stay in place."""
        nodes = self._look(view)
        if not nodes and self.options == process_lines.PLAIN:
            return PaneNeed(1)
        if self.options == process_lines.PLAIN or not self._most:
            self._most = max(self._most, min(len(nodes), MOST_ROWS))
        return PaneNeed(2 + self._most + len(self._above(min(width, RIGHT_WIDTH))) + len(self._below(view, width)))

    def body(self, view: View, width: int, height: int) -> list[Row]:
        nodes, readings = self._look(view), self._steady[1]
        self.painted = ()
        if not nodes and self.options == process_lines.PLAIN:
            return one_line(self, process_lines.nothing(view, self.hangtop.keymap.shown("everything")), width)
        above, below = self._above(width), self._below(view, width)
        shown = self.in_sight(height, len(nodes), len(above), len(below))
        look = RowLook(
            now=self._steady[0],
            role=odd_role(view.verdict),
            chosen=self.chosen,
            single=self.options.single,
            stale=process_lines.age_of(view) >= NO_ANSWER_S,
            hosts=len(readings),
        )
        if look != self._shown_as:
            self._shown_as = look
        table = table_rows(nodes, self._shown_as, width, full=width >= FULL_WIDTH, shown=shown)
        if not nodes:
            table = [cut(((say("  no process contains that: Esc shows all, / another filter"), "muted"),), width)]
        facts = process_lines.summary(view, readings, width)
        if not above and (command := process_lines.missing_right(readings)):
            facts = (*facts, ("  ", ""), (command, "ink"))
        everything: Row = ((say("all training processes"), "accent"),) if self.options.everything else BLANK
        right = dotted([everything, self.options_shown(shown, len(nodes))])
        return [self.head(facts, width, right), *above, *table, *below]

    def alarm(self, view: View) -> tuple[str, str] | None:
        """The number of processes, or of the blocked, stopped or ended ones."""
        processes = [process for reading in process_lines.readings_of(view).values() for process in reading.processes]
        bad = Counter(state_of(process) for process in processes)
        for letters, word in (("D", "blocked"), ("Tt", "stopped"), ("ZX", "ended")):
            if count := sum(bad[letter] for letter in letters):
                return f"{count:,} {word}", "bad"
        return (f"{len(processes):,}", "muted") if processes else None

    def chosen_node(self) -> TreeLine | None:
        line = self.chosen_line()
        return None if line is None else self._all[line]

    @property
    def selection(self) -> Selection | None:
        node = self.chosen_node()
        if node is None:
            return None
        if len(node.members) > 1:
            return Selection(alike=len(node.members))
        return select_process(self.hangtop.view, self.chosen or node.members[0].key)

    def _look(self, view: View) -> list[TreeLine]:
        """All lines, made anew if numbers are due or anything but a number changed."""
        fresh, (at, _, seen) = process_lines.readings_of(view), self._steady
        if not 0 <= view.now - at < REPAINT_S or process_lines.outline(fresh) != seen:
            self._steady, self._made_for = (view.now, fresh, process_lines.outline(fresh)), None
        verdict = view.verdict
        made_for = (self.options, (verdict.word, verdict.culprits, verdict.at_work) if verdict is not None else None)
        if made_for != self._made_for:
            self._all, self._made_for = process_lines.lines(view, self._steady[1], self.options), made_for
            self.things = [node.members[0].key if node.members else None for node in self._all]
        return self._all

    def _above(self, width: int) -> list[Row]:
        """The command that grants a missing permission, if the head has no room for it."""
        command = process_lines.missing_right(self._steady[1])
        if command is None or len(command) < width - HEAD_CELLS:
            return []
        return [cut((("? ", "warn"), (say("to see all of it: "), "muted"), (command, "ink")), width)]

    def _below(self, view: View, width: int) -> list[Row]:
        """Signs of life; in an enlarged pane one a line, and the keys of this pane."""
        trouble = view.verdict is not None and not view.verdict.state.healthy
        found = life_signs(view.state, view.now, trouble=trouble)
        if self.hangtop.enlarged == self.id_:
            return [
                *(cut((("  ", ""), *sign), width) for sign in found),
                BLANK,
                cut((("  ", ""), *keys_row(self.hangtop.keymap.all_of(KEYS))), width),
            ]
        return [cut((("  ", ""), *dotted(found)), width)] if found else []

    def chosen_line(self) -> int | None:
        """The line of the chosen process, alone or among alike ones."""
        if self.chosen is None:
            return None
        keys = ({member.key for member in (*node.members, *node.hidden)} for node in self._all)
        return next((line for line, there in enumerate(keys) if self.chosen in there), None)

    def action_unfold(self) -> None:
        node = self.chosen_node()
        if node is not None:
            folds = self.options.folds
            self._fold(folds.opened | {node.path} if len(node.members) > 1 else folds.opened, folds.closed - {node.path})

    def action_fold(self) -> None:
        """Fold what is below the line; a leaf goes back among its likes, or up to its parent."""
        node, folds = self.chosen_node(), self.options.folds
        if node is None:
            return
        if node.children and node.path not in folds.closed:
            self._fold(folds.opened, folds.closed | {node.path})
        elif node.alone:
            self._fold(folds.opened - {node.path[:-1]}, folds.closed)
        elif above := [line for line, other in enumerate(self._all) if other.members and other.path == node.parent]:
            self.choose_line(above[0])
            self.hangtop.repaint()

    def action_fold_or_unfold(self) -> None:
        node = self.chosen_node()
        if node is not None and (len(node.members) > 1 or node.path in self.options.folds.closed):
            self.action_unfold()
        else:
            self.action_fold()

    def _fold(self, opened: frozenset[Path], closed: frozenset[Path]) -> None:
        if not self.options.single:
            self.ask_for(replace(self.options, folds=Folds(opened, closed)))

    def action_open(self) -> None:
        """Open the page of the chosen process; alike ones are unfolded first."""
        node = self.chosen_node()
        if node is None:
            self.hangtop.action_detail()
        elif len(node.members) > 1 and not self.options.single:
            self.action_unfold()
        else:
            self.hangtop.show_process(node.members[0].key)

    def action_everything(self) -> None:
        self.ask_for(replace(self.options, everything=not self.options.everything))

    def step_back(self) -> bool:
        if replace(self.options, folds=process_lines.PLAIN.folds) != process_lines.PLAIN:
            self.options = replace(process_lines.PLAIN, folds=self.options.folds)
        elif self.chosen is not None:
            self.chosen = None
        else:
            return False
        return True
