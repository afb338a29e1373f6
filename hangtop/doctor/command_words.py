"""Names and values on a command line: `--name value`, `--name=value`, and `name=value` in Hydra's style with its lists. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

_PIECE = re.compile(r"""'([^']*)'|"([^"]*)"|([^,'"\s][^,'"]*)""")
"""An item of a list: in quotes, or bare up to the next comma."""


def flags(command: Sequence[str]) -> Iterator[tuple[str, str]]:
    """`--name value` and `--name=value`, dashes and underscores alike."""
    for word, after in zip_longest(command, command[1:], fillvalue=""):
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            yield name.replace("-", "_"), value if equals else after


def named_values(command: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Every value with the name that it is given: of flags and of Hydra's overrides (`++name=value`, hydra.cc "Basic override
    syntax"). A word that has no name has an empty one; the value of a flag comes once, with the flag's."""
    of_flag = ""
    for word in command:
        if word.startswith("-") and not re.fullmatch(r"-[\d.e+-]+", word):
            name, equals, value = word.partition("=")
            of_flag = "" if equals else name.lstrip("-").replace("-", "_")
            if equals:
                yield name.lstrip("-").replace("-", "_"), value
            continue
        name, equals, value = word.partition("=")
        is_override = equals and re.fullmatch(r"\+{0,2}[\w.@/-]+", name) is not None and not name.startswith(("/", "."))
        yield (name.lstrip("+"), value) if is_override else (of_flag, word)
        of_flag = ""


def listed(value: str) -> tuple[str, ...]:
    """The items of a value: of a list in brackets, with or without quotes, else the value itself without its quotes."""
    value = value.strip()
    if not (value.startswith("[") and value.endswith("]")):
        return (value.strip("'\""),)
    return tuple((single or double or bare).strip() for single, double, bare in _PIECE.findall(value[1:-1]))
