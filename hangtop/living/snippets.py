"""The questions with a name: a file of Python each, whose docstring says what it tells and which arguments it knows.
A person's own ones lie in the folder `snippets` beside the config."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from msgspec import Struct

from hangtop.common.own_files import own_files

FOLDER, OWN_FOLDER = "questions", "snippets"


class Snippet(Struct, frozen=True):
    """`says`: the first line of its docstring. `own`: a file of the person."""

    name: str
    says: str
    code: str
    own: bool = False


class SnippetError(ValueError):
    """A file that is no snippet; the message names it and says why."""


def snippets(config_dir: Path | None) -> dict[str, Snippet]:
    """By name, a person's own in place of ours. Raises `SnippetError`."""
    ours = (entry for entry in (files("hangtop.living") / FOLDER).iterdir() if entry.name.endswith(".py"))
    found = {snippet.name: snippet for entry in ours for snippet in [_snippet(entry.name, entry.read_text(), own=False)]}
    return found | {snippet.name: snippet for snippet in _own(config_dir)}


def _own(config_dir: Path | None) -> Iterator[Snippet]:
    folder = config_dir / OWN_FOLDER if config_dir is not None else None
    for path in own_files(folder, ".py") if folder is not None else ():
        try:
            yield _snippet(path.name, path.read_text(), own=True)
        except (OSError, UnicodeDecodeError) as error:
            raise SnippetError(f"{path}: {error}") from error


def _snippet(file: str, code: str, *, own: bool) -> Snippet:
    try:
        says = ast.get_docstring(ast.parse(code)) or ""
    except (SyntaxError, ValueError) as error:
        raise SnippetError(f"{file}: {error}") from error
    return Snippet(file.removesuffix(".py"), says.partition("\n")[0], code, own)
