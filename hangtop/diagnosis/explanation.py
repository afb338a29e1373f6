"""One page on one message or setting: what it means, what to do and where that is set, what the usual advice gets wrong.

Pure. The wording is data: `explanation.toml` here, `signatures/` and `settings.toml` in `hangtop/logs/catalog`.
"""

from __future__ import annotations

import difflib
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from hangtop.common.decode_toml import decode_toml
from hangtop.common.late_pattern import compiled
from hangtop.common.text import wrap
from hangtop.logs.catalog.load import Catalog
from hangtop.logs.catalog.signature import Setting, Signature
from hangtop.records.log import ROLES, TRACEBACK

WIDTH = 100
SHORTEST_PART = 8
"""Characters; a shorter part of a message fits too many."""

_WORD = re.compile(r"[a-z0-9]+")


@cache
def words(lang: str) -> Mapping[str, str]:
    """The fixed words in a language, `en` or `zh`."""
    return decode_toml(Path(__file__).with_name("explanation.toml").read_bytes(), dict[str, dict[str, str]])[lang]


def page(signature: Signature, lang: str = "en", framework: str | None = None) -> str:
    """The page on one message, in `lang` where all of it is told in it. `framework` leaves out the fixes of others."""
    word = words(lang if signature.speaks_zh else "en")
    lines = [f"{signature.id}  {word[signature.severity]} · {word[signature.role]}", ""]
    lines += _section(word["meaning"], [signature.cause])
    lines.append(word["todo"])
    for number, fix in enumerate(signature.fixes(None if framework is None else {framework}), 1):
        only = f"[{', '.join(fix.frameworks)}] " if fix.frameworks and framework is None else ""
        first, *rest = wrap(only + fix.text, WIDTH - 5)
        paste = [f"       {word[fix.where]}:  {fix.set}"] if fix.set else []
        lines += [f"  {number}. {first}", *(f"     {line}" for line in rest), *paste]
    lines.append("")
    if signature.folklore:
        lines += _section(word["folklore"], [signature.folklore])
    lines += _section(word["example"], [signature.example])
    lines += _section(word["sources"], signature.cite)
    return "\n".join(lines).rstrip() + "\n"


def setting_page(setting: Setting, lang: str = "en") -> str:
    """The page on one setting: who reads it, in which unit, and what works where nobody does."""
    word = words(lang if setting.truth_zh else "en")
    lines = [setting.name, ""]
    lines += _section(word["read_by"], [", ".join(setting.honoured_by) or setting.read_by or word["nobody"]])
    lines += _section(word["meaning"], [setting.truth, *([] if setting.keep else [word["test"]])])
    for key, text in (("default", setting.default), ("unit", setting.unit), ("instead", setting.instead)):
        if text:
            lines += _section(word[key], [text])
    lines += _section(word["sources"], setting.cite)
    return "\n".join(lines).rstrip() + "\n"


def listing(catalog: Catalog) -> Iterator[str]:
    """One line a message: id, severity, role and the start of its cause, by category."""
    wide = max(map(len, catalog.signatures), default=0)
    category = None
    for signature in sorted(catalog.signatures.values(), key=lambda each: (each.category, each.id)):
        if signature.category != category:
            category = signature.category
            yield f"{category}:"
        head = f"  {signature.id:<{wide}}  {signature.severity:<7}  {signature.role:<11}  "
        yield head + textwrap.shorten(signature.cause, max(WIDTH + 30 - len(head), 20), placeholder=" …")


def matching(messages: Iterable[str], catalog: Catalog) -> tuple[Signature, ...]:
    """The known messages among these (without their prefixes): causes first, then victims, evidence, consequences, summaries; of
    one role the one that explains most of the text. Where none is known, the kind of the last exception."""
    found: dict[str, int] = {}
    kinds = [each for each in catalog.signatures.values() if each.kind]
    of_kind: Signature | None = None
    for message in messages:
        for signature in catalog.signatures.values():
            if any(literal in message for literal in signature.literal) and (match := compiled(signature.regex).search(message)):
                found[signature.id] = max(found.get(signature.id, 0), len(match[0]))
        if not found.keys() - {TRACEBACK}:
            of_kind = next((each for each in kinds if compiled(each.regex).search(message)), of_kind)
    if of_kind is not None and not found.keys() - {TRACEBACK}:
        return (of_kind,)
    known = [catalog.signatures[name] for name in found]
    pages = [each for each in known if not each.family and not each.wrapper]
    known = [each for each in known if not each.family or not pages]
    return tuple(sorted(known, key=lambda each: (each.severity == "hint", ROLES.index(each.role), -found[each.id])))


def partial(query: str, catalog: Catalog) -> tuple[Signature, ...]:
    """The messages of which `query` is only a part: it holds one of their literals, or their example holds it."""
    asked = query.lower()
    long_enough = len(asked) >= SHORTEST_PART
    return tuple(
        each
        for each in catalog.signatures.values()
        if any(literal.lower() in asked for literal in each.literal if len(literal) >= SHORTEST_PART)
        or (long_enough and asked in each.example.lower())
    )


def named(query: str, catalog: Catalog) -> Setting | None:
    """The setting with this name or one of its other spellings; a value after `=` does not matter."""
    name = query.removeprefix("export ").split("=", 1)[0].strip()
    return next((each for each in catalog.settings.values() if {name, query}.intersection((each.name, *each.also))), None)


def spelled(query: str, catalog: Catalog) -> Signature | None:
    """The message whose id this is, however its words are joined: `cuda oom`, `CUDA_OOM`."""
    asked = _WORD.findall(query.lower())
    return next((each for each in catalog.signatures.values() if _WORD.findall(each.id) == asked), None)


def nearest(query: str, catalog: Catalog, most: int = 5) -> tuple[str, ...]:
    """The ids that come closest to what was asked: by spelling, then by words they share with a message, rare words first."""
    texts = {each.id: " ".join((each.id, each.example, each.cause, *each.literal)) for each in catalog.signatures.values()}
    words_of = {name: set(_WORD.findall(text.lower())) for name, text in texts.items()}
    asked = {word for word in _WORD.findall(query.lower()) if len(word) > 1}
    often = {word: sum(word in words for words in words_of.values()) for word in asked}
    shared = {name: sum(1 / often[word] for word in asked & words) for name, words in words_of.items()}
    by_words = sorted(
        (name for name, weight in shared.items() if weight),
        key=lambda name: (-shared[name], catalog.signatures[name].severity != "fatal", name),
    )
    close = difflib.get_close_matches(query.lower(), list(catalog.signatures), n=most, cutoff=0.6)
    return tuple(dict.fromkeys((*close, *by_words)))[:most]


def _section(title: str, paragraphs: Iterable[str]) -> list[str]:
    body = [line for text in paragraphs for line in wrap(text, WIDTH - 2)]
    return [title, *(f"  {line}" for line in body), ""]
