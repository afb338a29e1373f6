"""What a secret looks like (`kinds.toml`): by its own shape, by what stands around it, by the name beside it. Pure.

A pattern is compiled when a text first has one of the literals without which it cannot match; most texts have none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path

from ahocorasick_rs import AhoCorasick
from msgspec import Struct

from hangtop.common.decode_toml import decode_toml

MARK = "[redacted]"
LONGEST_BEFORE = 16


class Names(Struct, frozen=True, forbid_unknown_fields=True):
    """Words that tell that a secret stands beside them; `harmless_before`: unless one of these stands before the word."""

    strong: tuple[str, ...]
    anchored: tuple[str, ...]
    weak: tuple[str, ...]
    harmless_before: tuple[str, ...]


class Services(Struct, frozen=True, forbid_unknown_fields=True):
    """Names of services whose keys have no shape of their own: an opaque value right beside one is its key. `harmless_after`:
    unless the name ends in one of these."""

    names: tuple[str, ...]
    harmless_after: tuple[str, ...]


class Harmless(Struct, frozen=True, forbid_unknown_fields=True):
    """Values that are no secrets."""

    words: tuple[str, ...]


class Rule(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """One kind of secret. `starts`: lower-case literals, one of which is in every text that matches; `names`: a telling name is,
    `services`: the name of a service. `pattern`: a regex without line ends, with `{…}` for what `_parts` names. `by`: what takes
    its place."""

    kind: str
    pattern: str
    starts: tuple[str, ...] = ()
    names: bool = False
    services: bool = False
    by: str = MARK

    @cached_property
    def regex(self) -> re.Pattern[str]:
        pattern = self.pattern.replace("\n", "")
        for name, part in _parts().items():
            pattern = pattern.replace(f"{{{name}}}", part)
        return re.compile(pattern)


class Kinds(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table; the rules hold in its order."""

    names: Names
    services: Services
    harmless: Harmless
    rule: tuple[Rule, ...]


@cache
def kinds() -> Kinds:
    return decode_toml(Path(__file__).with_name("kinds.toml").read_bytes(), Kinds)


def rules_for(text: str) -> list[Rule]:
    """The rules that may match somewhere in it, in order."""
    finder, owners = _finder()
    literals = {literal for literal, _, _ in finder.find_matches_as_indexes(lower(text), overlapping=True)}
    found = {number for literal in literals for number in owners[literal]}
    rules = kinds().rule
    return [rules[number] for number in sorted(found)]


def values_beside_names(line: str) -> Iterator[tuple[int, int]]:
    """Where values stand that are secrets because of the name before them: begin and end, in order, none in another."""
    end = 0
    for _, begin, _ in _name_finder().find_matches_as_indexes(lower(line), overlapping=True):
        found = _beside().match(line, begin) if begin >= end else None
        if found is not None and found.lastgroup is not None and not names_nothing_secret(line[:begin]):
            yield found.span(found.lastgroup)
            end = found.end()


def lower(text: str) -> str:
    """In small letters, at the same places."""
    return text.replace("\u0130", "I").lower()


def names_nothing_secret(before: str) -> bool:
    """Whether the words before a telling name say that it names no secret: `eos_` before `token`."""
    return _before().search(before[-LONGEST_BEFORE:]) is not None


def strong_names() -> str:
    """The names beside which every value is a secret, as a pattern."""
    return _parts()["STRONG"]


def is_secret(name: str, value: str, *, any_key: bool = False) -> bool:
    """Whether a whole value beside this name is a secret. `any_key`: every key is, as in an environment; else a random one."""
    strong, weak = _whole_names()
    named = strong.search(name)
    if named is None and (named := weak.search(name)) is not None and not any_key and not _whole_random().fullmatch(value):
        return False
    if named is None or not value or _whole_harmless().fullmatch(value):
        return False
    return not names_nothing_secret(name[: named.start("name")])


@cache
def _finder() -> tuple[AhoCorasick, list[list[int]]]:
    """Finds literals, and the numbers of the rules of each."""
    owners: dict[str, list[int]] = {}
    names = kinds().names
    telling = [name.lower().split()[0] for name in (*names.strong, *names.anchored, *names.weak)]
    for number, rule in enumerate(kinds().rule):
        services = [name.lower().split()[0] for name in kinds().services.names] if rule.services else []
        for literal in dict.fromkeys((*rule.starts, *services, *(telling if rule.names else ()))):
            owners.setdefault(literal, []).append(number)
    return AhoCorasick(list(owners)), list(owners.values())


@cache
def _name_finder() -> AhoCorasick:
    """Finds where a telling name may begin: by its first word."""
    names = kinds().names
    return AhoCorasick(list({name.lower().split()[0]: None for name in (*names.strong, *names.anchored, *names.weak, "_key")}))


@cache
def _beside() -> re.Pattern[str]:
    """A telling name and the secret beside it, which is the last group."""
    pattern = (
        r"(?i){STRONG}(?:{SIGN}(?!{HARMLESS})(?P<signed>{VALUE})|[」』”】\"']?\s*(?:\b(?:is|was|(?:(?:re)?set|changed|updated)\s+to|to\s+be)\b:?"
        r"|(?:已经?|被)?(?:重?设置?|設置|更新|修改|更改|重置|改)?[是为為成は]|が)\s*[\"'`]?(?P<said>(?=[^\s\"'`]{0,200}\d)(?=[^\s\"'`]{0,200}[A-Za-z])[^\s\"'`,;)\]}(=\[]{8,})"
        r"|\s+[\"'`]?(?P<bare>(?-i:{PASSWORD})))"
        r"|(?:{ANCHORED}|(?-i:(?<=[A-Z0-9])_KEY)){SIGN}(?!{HARMLESS})(?P<whole>{VALUE})|{WEAK}{SIGN}[bru]{0,2}\\*[\"']?(?P<random>(?-i:{RANDOM}))"
    )
    for name, part in _parts().items():
        pattern = pattern.replace(f"{{{name}}}", part)
    return re.compile(pattern)


