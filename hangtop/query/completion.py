"""What may follow in a question that is typed: names of recipes, tables, columns, and the words of SQL. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile

from msgspec import Struct

from hangtop.query.recipes import recipes
from hangtop.query.tables import TABLES, columns

WORDS = (
    "SELECT FROM WHERE GROUP BY ORDER BY LIMIT AND OR NOT NULL IS IN LIKE AS DESC ASC JOIN USING ON WITH HAVING BETWEEN CASE "
    "WHEN THEN ELSE END DISTINCT OVER PARTITION ALL count( avg( min( max( median( sum( round( arg_max( arg_min( quantile_cont( "
    "lag( to_timestamp( time_bucket( coalesce( SUMMARIZE DESCRIBE QUALIFY UNION EXCLUDE"
).split()
AFTER_TABLE = re.compile(r"(?i)\b(?:from|join)\s+(\w+)(?:\s+(?:as\s+)?(\w+))?")
_LAST = re.compile(r"(?:(\w+)\.)?([\w-]*)$")


class Completed(Struct, frozen=True):
    """`text`: what the question is after Tab, with the cursor behind its first `cursor` characters. `choices`: what the word
    that begins at `begin` may become."""

    text: str
    cursor: int
    choices: tuple[str, ...] = ()
    begin: int = 0

    def chosen(self, nth: int) -> tuple[str, int]:
        """Text and cursor with one of the choices."""
        before = self.text[: self.begin] + self.choices[nth]
        return before + self.text[self.cursor :], len(before)


def complete(text: str, cursor: int) -> Completed:
    """Complete the word before the cursor, as far as all choices agree."""
    before, after = text[:cursor], text[cursor:]
    found = _LAST.search(before)
    assert found is not None  # it matches the empty end
    owner, begun = found[1], found[2]
    known = tuple(dict.fromkeys(each for each in _names(text, before, owner) if each.lower().startswith(begun.lower())))
    if not known:
        return Completed(text, cursor)
    common = _common(known)
    added = common if len(common) > len(begun) else begun
    if len(known) == 1 and not added.endswith("("):
        added += "" if after[:1] in (" ", ",", ")") and after else " "
    done = before[: len(before) - len(begun)] + added
    return Completed(done + after, len(done), known, len(before) - len(begun))


def _names(text: str, before: str, owner: str | None) -> Iterator[str]:
    """What may stand there, the likeliest first."""
    named = {each[1].lower(): each[1].lower() for each in AFTER_TABLE.finditer(text) if each[1].lower() in TABLES}
    named |= {each[2].lower(): each[1].lower() for each in AFTER_TABLE.finditer(text) if each[2] and each[1].lower() in TABLES}
    if owner is not None:
        yield from _columns([named.get(owner.lower(), owner.lower())])
        return
    if not before.strip() or re.fullmatch(r"\s*[\w-]+", before):
        yield from recipes()
        yield from ("SELECT", "FROM", "WITH", "SUMMARIZE", "DESCRIBE")
        return
    if re.search(r"(?i)\b(?:from|join|describe|summarize)\s+[\w-]*$", before):
        yield from TABLES
        return
    yield from _columns(dict.fromkeys(named.values()) or TABLES)
    yield from WORDS
    yield from TABLES


def _columns(tables: Iterable[str]) -> Iterator[str]:
    for table in tables:
        if (row := TABLES.get(table)) is not None:
            yield from (column.name for column in columns(row))


def _common(names: Iterable[str]) -> str:
    """What all of them begin with; letters of the first."""
    first, *others = names
    agree = takewhile(lambda nth: all(first[:nth].lower() == other[:nth].lower() for other in others), range(1, len(first) + 1))
    return first[: max(agree, default=0)]
