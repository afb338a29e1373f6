"""Where in a TOML text a key stands. TOML parsers give values without their places, so the path of a wrong key is walked here."""

from __future__ import annotations

import re

import msgspec

_UNKNOWN = re.compile(r"unknown field `([^`]+)`")
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+|\.\.\.)\]")


def line_of_syntax_error(error: Exception, text: str) -> int:
    """The line of a syntax error, from its message; an error at the end of the document is on the last line."""
    found = re.search(r"at line (\d+)", str(error))
    return int(found[1]) if found else text.count("\n") + 1


def located(error: Exception, text: str) -> str:
    """`3: key stage[0].title: what is wrong`, of an error of msgspec or of the TOML parser."""
    if not isinstance(error, msgspec.ValidationError):
        return f"{line_of_syntax_error(error, text)}: not valid TOML: {error}"
    what, _, path = str(error).partition(" - at `")
    path = path.rstrip("`") or "$"
    if unknown := _UNKNOWN.search(what):
        path = f"{path}.{unknown[1]}"
    return f"{line_of(text, path)}: key {path.removeprefix('$.').removeprefix('$') or '(the file)'}: {what}"


def line_of(text: str, path: str) -> int:
    """The line (from 1) that `path` points to, such as `$.stage[2].enter[0].regex`; the nearest enclosing one when the key
    itself is missing."""
    lines = text.splitlines()
    at, end = 0, len(lines)
    table = ""
    steps = _STEP.findall(path.removeprefix("$"))
    for position, (key, index) in enumerate(steps):
        if key:
            follower = steps[position + 1][1] if position + 1 < len(steps) else ""
            dotted = f"{table}.{key}" if table else key
            header = re.compile(rf"\s*\[\[?\s*{re.escape(dotted)}\s*\]\]?")
            if any(header.match(line) for line in lines[at:end]):
                table = dotted
                at, end = _table(lines, at, end, header, int(follower) if follower.isdigit() else 0)
                continue
            found = _first(lines, at, end, re.compile(rf'.*?(?:^|[\s{{,])"?{re.escape(key)}"?\s*='))
            if found is None:
                break
            at = found
        elif index.isdigit() and not re.match(r"\s*\[", lines[at]):
            at = _item(lines, at, end, int(index))
    return min(at, max(len(lines) - 1, 0)) + 1


def _first(lines: list[str], at: int, end: int, pattern: re.Pattern[str]) -> int | None:
    return next((n for n in range(at, end) if pattern.match(lines[n])), None)


def _table(lines: list[str], at: int, end: int, header: re.Pattern[str], index: int) -> tuple[int, int]:
    heads = [n for n in range(at, end) if header.match(lines[n])]
    start = heads[min(index, len(heads) - 1)]
    return start, heads[index + 1] if index + 1 < len(heads) else end


def _item(lines: list[str], at: int, end: int, index: int) -> int:
    """The line of item `index` of an array of inline tables, written one a line; `at` when it is written otherwise."""
    items = [n for n in range(at + 1, end) if re.match(r"\s*[{\"']", lines[n])]
    return items[index] if index < len(items) else at
