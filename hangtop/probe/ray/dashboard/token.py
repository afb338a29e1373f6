"""The token of Ray's authentication (since 2.52), looked for where Ray looks. It is never shown, logged, recorded or bundled."""

from __future__ import annotations

import os
import pwd
import stat as modes
from collections.abc import Iterator, Mapping
from pathlib import Path

VARIABLE, PATH_VARIABLE, DEFAULT_PATH = "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", ".ray/auth_token"
LONGEST = 4_096


class AuthToken:
    """Never shows its text, also when printed."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return "Token(hidden)"

    def header(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._text}"}


def find_token(owner: int | None, environ_of_raylet: Mapping[str, str]) -> AuthToken | None:
    """The token for this cluster: from the raylet's environment, else from ours, else from the file in a home, which any later
    `ray.init()` may have written (Ray 2.59 and later).

    `owner`: user id of the cluster's processes here; `None` for a cluster that a person named by its address. Our own token goes
    only to our own cluster or a named one. For root, a file that the cluster's environment names counts only if it belongs to the
    cluster's owner, else any user could have root read any file.
    """
    fit = (AuthToken(text) for text in _candidates(owner, environ_of_raylet) if text.isascii() and text.isprintable())
    return next(fit, None)


def _candidates(owner: int | None, raylet: Mapping[str, str]) -> Iterator[str]:
    homes = []
    if owner is not None and os.geteuid() in (0, owner):
        theirs = owner if owner != os.geteuid() else None
        yield from _of_variables(raylet, theirs)
        homes.append((Path(raylet["HOME"]) if "HOME" in raylet else _home_of(owner), theirs))
    if owner in (None, os.geteuid()):
        yield from _of_variables(os.environ, None)
        homes.append((Path.home(), None))
    yield from filter(None, (_read(home / DEFAULT_PATH, theirs) for home, theirs in homes))


def _of_variables(environ: Mapping[str, str], theirs: int | None) -> Iterator[str]:
    if text := environ.get(VARIABLE, "").strip():
        yield text
    if (path := environ.get(PATH_VARIABLE)) and (text := _read(Path(path), theirs)):
        yield text


def _read(path: Path, theirs: int | None) -> str:
    """The token in this file. `theirs`: the user who must own it, if we may read more than that user."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            found = os.fstat(fd)
            if not modes.S_ISREG(found.st_mode) or theirs not in (None, found.st_uid):
                return ""
            return os.read(fd, LONGEST).decode("ascii").strip()
        finally:
            os.close(fd)
    except (OSError, ValueError):  # no file, no right, no text: then there is no token to be found here
        return ""


def _home_of(uid: int) -> Path:
    try:
        return Path(pwd.getpwuid(uid).pw_dir)
    except KeyError:  # a user id without a name, as in containers
        return Path("/nonexistent")
