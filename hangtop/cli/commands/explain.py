"""`hangtop explain ID|PLACE|TEXT|-`: what a message or a place means and how to mend it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from hangtop.common.clean_text import clean_text
from hangtop.diagnosis.explanation import listing as listed
from hangtop.diagnosis.explanation import matching, named, nearest, page, partial, setting_page, spelled, words
from hangtop.logs.catalog.load import Catalog, load
from hangtop.logs.lines.prefixes import strip
from hangtop.remedies.catalogue import Places, places
from hangtop.remedies.place_page import listing as listed_places
from hangtop.remedies.place_page import place_page, stage_named, stage_page
from hangtop.translations import say

PAGES = 5
"""Pages printed in full; further messages are only named."""
WRAPPED = 3
"""Most lines of a message that a terminal has wrapped."""
FOUND, NOTHING = 0, 2


def run(
    query: str | None,
    *,
    listing: bool,
    lang: str,
    framework: str | None,
    out: TextIO,
    user_dir: Path | None = None,
    stdin: TextIO | None = None,
) -> int:
    """Print the page on `query`: an id of a message or place, `FRAMEWORK:STAGE`, a setting's name, a message as it stands in a
    log, or `-` for text on stdin.

    0 when something fits, 2 when nothing does. Raises `CatalogError` when a file in the user's folder is wrong.
    """
    catalog = load(user_dir, lang=lang)
    if listing:
        out.writelines(f"{line}\n" for line in (*listed(catalog), *listed_places(places(user_dir), say)))
        return FOUND
    if not query or not query.strip():
        out.write(f"{words(lang)['what']} {words(lang)['all']}\n")
        return NOTHING
    if (told := _of_place(query.strip(), catalog, places(user_dir), framework)) is not None:
        out.write(told)
        return FOUND
    return _explain(query.strip(), catalog, lang, framework, out, stdin or sys.stdin)


def _of_place(query: str, catalog: Catalog, known: Places, framework: str | None) -> str | None:
    """The page of a place (`lock`) or of a stage (`gkd:weight_sync`), if the query names one."""
    if query in known and query not in catalog.signatures:
        return place_page(known[query], framework, say)
    stage = stage_named(query, catalog)
    return None if stage is None else stage_page(*stage, known, say)


def _explain(query: str, catalog: Catalog, lang: str, framework: str | None, out: TextIO, stdin: TextIO) -> int:
    if signature := catalog.signatures.get(query) or spelled(query, catalog):
        out.write(page(signature, lang, framework))
        return FOUND
    if setting := named(query, catalog):
        out.write(setting_page(setting, lang))
        return FOUND
    found = matching(_messages(stdin if query == "-" else query.splitlines()), catalog)
    if not found and query != "-":
        found = partial(query, catalog)
    if not found:
        close = nearest(query, catalog) if query != "-" else ()
        word = words(lang)
        near = [word["near"].format(", ".join(close))] if close else []
        out.write(" ".join((word["unknown"], *near, word["all"])) + "\n")
        return NOTHING
    out.write("\n".join(page(signature, lang, framework) for signature in found[:PAGES]))
    if rest := found[PAGES:]:
        out.write("\n" + words(lang)["also"].format(", ".join(signature.id for signature in rest)) + "\n")
    return FOUND


def _messages(lines: Iterable[str]) -> Iterator[str]:
    """The messages in pasted text: each line with and without prefix, and wrapped lines joined."""
    before: list[str] = []
    for line in lines:
        for piece in line.rstrip("\n").split("\r"):
            cleaned = clean_text(piece)
            message = strip(cleaned)[1].strip().lstrip("|> ")  # quoted when pasted
            yield message
            if message != cleaned:
                yield cleaned
            for start in range(len(before)):
                yield from (joint.join((*before[start:], message)) for joint in (" ", ""))
            before = [*before, message][-(WRAPPED - 1) :]
