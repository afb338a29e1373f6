"""Steps in formats that no profile knows: lines of one shape, in which a number grows beside a value of learning.

`[120 | 341.21] loss=2.31`, `Steps : 12, Gen Loss Total : 38.0`: a program that writes such lines again and again counts its
steps. The newest lines of a file are searched for them, only if nothing else tells a step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, pairwise

from msgspec import Struct

from hangtop.common.late_pattern import late_pattern
from hangtop.logs.catalog.profile import ProgressLine
from hangtop.logs.extract.steps.progress import metrics_in, number
from hangtop.logs.file_facts import ProgressSeen
from hangtop.logs.lines.block_lines import Line, Lines, Span, Writer
from hangtop.logs.lines.digit_shapes import shape_of

ROWS = 64
"""How many of the newest lines are searched."""

ENOUGH = 5
"""This many growing numbers in lines of one shape are a count. Several ranks may print the same number."""

ANY = ProgressLine(
    id="counter",
    literal=(),
    regex="",
    example="",
    whole=True,
    pair="loose",
    metrics={name: name for name in ("loss", "lr", "grad_norm", "reward", "ppl")} | {"learning_rate": "lr"},
)
"""The progress line that such a line is read as."""

_WITHIN = 600  # bytes from a line's start
_LEARNS = late_pattern(
    rb"(?<![a-z])(?:loss|rewards?|returns?|lr|learning[_ ]rate|ppl|perplexity|psnr|grad|acc|accuracy|nll|elbo|rmse|mae|mse"
    rb"|wer|timesteps|t_env|it/s(?:ec)?|s/it|tok/s)(?![a-z])"
)
_WORDS = tuple(
    b"loss reward return lr learning ppl perplexity psnr grad acc nll elbo mse mae wer timesteps t_env it/s s/it tok/s".split()
)
"""Every match of `_LEARNS` holds one of these, and they are found ten times as fast."""
_NOT_TRAINING = late_pattern(
    r"(?i)(?<![a-z])(?:val|valid(?:ation)?|eval(?:uat\w*)?|test(?:ing)?|dev|infer\w*|predict\w*|tokeniz\w*|load\w*|download\w*"
    r"|request\w*|retry\w*|https?)(?![a-z])| --[a-z]"
)
_OF_A_PART = late_pattern(
    r"(?i)(?<![a-z])(?:layers?|blocks?|heads?|experts?|folds?|trials?|samples?|params?|groups?|buckets?|devices?|gpus?|ranks?|shards?"
    r"|files?|workers?|clients?|trees?|attempt|question|prompt|candidate|seed|model|run|job|node|tool|call|turn|problem|line|page|class(?:es)?|label|categor\w*|tasks?"
    r"|levels?|clusters?|topics?|tokens?|positions?|rows?|columns?|case|item|images?|user|query|k|top|recall|precision|hits|size|bs"
    r"|dim|width|depth|len|length|epochs?|e|ep|time|elapsed|took|wall|dur\w*|secs?|mem\w*|lr|fps|games)\W{0,4}$"
)
_AMOUNT = late_pattern(r"\s?(?:[smhKMG]\b|ms\b|%|[KMG]i?B|sec|min|hours?)")
"""A number with one of these words before it, or units behind it, is no step; an epoch has a progress line of its own."""
_TOKEN = late_pattern(r"(?<![\d.])[-+]?\d+(?:[.:,-]\d+)*(?:[eE][-+]?\d+)?")
_PLACE = "\0"  # no text holds it
_INTEGER = late_pattern(r"\d{1,12}|\d{1,3}(?:,\d{3}){1,3}")
_BLANKS = late_pattern(r"\s+")
_OF = frozenset({"/", " / ", " of ", " out of "})


class _Row(Struct, frozen=True):
    line: Line
    tokens: list[str]
    counts: list[int | None]  # of each token that is a whole number


class StepHeuristic:
    """The growing numbers in one file."""

    def __init__(self) -> None:
        self._shaped: dict[int, tuple[str, _Row] | None] = {}  # of the newest lines, by their offset

    def read(self, rows: Iterable[tuple[Lines, Span]], profile: str, since: int) -> list[tuple[Line, ProgressSeen]]:
        """The steps in the newest lines behind byte `since`, in file order. `rows`: these lines, the newest first."""
        shaped: dict[int, tuple[str, _Row] | None] = {}
        for lines, span in islice(rows, ROWS):
            at = lines.block.at(span.start)
            shaped[at] = self._shaped[at] if at in self._shaped else _shaped(lines, span)
        open_end = next(iter(shaped), -1)
        self._shaped = {at: row for at, row in shaped.items() if at != open_end}  # the newest may go on
        alike: dict[tuple[Writer, str], list[_Row]] = {}
        for known in reversed(shaped.values()):
            if known is not None:
                alike.setdefault((known[1].line.writer, known[0]), []).append(known[1])
        told = [found for (_, shape), members in alike.items() for found in _told(shape, members, profile, since)]
        return sorted(told, key=lambda found: found[0].offset)


def _shaped(lines: Lines, span: Span) -> tuple[str, _Row] | None:
    """The line without its numbers, and the numbers; `None` if it tells no count, or no value of learning."""
    row = lines.block.data[span.start : min(span.end, span.start + _WITHIN)].lower()
    if not any(word in row for word in _WORDS) or _LEARNS.search(row) is None:
        return None
    line = lines.parse(span)
    text = line.text[:_WITHIN]
    tokens = _TOKEN.findall(text)
    if not line.whole or len(tokens) < 2 or _NOT_TRAINING.search(text):
        return None
    counts = [int(token.replace(",", "")) if _INTEGER.fullmatch(token) else None for token in tokens]
    return None if counts.count(None) == len(counts) else (_BLANKS.sub(" ", _TOKEN.sub(_PLACE, text)), _Row(line, tokens, counts))


def _told(shape: str, rows: list[_Row], profile: str, since: int) -> Iterator[tuple[Line, ProgressSeen]]:
    column = _growing(shape, rows) if len(rows) >= ENOUGH else None
    if column is None:
        return
    total = _total(shape, rows, column)
    for row in (row for row in rows if row.line.offset > since):
        line, step, metrics = row.line, row.counts[column], metrics_in(ANY, {}, row.line.text, shape_of(row.line.text))
        told = ProgressSeen(
            profile, ANY.id, line.offset, line.at, line.writer, counts=True, step=step, total=total, metrics=metrics
        )
        yield line, told


def _growing(shape: str, rows: list[_Row]) -> int | None:
    """The column that counts steps: it grows from line to line, the most evenly of all, and no word makes it another number."""
    pieces = shape.split(_PLACE)
    best: tuple[int, int] | None = None
    for column in range(len(rows[0].counts)):
        known = [value for row in rows if (value := row.counts[column]) is not None]
        strides = _strides(known) if len(known) == len(rows) else frozenset()
        if strides and not (_OF_A_PART.search(pieces[column]) or _AMOUNT.match(pieces[column + 1])):
            best = min(best or (len(strides), column), (len(strides), column))
    return None if best is None else best[1]


def _strides(values: list[int]) -> frozenset[int]:
    """The distinct increases from one value to the next; empty if they do not grow. They may start over once, as in a new
    epoch."""
    falls = [place for place, (before, after) in enumerate(pairwise(values), 1) if after < before]
    begin = falls[0] if falls else 0
    if len(falls) > 1 or (falls and 2 * values[begin] > values[begin - 1]) or len(set(values[begin:])) < ENOUGH:
        return frozenset()
    return frozenset(after - before for before, after in pairwise(values) if after > before)


def _total(shape: str, rows: list[_Row], column: int) -> float | None:
    """The number behind the count (`12 / 900`), if it is the same in all rows."""
    behind = column + 1
    if behind >= len(rows[0].tokens) or shape.split(_PLACE)[behind] not in _OF:
        return None
    totals = {row.tokens[behind] for row in rows}
    return number(totals.pop()) if len(totals) == 1 else None
