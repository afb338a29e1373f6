"""The token of Ray's authentication (since 2.52), looked for where Ray looks. It is never shown, logged, recorded or bundled."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

VARIABLE, PATH_VARIABLE, DEFAULT_PATH = "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", ".ray/auth_token"
LONGEST = 4_096


class Token:
    """Keeps its text to itself, also when it is printed."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return "Token(hidden)"

    def header(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._text}"}


def find_token(owner: int | None, environ_of_raylet: Callable[[], Mapping[str, str]]) -> Token | None:
    """The token to answer a challenge of this cluster with.

    `owner`: user id of the cluster's processes here, `None` for a cluster that the person named by its address. Our own token
    goes only to a cluster of our own, or one that was named: another user's dashboard must not learn it.
    """
    text = next(_candidates(owner, environ_of_raylet), None)
    return None if text is None else Token(text)


def _candidates(owner: int | None, environ_of_raylet: Callable[[], Mapping[str, str]]) -> Iterator[str]:
    if owner in (None, os.geteuid()):
        yield from _of_user(os.environ, Path.home())
    if owner is not None and os.geteuid() in (0, owner):
        yield from _of_user(environ_of_raylet(), _home_of(owner))


def _of_user(environ: Mapping[str, str], home: Path) -> Iterator[str]:
    if text := environ.get(VARIABLE, "").strip():
        yield text
    for path in (environ.get(PATH_VARIABLE), home / DEFAULT_PATH):
        if path and (text := _read(Path(path))):
            yield text


def _read(path: Path) -> str:
    try:
        with path.open(encoding="ascii") as file:
            text = file.read(LONGEST).strip()
    except (OSError, ValueError):  # no file, no right, no text: then there is no token to be found here
        return ""
    return text if text.isprintable() else ""


def _home_of(uid: int) -> Path:
    try:
        return Path(pwd.getpwuid(uid).pw_dir)
    except KeyError:  # a user id without a name, as in containers
        return Path("/nonexistent")
