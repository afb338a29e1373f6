"""Removes secrets from text before it leaves the machine: by the name beside them, and by their shape. Pure.

In doubt a value is removed; numbers, states, paths and special tokens beside such a name stay, since they are evidence
(`max_tokens: 4096`, `eos_token: </s>`). The kinds of secrets that were removed are counted, their values are not kept.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from hangtop.common.clean_text import without_sequences
from hangtop.common.secrets.open_block import OpenBlock, ends_key, key_line, lonely_key_line
from hangtop.common.secrets.rules import MARK, Rule, is_secret, names_nothing_secret, rules_for, values_beside_names

MOST_REMEMBERED = 16_384
BESIDE, KEY = "value beside a telling name", "private key"


class Redactor:
    """Cleans text and environments, and counts what it took out, by kind."""

    def __init__(self) -> None:
        self.taken: Counter[str] = Counter()
        self._clean: set[str] = set()

    def text(self, text: str) -> str:
        """The text without secrets. It keeps its lines; escape sequences go, which may stand inside a name."""
        return self._text(text, OpenBlock())

    def tree(self, value: Any) -> Any:
        """A JSON value with every string in it cleaned: it stays JSON. A whole value beside a telling key goes."""
        match value:
            case str():
                return self._known(value)
            case dict():
                return {key: self._beside(key, inner) for key, inner in value.items()}
            case list() | tuple():
                return self._items(value)
        return value

    def environ(self, environ: Mapping[str, str]) -> dict[str, str]:
        """The environment: values of telling names as a whole, the others as text."""
        kept: dict[str, str] = {}
        for name, value in environ.items():
            if is_secret(name, value, any_key=True):
                self.taken[f"environment variable {name}"] += 1
                kept[name] = MARK
            else:
                kept[name] = self.text(value)
        return kept

    def _known(self, text: str) -> str:
        """The text without secrets. Those that have none are remembered: readings tell the same again and again."""
        if text in self._clean:
            return text
        if (cleaned := self.text(text)) == text:
            if len(self._clean) >= MOST_REMEMBERED:
                self._clean.clear()
            self._clean.add(text)
        return cleaned

    def _text(self, text: str, block: OpenBlock) -> str:
        lines = without_sequences(text).split("\n")
        if len(lines) == 1:
            return self.line(lines[0], block)
        begun = self._without_begun_key(lines)
        return "\n".join(self.line(line, block) for line in begun)

    def _without_begun_key(self, lines: list[str]) -> list[str]:
        """Lines of a key whose heading is not in the text go too: they stand right above its end."""
        key = len(lines)
        for number, line in enumerate(lines):
            if "-----BEGIN" in line:
                return lines
            if ends_key(line):
                key = number
                break
        else:
            return lines
        cleaned = list(lines)
        while key and (found := key_line(lines[key - 1])) and len(found["body"]) >= 16:
            key -= 1
            cleaned[key] = self._without(found, lines[key])
        return cleaned

    def line(self, line: str, block: OpenBlock) -> str:
        """One line of a text, without its line end. `block`: what the lines before it have begun."""
        body = block.body(line)
        body = body or lonely_key_line(line)
        cleaned = self._without(body, line) if body is not None and body["body"] else self._by_rules(line)
        block.follow(line)
        return cleaned

    def _without(self, body: re.Match[str], line: str) -> str:
        self.taken[KEY if "indent" not in body.re.groupindex else BESIDE] += 1
        return f"{line[: body.start('body')]}{MARK}{line[body.end('body') :]}"

    def _by_rules(self, line: str) -> str:
        for rule in rules_for(line):
            line = self._by_rule(rule, line)
        kept, at = "", 0
        for begin, end in values_beside_names(line):
            self.taken[BESIDE] += 1
            kept, at = f"{kept}{line[at:begin]}{MARK}", end
        return kept + line[at:]

    def _by_rule(self, rule: Rule, line: str) -> str:
        def taken(found: re.Match[str]) -> str:
            if rule.names and names_nothing_secret(line[: found.start()]):
                return found[0]
            self.taken[rule.kind] += 1
            return found.expand(rule.by)

        return rule.regex.sub(taken, line)

    def _items(self, items: Sequence[Any]) -> list[Any]:
        """The items of a list. Texts follow each other as lines do; one behind the name of an option goes whole."""
        kept: list[Any] = []
        before, block = "", OpenBlock()
        for item in items:
            if not isinstance(item, str):
                kept.append(self.tree(item))
            elif before.startswith("-") and not item.startswith("-") and is_secret(before.lstrip("-"), item):
                self.taken[BESIDE] += 1
                kept.append(MARK)
            else:
                kept.append(self._text(item, block))
            before = item if isinstance(item, str) else ""
        return kept

    def _beside(self, key: Any, value: Any) -> Any:
        if isinstance(value, str) and isinstance(key, str) and is_secret(key, value):
            self.taken[BESIDE] += 1
            return MARK
        return self.tree(value)
