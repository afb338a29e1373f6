"""Daemons of Ray whose cluster is gone from this machine: neither its GCS nor a raylet lives here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hangtop.probe.ray.local.daemons import daemon_of
from hangtop.probe.ray.local.session_files import SESSION_LOG
from hangtop.probe.ray.local.session_owners import LEADING
from hangtop.system.processes.roles import role_by_name
from hangtop.system.processes.table import OpenFile


def is_daemon(command: Sequence[str]) -> bool:
    """Whether this is the command line of a daemon of Ray."""
    return bool(command) and (role_by_name("", command) == "ray daemon" or daemon_of(command) is not None)


def lost_daemons(
    daemons: Mapping[int, Sequence[str]], files: Mapping[int, tuple[OpenFile, ...]], commands: Iterable[Sequence[str]]
) -> set[int]:
    """The daemons without a living GCS or raylet. `commands`: of all processes that may be a GCS or raylet.

    The command line and open log of a daemon tell its session; without both it does not count as lost.
    """
    leading = [daemon for words in commands if words and (daemon := daemon_of(words)) and daemon.kind in LEADING]
    folders = {daemon.folder for daemon in leading if daemon.folder}
    placed = {daemon.gcs_address for daemon in leading if daemon.folder}
    elsewhere = {daemon.gcs_address for daemon in leading if not daemon.folder} - placed
    lost = set()
    for pid, words in daemons.items():
        folder, address = _session_of(words, files.get(pid, ()))
        known = folder not in folders and address not in elsewhere if folder else address not in placed | elsewhere
        if (folder or address) and known:
            lost.add(pid)
    return lost


def _session_of(words: Sequence[str], held: Iterable[OpenFile]) -> tuple[str | None, str | None]:
    """The session's folder and the address of its GCS, as far as known; neither for a GCS or raylet itself."""
    daemon = daemon_of(words)
    if daemon is not None and daemon.kind in LEADING:
        return None, None
    inside = (match["folder"] for file in held if file.writable and (match := SESSION_LOG.fullmatch(file.target)))
    folder = daemon.folder if daemon is not None else None
    return folder or next(inside, None), daemon.gcs_address if daemon is not None else None
