"""The help page: keys, states, signs and words, from the tables that the screen uses."""

from __future__ import annotations

from collections.abc import Sequence

from hangtop import __version__
from hangtop.render.spans import BLANK, Row, align, cut, dotted, pad
from hangtop.render.verdict_labels import LOOKS, QUIET, told
from hangtop.render.view import View
from hangtop.render.wrap import section
from hangtop.translations import say
from hangtop.tui.keymap import USUAL_KEYS, Keymap
from hangtop.tui.keys import ACT, IN_A_PANE, LOOK, REPLAY, Key
from hangtop.tui.pages.page import PageScreen
from hangtop.tui.widgets.layout import side_by_side

SIGNS: tuple[tuple[str, str, str], ...] = (
    ("▸", "bad", "the odd row, or the stage now"),
    (" 3 ", "accent bold reverse", "the row you chose"),
    ("━━━╸──", "data", "part of a limit"),
    ("■ ▲ ◆ ✗ □", "ink", "as peers, slower, behind, dead, no data"),
    ("+ − ?", "ink bold", "speaks for it, would refute it, unknown"),
    ("● ▲ ■ ? ○", "ink", "source live, late, stuck, refused, absent"),
    ("×7", "muted", "seven alike, folded"),
)
WORDS: tuple[tuple[str, str], ...] = (
    ("quiet", "time since the last output of this rank"),
    ("lag", "steps behind the furthest rank"),
    ("limit", "the --stall time, or 3 × the slow end of this run's own step times, or the stage's own"),
    ("seen", "ranks that have named themselves in the log"),
)


def key_rows(keys: Sequence[Key], width: int) -> list[Row]:
    return [cut((align(key.shown, 10, "accent bold"), (say(key.help), "ink")), width) for key in keys]


def help_rows(width: int, keymap: Keymap = USUAL_KEYS, *, replay: bool, read_only: bool) -> list[Row]:
    column = width if width < 100 else (width - 3) // 2
    look_keys, pane_keys, act_keys, replay_keys = (
        key_rows(keymap.all_of(table), column) for table in (LOOK, IN_A_PANE, ACT, REPLAY)
    )
    look = [section("Look", column), *look_keys, *(replay_keys if replay else [])]
    look += [BLANK, section(say("In a pane"), column), *pane_keys]
    act = [section("Act", column), *act_keys, BLANK, *_safety(read_only)]
    states = [section("States", column)]
    states += [
        cut((align(f"{x.sign} {x.word}", 15, f"{x.role} bold"), (x.meaning, "ink")), column)
        for x in map(told, (*LOOKS.values(), QUIET))
    ]
    signs = [
        section("Signs", column),
        *(cut((*pad(((sign, role),), 12), (say(meaning), "ink")), column) for sign, role, meaning in SIGNS),
    ]
    words = [
        section("Words", width),
        *(cut((align(say(word), 9, "muted"), (say(meaning), "ink")), width) for word, meaning in WORDS),
    ]
    if column == width:
        return [*look, BLANK, *act, BLANK, *states, BLANK, *signs, BLANK, *words]
    return [*side_by_side(look, [*act, BLANK, *states, BLANK, *signs], column), BLANK, *words]


def _safety(read_only: bool) -> list[Row]:
    if read_only:
        return [((say("--read-only: nothing here touches the run."), "muted"),)]
    return [
        ((say("Each one shows its plan first. Cancel is the default."), "muted"),),
        ((say("Nothing outside the run is touched."), "muted"),),
    ]


class HelpScreen(PageScreen):
    title_words = "Help"

    def head(self, view: View) -> Row:
        return dotted((((f"hangtop {__version__}", "muted"),), ((say("Esc goes back"), "muted"),)))

    def rows(self, view: View, width: int) -> list[Row]:
        return help_rows(width, self.hangtop.keymap, replay=self.hangtop.replay is not None, read_only=self.hangtop.read_only)
