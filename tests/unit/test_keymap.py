"""The keys that a person chose: which are taken, which are refused, how they are shown."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from hangtop.cli.config import read_config
from hangtop.cli.options import keymap_of
from hangtop.render.spans import plain
from hangtop.tui.key_names import key_name, shown_key
from hangtop.tui.keymap import PRESETS, USUAL, KeyProblem, keymap
from hangtop.tui.keys import ACT, IN_A_PANE, LOOK, MOVES, REPLAY
from hangtop.tui.pages.help_page import help_rows


def named(name: str):
    return next(key for key in (*ACT, *LOOK) if key.name == name)


def test_every_command_has_a_name_of_its_own() -> None:
    names = [key.name for key in (*LOOK, *ACT, *REPLAY, *MOVES) if key.keys]
    assert all(names)
    assert len(set(names)) == len(names)
    shown = {name for key in (*LOOK, *IN_A_PANE) for name in key.of} - {"…"}
    assert shown <= USUAL.keys()


@pytest.mark.parametrize(
    ("typed", "name", "shown"),
    [
        ("K", "K", "K"),
        ("!", "exclamation_mark", "!"),
        ("@", "at", "@"),
        ("esc", "escape", "Esc"),
        ("F5", "f5", "F5"),
        ("Ctrl-X", "ctrl+x", "Ctrl-X"),
        ("ctrl+x", "ctrl+x", "Ctrl-X"),
        ("PgUp", "pageup", "PgUp"),
        ("up", "up", "↑"),
    ],
)
def test_a_key_is_named_as_people_type_it(typed: str, name: str, shown: str) -> None:
    assert key_name(typed) == name
    assert shown_key(name) == shown


@pytest.mark.parametrize("typed", ["", "Strg-F", "é", " ", "ab", "F13", "Ctrl-C", "Ctrl-I", "Ctrl-1"])
def test_what_no_terminal_sends_or_what_always_leaves_is_no_key(typed: str) -> None:
    with pytest.raises(ValueError, match=r"is no key|always leaves|for a terminal"):
        key_name(typed)


@pytest.mark.parametrize(
    ("entries", "name", "why"),
    [
        ({"stpo": "K"}, "stpo", "no such command"),
        ({"stop": "q"}, "stop", "q is quit already"),
        ({"stop": "a"}, "stop", "a is everything already"),
        ({"save": "q"}, "save", "q is quit already"),
        ({"stop": "K", "clean": "K"}, "clean", "K is stop already"),
        ({"preset": "vi", "stop": "k"}, "stop", "k is up already"),
        ({"preset": "emacs"}, "preset", "there is vi"),
        ({"stop": []}, "stop", "expected a key"),
        ({"stop": 3}, "stop", "expected a key"),
    ],
)
def test_what_cannot_be_is_refused_with_its_entry(entries: dict[str, object], name: str, why: str) -> None:
    with pytest.raises(KeyProblem, match=why) as refused:
        keymap(entries)
    assert refused.value.name == name


def test_the_line_of_the_config_is_told(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('stall = 60\n\n[keys]\nfind_next = "F3"\nstop = "q"\n')
    with pytest.raises(click.UsageError, match=r"config.toml:5: key keys.stop: q is quit already"):
        keymap_of(config, read_config(config))


def test_no_usual_key_means_two_things_on_the_watch_screen() -> None:
    taken = [key for each in (*LOOK, *ACT) for key in each.keys.split(",") if key]
    assert [key for key in taken if taken.count(key) > 1] == []


def test_two_commands_may_change_their_keys() -> None:
    mine = keymap({"stop": "s", "stacks": "k"})
    assert (mine.of(named("stop")).shown, mine.of(named("stacks")).keys) == ("s", "k")
    assert mine.for_textual == {"stop": "s", "stacks": "k"}


@pytest.mark.parametrize("preset", PRESETS)
def test_each_preset_has_no_double_key_and_keeps_the_arrows(preset: str) -> None:
    chosen = keymap({"preset": preset}).chosen
    assert all(arrow in chosen[arrow] for arrow in ("up", "down", "left", "right"))


def test_help_and_next_steps_show_the_keys_of_the_person() -> None:
    mine = keymap({"stop": "K", "pane_gpus": "F3", "page_up": "u"})
    told = "\n".join(plain(row) for row in help_rows(80, mine, replay=False, read_only=False))
    assert "K         stop the run" in told
    assert "u PgDn " in told
    assert [mine.typed(usual) for usual in ("k", "3", "s", "")] == ["K", "F3", "s", ""]


@pytest.mark.parametrize(
    ("usual", "here"),
    [
        ("Look twice (key s, again after a minute)", "Look twice (key F3, again after a minute)"),
        ("Pack it (key b), then stop and restart (keys k, r)", "Pack it (key b), then stop and restart (keys K, F4)"),
        ("Look at all its threads (key s, then a)", "Look at all its threads (key F3, then A)"),
        ("打包证据（按 b），然后停止并重启（按 k、r）", "打包证据（按 b），然后停止并重启（按 K、F4）"),
        ("start again from step a, then s is late", "start again from step a, then s is late"),
    ],
)  # fmt: skip
def test_sentences_of_advice_name_the_keys_of_the_person(usual: str, here: str) -> None:
    mine = keymap({"stop": "K", "stacks": "F3", "restart": "F4", "everything": "A"})
    assert mine.in_words(usual) == here
    assert keymap({}).in_words(usual) == usual
