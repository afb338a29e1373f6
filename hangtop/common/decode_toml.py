"""TOML decoded into records: the one decoder for hangtop's own tables and for the files of its users.

TOML parsers give values without their places, so the line of a wrong key is found by walking its path through the text.
"""

from __future__ import annotations

import datetime
import re
import threading
from typing import Any, TypeVar

import msgspec
import rtoml

Record = TypeVar("Record")

_LEARNING = threading.Lock()
"""msgspec learns a type when it is first used. Two threads that do so at once, as two sources of a probe or two checks of
`doctor` may, crash with a segmentation fault."""
_UNKNOWN = re.compile(r"unknown field `([^`]+)`")
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+|\.\.\.)\]")


TOO_DEEP = "nested too deep, or a key of too many parts"
MOST_PARTS = 200
"""Of a key. Both parsers need time by the square of these."""


class TomlError(ValueError):
    """A text that is no TOML, or not of the wanted shape: `3: key stage[0].title: what is wrong`, the line first.

    `unknown`: the field that the record does not have, if that is what is wrong."""

    def __init__(self, message: str, unknown: str | None = None) -> None:
        super().__init__(message)
        self.unknown = unknown


def _parsed(text: str) -> dict[str, Any]:
    """The values of a TOML document. Raises `tomllib.TOMLDecodeError` (a `ValueError`), `RecursionError`.

    rtoml reads the catalog in 7 ms, the standard library in 70; what rtoml refuses the standard library reads, or says why."""
    try:
        return rtoml.loads(text)
    except rtoml.TomlParsingError:
        import tomllib

        return tomllib.loads(text)


def _endless_key(text: str) -> int | None:
    """The line of a key of more parts, if there is one; prose has blanks between its dots."""
    if text.count(".") < MOST_PARTS:
        return None
    for number, line in enumerate(text.splitlines(), 1):
        parts = line.partition("=")[0].split(".") if len(line) > 2 * MOST_PARTS else []
        if len(parts) > MOST_PARTS and all(len(part.split()) == 1 for part in parts):
            return number
    return None


def decode_toml(data: str | bytes, shape: type[Record]) -> Record:
    """The record of type `shape` that a TOML document (UTF-8) holds. Raises `TomlError`."""
    text = data if isinstance(data, str) else data.decode("utf-8")
    if (line := _endless_key(text)) is not None:
        raise TomlError(f"{line}: {TOO_DEEP}")
    try:
        values = _parsed(text)
        with _LEARNING:
            return msgspec.convert(values, shape, builtin_types=(datetime.datetime, datetime.date, datetime.time), str_keys=True)
    except msgspec.ValidationError as error:
        raise _located(error, text, shape) from error
    except ValueError as error:
        raise TomlError(f"{_line_of_syntax_error(error, text)}: not valid TOML: {error}") from error
    except RecursionError as error:
        raise TomlError(f"1: {TOO_DEEP}") from error


def _line_of_syntax_error(error: ValueError, text: str) -> int:
    """The line of a syntax error, from its message; an error at the end of the document is on the last line."""
    found = re.search(r"at line (\d+)", str(error))
    return int(found[1]) if found else text.count("\n") + 1


def _located(error: msgspec.ValidationError, text: str, shape: object) -> TomlError:
    what, _, path = str(error).partition(" - at `")
    path = path.rstrip("`") or "$"
    unknown = _UNKNOWN.search(what)
    if unknown:
        path = f"{path}.{unknown[1]}"
    if what.startswith("Invalid enum value") and (known := _words_at(path, msgspec.inspect.type_info(shape))):
        what = f"{what}; known are {', '.join(known)}"
    key = path.removeprefix("$.").removeprefix("$") or "(the file)"
    return TomlError(f"{line_of(text, path)}: key {key}: {what}", unknown[1] if unknown else None)


def _words_at(path: str, kind: msgspec.inspect.Type) -> tuple[str, ...]:
    """The words that may stand there; none where that is not told by the shape."""
    for key, _ in _STEP.findall(path.removeprefix("$")):
        match kind:
            case msgspec.inspect.StructType(fields=fields) if key:
                kind = next((field.type for field in fields if field.encode_name == key), kind)
            case msgspec.inspect.VarTupleType(item_type=item) | msgspec.inspect.ListType(item_type=item) if not key:
                kind = item
            case msgspec.inspect.DictType(value_type=value):
                kind = value
    kinds = kind.types if isinstance(kind, msgspec.inspect.UnionType) else (kind,)
    return tuple(str(word) for each in kinds if isinstance(each, msgspec.inspect.LiteralType) for word in each.values)


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
