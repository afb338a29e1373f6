"""How each run was started, stored on this machine to start it again. Folder 0700, files 0600."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from hangtop.common import clock
from hangtop.common.own_files import own_files
from hangtop.common.raw_text import bytes_of, from_os, text_of
from hangtop.records.launch import Launch
from hangtop.system.own_folders import state_folder

KEPT = 50
"""How many launches are kept."""
PLAN_LASTS_S = 3600.0
"""How long a plan may be shown before it is carried out; then environments that only it names are removed."""
OLD_FORM = b'{"'
"""The beginning of an environment that an older hangtop stored as JSON."""


def place() -> Path:
    """The folder of the store, which may not exist."""
    return state_folder() / "runs"


def folder() -> Path:
    """The same, created if need be. Raises `OSError`."""
    found = place()
    found.mkdir(mode=0o700, parents=True, exist_ok=True)
    return found


def keep_environ(environ: Mapping[str, str]) -> str:
    """Store an environment (raw text, see `hangtop.common.raw_text`) byte by byte as in /proc/PID/environ, for a launch or plan
    that names the returned path. Raises `OSError`."""
    _forget_environs()
    data = b"\0".join(bytes_of(f"{name}={value}") for name, value in environ.items())
    return str(write_whole(folder() / f"{os.urandom(8).hex()}.environ", data))


def discard(environ_files: Iterable[str]) -> None:
    """Remove the environments of a plan that is finished or given up, except those that a launch names. Raises `OSError`."""
    paths = tuple(environ_files)
    named = _named() if paths else set()
    for path in paths:
        if os.path.basename(path) not in named:
            Path(path).unlink(missing_ok=True)


def environ_of(path: str) -> dict[str, str]:
    """The stored environment as raw text. Raises `OSError` if missing, `msgspec.DecodeError` if broken."""
    data = Path(path).read_bytes()
    if data.startswith(OLD_FORM):
        return msgspec.json.decode(data, type=dict[str, str])
    pairs = (text_of(entry).partition("=") for entry in data.split(b"\0") if b"=" in entry)
    return {name: value for name, _, value in pairs}


def keep(launch: Launch) -> None:
    """Store a launch, or what became of it; the oldest ones go. Raises `OSError`."""
    write_whole(folder() / f"{launch.pid}-{launch.start_ticks}.launch", msgspec.json.encode(launch))
    files = sorted(folder().glob("*.launch"), key=lambda path: path.stat().st_mtime)
    for path in files[:-KEPT]:
        path.unlink(missing_ok=True)
    _forget_environs()


def latest(output: str) -> Launch | None:
    """The last launch with this output or log (a real path)."""
    wanted = from_os(output)
    known = [launch for launch in _all() if wanted in (launch.output, *launch.logs)]
    return max(known, key=lambda launch: launch.started_at, default=None)


def of_process(pid: int, start_ticks: int) -> Launch | None:
    """The launch of this process, if it is known."""
    return next((launch for launch in _all() if (launch.pid, launch.start_ticks) == (pid, start_ticks)), None)


def _all() -> list[Launch]:
    found = []
    for path in own_files(place(), ".launch"):
        try:
            found.append(msgspec.json.decode(path.read_bytes(), type=Launch))
        except (OSError, msgspec.DecodeError):  # just being removed, or of another version
            continue
    return found


def _forget_environs() -> None:
    """Remove environments that no launch names, and that are too old for a plan on a screen."""
    named = _named()
    for path in folder().glob("*.environ"):
        with contextlib.suppress(FileNotFoundError):  # another hangtop removes it too
            if path.name not in named and clock.now() - path.stat().st_mtime > PLAN_LASTS_S:
                path.unlink()


def _named() -> set[str]:
    return {os.path.basename(launch.environ_file) for launch in _all()}


def write_whole(path: Path, data: bytes) -> Path:
    """Write a file whole or not at all, readable by its owner alone. Raises `OSError`."""
    draft = path.with_name(f"{path.name}.{os.urandom(4).hex()}.new")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        os.replace(draft, path)
    except BaseException:  # such as a full disk: half an environment would be a secret that is never removed
        draft.unlink(missing_ok=True)
        raise
    return path
