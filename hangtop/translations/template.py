"""A sentence with slots, and what stands in the slots of a text that is such a sentence. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

SLOT = re.compile(r"\{([#=@]?)([a-z_][a-z0-9_]*)\}")
WORDS = re.compile(r"[A-Za-z]+")
CHOICE = re.compile(r"\[([^\[\]]*)\]")
MOST_SPLITS = 12
"""Ways to read one text as one sentence; more come only of long foreign texts."""
MONTH = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
NUMBER = re.compile(rf"[^\w\s]*\d[\d.,:/+–−%-]*[A-Za-z]{{0,3}}\d{{0,2}}[^\w\s]*|[KMGTBWCs%?–]|MB/s|GB/s|MHz|{MONTH}")
"""One of the words of a number or a time: `3`, `1,024`, `2:31`, `1h43`, `<5s`, `0-2`, `?`, the unit in `38 K`, the month in
`17 Nov 15:27:27`."""


def is_number(text: str) -> bool:
    """Whether a text is a number, a list of these, a size or a time."""
    return text in ("?", "–") or (any(map(str.isdigit, text)) and all(map(NUMBER.fullmatch, text.split())))


class Slot(Struct, frozen=True):
    """`kind`: empty, what stands here is told in the other language, too; `#`, a number; `=`, foreign text, left as it is; `@`,
    the same, one word such as the name of a function. `added`: it follows a word without a blank, so that it is empty or
    something added: `{who} waits{place}`."""

    kind: str
    name: str
    added: bool = False

    def may_be(self, text: str) -> bool:
        """Whether this may stand in it."""
        if self.added and (not text or text[0] not in " ,;:."):
            return not text
        bare = text.strip()
        if not self.added and not self.kind and bare[:1] in tuple(",;:."):
            return False
        if self.kind == "@":
            return bool(bare) and " " not in bare
        return bool(bare) and (self.kind != "#" or is_number(bare))


class Template(Struct, frozen=True):
    """`literals`: the fixed text before, between and behind the slots, one more than these."""

    literals: tuple[str, ...]
    slots: tuple[Slot, ...]

    @property
    def weight(self) -> int:
        """How much of a text is its own."""
        return sum(len(literal) for literal in self.literals)

    @property
    def words(self) -> int:
        """How many words its fixed text has; none where it is only punctuation."""
        return sum(len(WORDS.findall(literal)) for literal in self.literals)

    def may_be(self, text: str) -> bool:
        """Whether all of its fixed text is there; a quick look."""
        literals = self.literals
        if not text.startswith(literals[0]) or not text.endswith(literals[-1]):
            return False
        return len(text) >= len(literals[0]) + len(literals[-1]) and all(literal in text for literal in literals[1:-1])

    def splits(self, text: str) -> Iterator[tuple[str, ...]]:
        """What may stand in the slots, if the text is this sentence, which it may be: the shortest first ones first."""
        end = len(text) - len(self.literals[-1])
        yield from islice(self._from(text, 0, len(self.literals[0]), end), MOST_SPLITS)

    def _from(self, text: str, place: int, begin: int, end: int) -> Iterator[tuple[str, ...]]:
        """The slots from number `place` on, which stand in `text[begin:end]`."""
        slot = self.slots[place]
        if place == len(self.slots) - 1:
            if slot.may_be(text[begin:end]):
                yield (text[begin:end],)
            return
        literal = self.literals[place + 1]
        at = text.find(literal, begin, end)
        while at != -1:
            if slot.may_be(text[begin:at]):
                for rest in self._from(text, place + 1, at + len(literal), end):
                    yield (text[begin:at], *rest)
            at = text.find(literal, at + 1, end)


def template(sentence: str) -> Template:
    """`{who} waits for {what}`, taken apart."""
    pieces = SLOT.split(sentence)
    literals = tuple(pieces[::3])
    added = (literal[-1:].isalnum() or literal.endswith(")") for literal in literals)
    return Template(literals, tuple(map(Slot, pieces[1::3], pieces[2::3], added)))


def checked(sentence: str) -> Template:
    """As `template`. Raises `ValueError` for one that cannot be told from others: two slots without text between them."""
    taken = template(sentence)
    if "" in taken.literals[1:-1]:
        raise ValueError(f"two slots without text between them: {sentence}")
    return taken


def spelled_out(sentence: str) -> list[str]:
    """The sentences that one with choices stands for: `{who} wait[s]`, with or without; `[is|are]`, one of these."""
    found = CHOICE.search(sentence)
    if found is None:
        return [sentence]
    choices = found[1].split("|") if "|" in found[1] else ["", found[1]]
    return [each for choice in choices for each in spelled_out(sentence[: found.start()] + choice + sentence[found.end() :])]
