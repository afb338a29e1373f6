"""A first profile made of a log: which lines count steps, what it would read of them, and the file. Pure.

`hangtop init` asks a person; what is proposed here are lines of one shape in which a number grows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from hangtop.logs.catalog.checks import profile_flaws, too_slow
from hangtop.logs.catalog.load import parse_profile
from hangtop.logs.catalog.profile import PAIRS, STAGE_IDS

TRAINING = "train_loop"
LEAST = 3
"""A number that grows in so many lines of one shape may be a count."""
MOST_CHOICES = 9
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?")
_ANY_NUMBER = r"[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?"
_COUNT = re.compile(r"\d[\d,]*")
_OF = re.compile(r"\s?(?:/|of|out of)\s?")
_WORDS = re.compile(r"[^\W\d_][^\d]{2,}")


class StepForm(Struct, frozen=True):
    """Lines of one shape. `pieces`: the text around their numbers, one more than there are numbers. `column`: of the number that
    grows; the next one is the total if `has_total`. `messages`: these lines, in the order of the log."""

    pieces: tuple[str, ...]
    column: int
    has_total: bool
    messages: tuple[str, ...]

    @property
    def example(self) -> str:
        return self.messages[-1]

    @property
    def literal(self) -> str:
        """The longest words before the count, else any: what the scan looks for."""
        before = [found[0] for piece in self.pieces[: self.column + 1] for found in _WORDS.finditer(piece)]
        anywhere = [found[0] for piece in self.pieces for found in _WORDS.finditer(piece)]
        return max(before or anywhere or [max(self.pieces, key=len)], key=len)

    @property
    def regex(self) -> str:
        """Up to the count and its total, the numbers before it whatever they are."""
        parts = [re.escape(self.pieces[0])]
        for place in range(self.column):
            parts += [_ANY_NUMBER, re.escape(self.pieces[place + 1])]
        total = rf"{re.escape(self.pieces[self.column + 1])}(?P<total>\d[\d,]*)" if self.has_total else ""
        return "^" + "".join(parts) + r"(?P<step>\d[\d,]*)" + total

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the values behind the count, as the line writes them."""
        counted = re.match(self.regex, self.example)
        behind = self.example[counted.end() :] if counted is not None else self.example
        return tuple(dict.fromkeys(pair["key"] for pair in re.finditer(PAIRS["loose"], behind)))


class StageMark(Struct, frozen=True):
    """`text`: what lines that begin the stage hold. `example`: such a line."""

    stage: str
    text: str
    example: str


def step_forms(messages: Iterable[str]) -> list[StepForm]:
    """Lines of one shape with a number that grows, those that come most often first."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for message in messages:
        alike.setdefault(tuple(_NUMBER.split(message[:400])), []).append(message[:400])
    forms = [form for pieces, lines in alike.items() if (form := _form(pieces, lines)) is not None]
    return sorted(forms, key=lambda form: -len(form.messages))[:MOST_CHOICES]


def form_with(messages: Sequence[str], text: str) -> StepForm | None:
    """The form of lines that hold this text; the one that comes most often."""
    return next(iter(step_forms(message for message in messages if text in message)), None)


def _form(pieces: tuple[str, ...], lines: Sequence[str]) -> StepForm | None:
    if len(lines) < LEAST or len(pieces) < 2 or not any(_WORDS.search(piece) for piece in pieces):
        return None
    rows = [_NUMBER.findall(line) for line in lines]
    for column in range(len(pieces) - 1):
        counts = [int(row[column].replace(",", "")) if _COUNT.fullmatch(row[column]) else None for row in rows]
        known = [count for count in counts if count is not None]
        if len(known) == len(rows) and _grows(known):
            return StepForm(pieces, column, _has_total(pieces, rows, column + 1), tuple(lines))
    return None


def _has_total(pieces: Sequence[str], rows: Sequence[Sequence[str]], behind: int) -> bool:
    """Whether the number behind the count is the same in all lines, and the words between say "of"."""
    return behind < len(rows[0]) and bool(_OF.fullmatch(pieces[behind])) and len({row[behind] for row in rows}) == 1


def _grows(counts: Sequence[int]) -> bool:
    """Never back but for one new start; several ranks may tell the same."""
    falls = sum(after < before for before, after in pairwise(counts))
    return falls <= 1 and len(set(counts)) >= LEAST


def stage_lines(messages: Sequence[str], form: StepForm | None) -> list[str]:
    """Lines that stand before the first step and come once: what may begin a stage."""
    first = messages.index(form.messages[0]) if form is not None and form.messages[0] in messages else len(messages)
    seen: dict[str, int] = {}
    for message in messages:
        seen[_NUMBER.sub("0", message)] = seen.get(_NUMBER.sub("0", message), 0) + 1
    return [each for each in dict.fromkeys(messages[:first]) if seen[_NUMBER.sub("0", each)] == 1 and _WORDS.search(each)]


def profile_text(name: str, form: StepForm, stages: Sequence[StageMark]) -> str:
    """The file, as TOML."""
    lines = [
        f"# Made by hangtop init. hangtop profiles test {name} --log FILE shows what matches where.",
        "schema = 1",
        f"name = {_quoted(name)}",
        f"title = {_quoted(name)}",
        "",
        "[[detect]]",
        f"literal = {_quoted(form.literal)}",
        "weight = 3",
    ]
    for mark in sorted(stages, key=lambda mark: STAGE_IDS.index(mark.stage)):
        marker = f"{{ literal = [{_quoted(mark.text)}], example = {_quoted(mark.example)} }}"
        title = mark.stage.replace("_", " ")
        lines += ["", "[[stage]]", f"id = {_quoted(mark.stage)}", f"title = {_quoted(title)}", f"enter = [{marker}]"]
    if TRAINING not in {mark.stage for mark in stages}:
        lines += ["", "[[stage]]", f'id = "{TRAINING}"', 'title = "training"', "steady = true"]
    lines += [
        "",
        "[[progress]]",
        f'stage = "{TRAINING}"',
        'id = "step"',
        f"literal = [{_quoted(form.literal)}]",
        f"regex = {_quoted(form.regex)}",
        f"example = {_quoted(form.example)}",
        "whole = true",
        'pair = "loose"',
    ]
    if form.metrics:
        named = ", ".join(f"{_quoted(metric)} = {_quoted(_plain(metric))}" for metric in form.metrics)
        lines.append(f"metrics = {{ {named} }}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _plain(metric: str) -> str:
    """Names of values are words in hangtop: `train/loss` is loss."""
    return re.sub(r"\W+", "_", metric.rpartition("/")[2]).strip("_") or metric


def flaws_of_text(text: str, known: Mapping[str, object]) -> Iterator[str]:
    """Why this profile would not work; nothing if it does. Raises `CatalogError` for what is no profile at all."""
    profile = parse_profile(text, "the profile")
    yield from (f"{flaw.key}: {flaw.text}" for flaw in profile_flaws(profile, frozenset(known)))
    for line in profile.progress:
        if begins := too_slow(line.regex, line.literal, line.example):
            yield f"the regex needs too long on a text that begins {begins!r}"
