"""The keys that a person chose in `[keys]` of the config, in place of the usual ones. Pure, and without Textual."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import combinations

from msgspec import Struct
from msgspec.structs import replace

from hangtop.tui.key_names import key_name, shown_key
from hangtop.tui.keys import (
    ACT,
    CHARTS_PAGE,
    LOOK,
    MOVES,
    PAIR_PAGE,
    PROCESS_PAGE,
    QUERY_PAGE,
    REPLAY,
    STACKS_PAGE,
    TIMELINE_PAGE,
    VERDICT_PAGE,
    Key,
)

PRESET = "preset"
"""The one entry of `[keys]` that is no command."""
PRESETS: dict[str, dict[str, tuple[str, ...]]] = {
    "vi": {
        "up": ("up", "k"),
        "down": ("down", "j"),
        "left": ("left", "h"),
        "right": ("right", "l"),
        "page_up": ("pageup", "ctrl+b", "ctrl+u"),
        "page_down": ("pagedown", "ctrl+f", "ctrl+d"),
        "stop": ("K",),
        "locals": ("L",),
    },
}
"""Keys of vi beside the arrows. `k` and `l` are taken for that: stop and locals get the capital."""

_NAMED = re.compile(
    r"(?<=\(key )\S(?=[,)])|(?<=\(keys )\S(?=,)|(?<=\(keys \S, )\S(?=\))|(?<=, then )\S(?=\))"
    r"|(?<=按 )\S(?=[）、，])|(?<=按 \S、)\S(?=）)"
)
"""A key in a sentence."""
ARROWS = ("up", "down", "left", "right")
EVERYWHERE = (*LOOK, *REPLAY, *ACT, *MOVES)
PAGES = (STACKS_PAGE, VERDICT_PAGE, PROCESS_PAGE, PAIR_PAGE, QUERY_PAGE, TIMELINE_PAGE, CHARTS_PAGE)


class KeyProblem(ValueError):
    """Why an entry of `[keys]` cannot be used; `name` is the entry."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(why)
        self.name = name


class Keymap(Struct, frozen=True):
    """`chosen`: the keys of each command that has others than usual, by its name."""

    chosen: dict[str, tuple[str, ...]] = {}

    def of(self, key: Key) -> Key:
        """The entry with the keys that it has here. In few cells: the first key of each command."""
        if not self.chosen.keys().isdisjoint(key.of):
            return replace(key, shown=" ".join(self.shown(name) for name in key.of))
        if key.name not in self.chosen:
            return key
        keys = self.chosen[key.name]
        return replace(key, keys=",".join(keys), shown=shown_key(keys[0]) if key.shown else "")

    def all_of(self, keys: Iterable[Key]) -> tuple[Key, ...]:
        return tuple(map(self.of, keys))

    def shown(self, name: str) -> str:
        """The first key of a command, as a person reads it; a word that names none is itself."""
        usual = USUAL.get(name)
        return name if usual is None else shown_key((self.chosen.get(name) or usual)[0])

    def typed(self, usual: str) -> str:
        """What is typed here for a command that is usually typed so, as verdicts name their next steps."""
        key = next((key for key in (*ACT, *LOOK) if key.shown == usual), None)
        if key is not None:
            return self.of(key).shown
        return self.shown(next((key.name for key in MOVES if key.keys == usual), usual))

    def in_words(self, sentence: str) -> str:
        """A sentence that names usual keys, as advice does (`key s`, `keys k, r`; `按 s`), with the keys that are typed here."""
        return sentence if not self.chosen else _NAMED.sub(lambda key: self.typed(key[0]), sentence)

    def arrow(self, key: str) -> str:
        """The arrow that this key stands for here, as dialogs know it; else the key itself."""
        return next((name for name in ARROWS if key in self.chosen.get(name, ())), key)

    @property
    def for_textual(self) -> dict[str, str]:
        """As Textual takes it: keys with commas between, by the id of a binding."""
        return {name: ",".join(keys) for name, keys in self.chosen.items()}


USUAL_KEYS = Keymap()


def _usual(*tables: Iterable[Key]) -> dict[str, tuple[str, ...]]:
    return {key.name: tuple(key.keys.split(",")) for table in tables for key in table if key.name}


USUAL: dict[str, tuple[str, ...]] = {**_usual(EVERYWHERE), **_usual(*PAGES)}
"""The usual keys of every command."""


def keymap(entries: Mapping[str, object]) -> Keymap:
    """What `[keys]` says. Raises `KeyProblem` for what is no command or no key, and for a key that two commands would have."""
    chosen: dict[str, tuple[str, ...]] = {}
    if (preset := entries.get(PRESET)) is not None:
        if not isinstance(preset, str) or preset not in PRESETS:
            raise KeyProblem(PRESET, f"no preset {preset!r}; there is {', '.join(PRESETS)}")
        chosen |= PRESETS[preset]
    for name, typed in entries.items():
        if name != PRESET:
            chosen[name] = _keys_of(name, typed)
    _refuse_doubles(chosen, entries)
    return Keymap(chosen)


def _keys_of(name: str, typed: object) -> tuple[str, ...]:
    if name not in USUAL:
        raise KeyProblem(name, "no such command; `hangtop keys` lists all")
    words = typed if isinstance(typed, list | tuple) else (typed,)
    if not words or not all(isinstance(word, str) for word in words):
        raise KeyProblem(name, 'expected a key in quotes, "K", or a list of keys')
    try:
        return tuple(dict.fromkeys(map(key_name, words)))
    except ValueError as error:
        raise KeyProblem(name, str(error)) from error


def _refuse_doubles(chosen: Mapping[str, tuple[str, ...]], entries: Mapping[str, object]) -> None:
    """A key must not mean two things in one place. What the usual keys share (`s` of the stacks page) they may go on to share."""
    for page in PAGES:
        own = {key.name for key in page if key.name}
        names = {key.name for key in EVERYWHERE if key.name} | own
        for first, second in combinations(sorted(names), 2):
            now = set(chosen.get(first, USUAL[first])) & set(chosen.get(second, USUAL[second]))
            if double := sorted(now - (set(USUAL[first]) & set(USUAL[second]))):
                guilty, other = (first, second) if first in entries or second not in entries else (second, first)
                raise KeyProblem(guilty, f"{shown_key(double[0])} is {other} already")