@cache
def _before() -> re.Pattern[str]:
    words = "|".join(map(re.escape, kinds().names.harmless_before))
    return re.compile(rf"(?i)(?<![A-Za-z])(?:{words})[_ -]?$")


@cache
def _whole_names() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Whole names that end in a telling word, and those that end in one of which only random values are secrets."""
    parts = _parts()
    strong = rf"(?i)(?P<name>(?:^|(?<=[_.-])|(?<=[a-z]))(?:{parts['STRONG']}|{parts['ANCHORED']}))[_.-]?\d*$"
    return re.compile(strong), re.compile(rf"(?i)(?P<name>(?:^|(?<=[_.-]))(?:{parts['WEAK']}|pass))[_.-]?\d*$")


@cache
def _whole_random() -> re.Pattern[str]:
    return re.compile(_parts()["RANDOM"])


@cache
def _whole_harmless() -> re.Pattern[str]:
    return re.compile(rf"(?i)(?:{_parts()['HARMLESS']})")


@cache
def _parts() -> dict[str, str]:
    """What stands for `{…}` in the patterns."""
    table = kinds()
    words = "|".join(table.harmless.words)
    escaped = r"(?:%2[27]|&(?:quot|\#3[49]|apos);|\\+u002[27])"  # a quote, as addresses, HTML and JSON write it
    sign = rf"(?:{escaped}|\\*[\"'])?[\])]?[ \t]*(?:=>|[=:：＝]|%3[ADad])[ \t]*{escaped}?(?:![\w!/.:-]{{1,40}}[ \t]+)?"
    path = r"(?:~|\.{1,2})?/(?:[\w.@-]{1,60}/)*[\w.@-]{0,60}"
    mark = re.escape(MARK)
    stays = (
        rf"(?:{mark}[.,;:!?]*(?=[\s\"'`)\]}}]|$)|-?\d{{1,6}}(?:\.\d+)?(?:e[-+]?\d+)?\s?(?:ms|us|s|min|h|%|[kmgt]i?b?)?|(?:{words})|<[^<>\r\n]{{1,60}}>"
        rf"|\[[A-Z_]{{2,12}}\]|\$(?:[A-Z_]+|[{{(][^\s\"']*)|\{{\w*\}}|\*{{2,}}|[^\x00-\x7f]+|[.,;!]|\w{{1,2}}|\w{{0,4}}(?:\.{{3}}|…)|{path})"
    )
    harmless = rf"\"{stays}?\"(?!\")|'{stays}?'(?!')|`{stays}?`|{stays}(?![\w./+=@!$~\"'-])"
    quoted = r"'{3}[^']*'{3}|\"{3}[^\"]*\"{3}|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'"
    value = (
        rf"[bru]{{0,2}}(?:{quoted})|\\+\"[^\"]*?\\+\"|\\+'[^']*?\\+'|\w{{1,40}}\((?:{quoted})\)"
        rf"|[\[(](?:[^\])\"'\[(]*+(?:{quoted}))++[^\])]*[\])]|[\"']?(?:{mark})?(?:[^\s,;}}\])\"']|,(?=\S)(?!\s*[\w.-]+[=:]))+"
    )
    random = (
        r"(?:[0-9a-f]{32,}|(?=[\w+/=~!-]{0,200}[A-Z])(?=[\w+/=~!-]{0,200}[a-z])(?=[\w+/=~!-]{0,200}\d)[A-Za-z0-9+/=~!-]{16,}"
        r"|(?=[a-z0-9]{0,200}\d)(?=[a-z0-9]{0,200}[a-z])[a-z0-9]{24,})(?![\w.(])"
    )
    password = (
        r"(?:[0-9a-f]{32,}(?!\w)|(?=[^\s\"'`(=]{0,200}[A-Z])(?=[^\s\"'`(=]{0,200}[a-z])(?=[^\s\"'`(=]{0,200}\d)[^\s\"'`,;)\]}(=\[]{10,}"
        r"|(?=[a-z0-9]{0,200}\d)(?=[a-z0-9]{0,200}[a-z])[a-z0-9]{24,}(?![\w.(]))"
    )
    opaque = (
        r"(?:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
        r"|(?=[\w.=+/-]{0,400}\d)(?=[\w.=+/-]{0,400}[A-Za-z])[\w+/=-]{16,}(?:\.[\w+/=-]{8,})*)(?![\w(])"
    )
    return {
        "STRONG": _any_of(table.names.strong),
        "ANCHORED": rf"(?:(?<![A-Za-z])|(?-i:(?<=[a-z])(?=[A-Z]))){_any_of(table.names.anchored)}",
        "WEAK": _any_of(table.names.weak),
        "SIGN": sign,
        "HARMLESS": f"(?:{harmless})",
        "VALUE": value,
        "RANDOM": random,
        "PASSWORD": password,
        "SERVICE": _any_of(table.services.names),
        "NO_KEY": _any_of(table.services.harmless_after),
        "OPAQUE": opaque,
    }


def _any_of(names: tuple[str, ...]) -> str:
    """The names as a pattern, the longest first: `access key id` before `access key`."""
    return f"(?:{'|'.join(re.escape(name).replace(chr(92) + ' ', '[_ -]?') for name in sorted(names, key=len, reverse=True))})"
