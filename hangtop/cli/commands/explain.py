"""`hangtop explain ID|TEXT|-`: what a message means and how to mend it."""

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
    """Print the page on `query`: an id, a setting's name, a message as it stands in a log, or `-` for text on stdin.

    0 when something fits, 2 when nothing does. Raises `CatalogError` when a file in the user's folder is wrong.
    """
    catalog = load(user_dir, lang=lang)
    if listing:
        out.writelines(f"{line}\n" for line in listed(catalog))
        return FOUND
    if not query or not query.strip():
        out.write(f"{words(lang)['what']} {words(lang)['all']}\n")
        return NOTHING
    return _explain(query.strip(), catalog, lang, framework, out, stdin or sys.stdin)


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
