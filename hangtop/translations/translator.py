"""From English sentences to those of another language, by pairs of templates. Pure.

The core makes English sentences, often of parts that are sentences themselves. A text is read back as the most specific template
that leaves the fewest words untold; what stands in its slots is translated in turn. A text without a pair stays as it is.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from hangtop.translations.template import Template, checked, spelled_out, template

WORD = re.compile(r"[A-Za-z]?[a-z]+(?:['’][a-z]+)?(?:-[a-z]+)*")
LETTERS = re.compile(r"[A-Za-z]+")
AROUND = "()[]“”‘’\"'.,;:!?…`"
PARTED = re.compile(r"[,;:.] ")
STOP = "."
MOST_ASKED = 600
"""Parts that one text is read as, at most."""
MOST_KNOWN = 1 << 15
WIDE = re.compile(r"[\u2e80-\u9fff\uff00-\uffef\u3000-\u303f“”…]")
MARK = re.compile(r"[\u3000-\u303f\uff00-\uff0f\uff1a-\uff20“”…]")
"""Chinese punctuation, beside which no blank stands."""


class Told(Struct, frozen=True, order=True):
    """A text in the other language. `untold`: its words that have no pair. `doubts`: how often a slot holds what looks like more
    than one part of a sentence."""

    untold: int
    doubts: int
    text: str


class Pair(Struct, frozen=True):
    """`words`: how many words of its own the English sentence has; none of one that only joins two others."""

    english: Template
    other: Template
    weight: int
    words: int


class Translator:
    """`pairs`: English sentences and what stands for them. `kept`: words that are the same in both languages."""

    def __init__(self, pairs: Iterable[tuple[str, str]], kept: Iterable[str] = ()) -> None:
        self._kept = frozenset(kept)
        self._whole: dict[str, str] = {}
        found: list[Pair] = []
        for english, other in pairs:
            for each in _with_cases(english):
                taken = checked(each)
                if taken.slots:
                    found.append(Pair(taken, template(other), taken.weight, taken.words))
                else:
                    self._whole[each.strip()] = other.strip()
        self._by_word, self._joints = _indexed(found)
        self._known: dict[str, Told] = {}
        self._asked = 0

    def say(self, text: str) -> str:
        """The text in the other language; blanks at its ends stay."""
        return self._top(text).text

    def untold(self, text: str) -> int:
        """How many of its words have no pair."""
        return self._top(text).untold

    def _top(self, text: str) -> Told:
        if (known := self._known.get(text)) is not None:
            return known
        if len(self._known) > MOST_KNOWN:
            self._known.clear()
        self._asked = 0
        self._known[text] = told = self._told(text)
        return told

    def _told(self, text: str) -> Told:
        """What is known of a text; of a foreign one that can be read in thousands of ways the rest stays as it is."""
        if (known := self._known.get(text)) is not None:
            return known
        self._asked += 1
        if self._asked > MOST_ASKED:
            return Told(self._words(text), 0, text)
        self._known[text] = told = self._tell(text)
        return told

    def _tell(self, text: str) -> Told:
        bare = text.strip()
        if not bare:
            return Told(0, 0, text)
        told = self._of_bare(bare)
        before, _, behind = text.partition(bare)
        return told if bare == text else Told(told.untold, told.doubts, f"{before}{told.text}{behind}")

    def _of_bare(self, text: str) -> Told:
        if (whole := self._whole.get(text)) is not None:
            return Told(0, 0, whole)
        if not LETTERS.search(text):
            return Told(0, 0, text)
        if text.endswith(STOP) and (told := self._sentence(text)) is not None:
            return told
        best: Told | None = None
        for pair in self._fitting(text):
            for parts in pair.english.splits(text):
                told = self._filled(pair, parts)
                if told is not None and (best is None or (told.untold, told.doubts) < (best.untold, best.doubts)):
                    best = told
                if best is not None and best.untold == best.doubts == 0:
                    return best
        left = self._words(text)
        return Told(left, 0, text) if best is None or left < best.untold else best

    def _sentence(self, text: str) -> Told | None:
        """The text as one sentence with its full stop, if it can be told whole: no slot takes the stop for a part of its own."""
        pair = next((pair for pair in self._joints if pair.english.literals == ("", STOP)), None)
        told = None if pair is None else self._filled(pair, (text.removesuffix(STOP),))
        return told if told is not None and told.untold == told.doubts == 0 else None

    def _fitting(self, text: str) -> Iterator[Pair]:
        """The pairs whose fixed text may be found in the text, the most specific first."""
        words = set(LETTERS.findall(text))
        found = [pair for word in words for pair in self._by_word.get(word, ())]
        yield from sorted((pair for pair in found if pair.english.may_be(text)), key=lambda pair: -pair.weight)
        yield from (pair for pair in self._joints if pair.english.may_be(text))

    def _filled(self, pair: Pair, parts: tuple[str, ...]) -> Told | None:
        """The sentence with its parts, of which one that cannot be told in full stays English as a whole. `None` where too little
        of it can be told: it is a foreign text that happens to have the same words."""
        values: dict[str, str] = {}
        untold = doubts = changed = 0
        for slot, part in zip(pair.english.slots, parts, strict=True):
            told = Told(0, 0, part) if slot.kind else self._told(part)
            if pair.words and told.untold > (pair.words + 1 if pair.words > 2 else 0):
                return None
            values[slot.name] = (part if told.untold else told.text).strip()
            changed += not told.untold and told.text != part
            untold += told.untold
            doubts += told.doubts + (bool(pair.words) and PARTED.search(part.strip(" ,;:.")) is not None)
        return Told(untold, doubts, _joined(pair.other, values)) if pair.words or changed else None

    def _words(self, text: str) -> int:
        """The words of plain English in a text: no name of a file, function or program."""
        bare = (piece.strip(AROUND) for piece in text.split())
        return sum(1 for word in bare if WORD.fullmatch(word) and word not in self._kept)


def _joined(other: Template, values: Mapping[str, str]) -> str:
    """The sentence, with one blank between Chinese and other letters, and none between two Chinese ones."""
    text = other.literals[0]
    for slot, literal in zip(other.slots, other.literals[1:], strict=True):
        for piece in (values.get(slot.name, ""), literal):
            text = _beside(text, piece)
    return text


def _with_cases(sentence: str) -> Iterator[str]:
    """The sentences that this one stands for, each as it stands at the start of a text and inside of one."""
    for each in spelled_out(sentence):
        yield each
        if each[:1].isalpha() and (len(each) == 1 or not each[1].isupper()):
            yield each[0].swapcase() + each[1:]


def _beside(left: str, right: str) -> str:
    if not left or not right:
        return left + right
    before, behind = left.rstrip(), right.lstrip()
    if not before or not behind:
        return left + right
    if MARK.match(before[-1]) or MARK.match(behind[0]):
        return before + behind
    wide = bool(WIDE.match(before[-1])), bool(WIDE.match(behind[0]))
    if all(wide):
        return before + behind
    return f"{before} {behind}" if any(wide) and (before[-1].isalnum() and behind[0].isalnum()) else left + right


def _indexed(pairs: list[Pair]) -> tuple[Mapping[str, list[Pair]], list[Pair]]:
    """The pairs by their rarest whole word; behind them those without a word, such as `{one}, {other}`, the longest first."""
    words = [_whole_words(pair.english) for pair in pairs]
    common = Counter(word for each in words for word in each)
    by_word: defaultdict[str, list[Pair]] = defaultdict(list)
    joints: list[Pair] = []
    for pair, own in zip(pairs, words, strict=True):
        if own:
            by_word[min(own, key=lambda word: (common[word], word))].append(pair)
        else:
            joints.append(pair)
    return by_word, sorted(joints, key=lambda pair: -pair.weight)


def _whole_words(sentence: Template) -> set[str]:
    """The words of its fixed text that do not touch a slot."""
    last = len(sentence.literals) - 1
    found: set[str] = set()
    for place, literal in enumerate(sentence.literals):
        for word in LETTERS.finditer(literal):
            touches = (place > 0 and word.start() == 0) or (place < last and word.end() == len(literal))
            if not touches:
                found.add(word[0])
    return found
