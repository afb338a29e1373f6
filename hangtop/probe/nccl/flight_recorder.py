"""torch's flight recorder: files with the last collectives of each rank.

The files are pickles, which can run any code. They are read with an unpickler without classes: real dumps (torch 2.13, gloo) hold
only lists, dicts, strings and numbers.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hangtop.common.clean_text import clean_text
from hangtop.records.nccl import FlightDump, FlightGroup

MAX_BYTES = 64_000_000
MOST_GROUPS, LONGEST_WORD, LONGEST_NUMBER = 1_024, 400, 19
NAMES = ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")
"""Variables with the beginning of the path; the rank is appended (torch 2.13 and before)."""
PIPES = ("TORCH_NCCL_DEBUG_INFO_PIPE_FILE",)
"""Variables with the beginning of the path of the FIFO; `<rank>.pipe` is appended."""


class NotADump(ValueError):
    """Not a dump, or one that asks for more than plain data. The message is one line."""


def load(data: bytes) -> dict[str, Any]:
    """The dump as plain data. Raises `NotADump`."""
    from hangtop.probe.nccl.plain_unpickler import Refused, plain

    try:
        loaded = plain(data)
    except Refused as error:
        raise NotADump(str(error)) from error
    except Exception as error:  # a broken pickle raises nearly anything (pickle docs); all of it means the same here
        raise NotADump(f"cannot be read: {type(error).__name__}: {clean_text(str(error))[:200]}") from error
    if not isinstance(loaded, dict) or "entries" not in loaded:
        raise NotADump("a pickle, but no flight recorder dump")
    return loaded


def groups(dump: Mapping[str, Any], backend: str = "") -> tuple[FlightGroup, ...]:
    """The process groups of a dump with their sequence numbers, and the last collective of each. `backend`: that of a group of
    which no collective is told."""
    status = {str(key): value for key, value in _mapping(dump.get("pg_status")).items()}
    last: dict[str, Mapping[str, Any]] = {}
    names: dict[str, str] = {}
    for entry in _entries(dump):
        if not entry.get("is_p2p"):
            group = entry.get("process_group")
            words = [str(word) for word in group] if isinstance(group, (tuple, list)) else []
            key = words[0] if words else str(entry.get("pg_id", ""))
            last[key], names[key] = entry, words[1] if len(words) > 1 else ""
    keys = sorted({*status, *last})[:MOST_GROUPS]
    return tuple(_group(key, names.get(key, ""), _mapping(status.get(key)), last.get(key), backend) for key in keys)


def _group(key: str, name: str, status: Mapping[str, Any], entry: Mapping[str, Any] | None, backend: str) -> FlightGroup:
    enqueued = _number(status.get("last_enqueued_collective"))
    if enqueued is None and entry is not None:
        enqueued = _number(entry.get("collective_seq_id"))
    called, _, operation = _text(entry.get("profiling_name")).partition(":") if entry else ("", "", "")
    created = _number(entry.get("time_created_ns")) if entry else None
    return FlightGroup(
        id=_text(key),
        name=_text(name),
        enqueued=enqueued,
        completed=_number(status.get("last_completed_collective")),
        operation=operation if called else None,
        state=_text(entry.get("state")) if entry else None,
        sizes=_text(entry.get("input_sizes")) if entry else None,
        backend=called or backend,
        called_at=None if created is None else created / 1e9,
    )


class OwnedDump(Struct, frozen=True):
    """A dump, the owner of its file, and the threads that launched its collectives (pthread_t: addresses in the memory of the
    process that wrote it; since torch 2.5)."""

    dump: FlightDump
    uid: int
    threads: frozenset[int] = frozenset()


def read(path: Path, rank: int) -> OwnedDump | None:
    """The dump in this file; `None` while it is empty. Raises `OSError`."""
    about = path.stat()
    if about.st_size == 0:
        return None
    dump = FlightDump(rank, clean_text(str(path)), about.st_mtime)
    if not stat.S_ISREG(about.st_mode):
        return OwnedDump(replace(dump, problem="no regular file"), about.st_uid)
    if about.st_size > MAX_BYTES:
        return OwnedDump(replace(dump, problem=f"larger than {MAX_BYTES // 1_000_000} MB"), about.st_uid)
    try:
        loaded = load(path.read_bytes())
    except NotADump as error:
        return OwnedDump(replace(dump, problem=str(error)), about.st_uid)
    return OwnedDump(replace(dump, groups=groups(loaded)), about.st_uid, _threads(loaded))


def _threads(dump: Mapping[str, Any]) -> frozenset[int]:
    said = (str(entry.get("thread_id", "")) for entry in _entries(dump))
    return frozenset(int(number) for number in said if number.isdecimal() and int(number) > 0)


def beginnings(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Paths of a rank's dumps without its number: by its environment, and torch's defaults."""
    found = {environ[name]: None for name in NAMES if environ.get(name)}
    home = environ.get("HOME", "")
    cache = environ.get("XDG_CACHE_HOME") or (f"{home}/.cache" if home else "")
    return (*found, "/tmp/nccl_trace_rank_", *([f"{cache}/torch/comm_lib_trace_rank_"] if cache else []))


def request(fifo: str) -> bool:
    """Ask one rank for its dump by a byte into its FIFO (torch 2.13); true if a process reads the FIFO. Never waits, and writes
    into nothing but an existing FIFO."""
    try:
        opened = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:  # no FIFO, no reader, or no permission
        return False
    try:
        return stat.S_ISFIFO(os.fstat(opened).st_mode) and os.write(opened, b"1") == 1
    except OSError:  # full: it was asked already
        return False
    finally:
        os.close(opened)


def _entries(dump: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = dump.get("entries")
    return [entry for entry in found if isinstance(entry, Mapping)] if isinstance(found, (list, tuple)) else []


def _text(value: Any) -> str:
    return clean_text(str(value or "")[:LONGEST_WORD])


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _number(value: Any) -> int | None:
    """A count; JSON has it as text."""
    if isinstance(value, str):
        return int(value) if value.isdecimal() and len(value) <= LONGEST_NUMBER else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
