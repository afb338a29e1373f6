"""`hangtop keys`: every command of the screen by its name in `[keys]` of the config, with its keys here and what it does."""

from __future__ import annotations

from typing import TextIO

from hangtop.common.text import cells
from hangtop.translations import say
from hangtop.tui.key_names import shown_key
from hangtop.tui.keymap import PAGES, USUAL, Keymap
from hangtop.tui.keys import ACT, CHARTS_PAGE, IN_A_PANE, LOOK, MOVES, REPLAY, STACKS_PAGE

NAME_CELLS, KEY_CELLS = 14, 22


def run(keymap: Keymap, out: TextIO) -> int:
    """One line a command, what was chosen otherwise with a star."""
    for name, usual in USUAL.items():
        keys = " ".join(map(shown_key, keymap.chosen.get(name, usual)))
        star = "*" if name in keymap.chosen else " "
        out.write(f"{star} {name:<{NAME_CELLS}}{keys}{' ' * max(1, KEY_CELLS - cells(keys))}{say(_help(name))}".rstrip() + "\n")
    out.write("\n" + say("Other keys stand in the table keys of config.toml, one line for each command.") + "\n")
    return 0


def _help(name: str) -> str:
    """What the help page says of it, or the footer of the page that has it."""
    tables = (*ACT, *LOOK, *REPLAY, *IN_A_PANE, *MOVES, *STACKS_PAGE, *CHARTS_PAGE)
    told = next((key.help for key in tables if key.help and (key.name == name or name in key.of)), "")
    if name.startswith("pane_") and not told:
        told = next(key.help for key in LOOK if "pane_ranks" in key.of)
    return told or next((key.word for page in PAGES for key in page if key.name == name), "")
