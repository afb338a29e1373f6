"""What is done to a log, by the word of a row; any other text is a line that is written to it."""

from __future__ import annotations

import gzip
import os
import time
from collections.abc import Callable
from pathlib import Path

HOLE_BYTES = 50 << 20


def written(log: Path, data: bytes) -> None:
    with log.open("ab") as file:
        file.write(data)


def _renamed(log: Path) -> None:
    log.rename(log.with_suffix(".1"))
    log.touch()


def _hole(log: Path) -> None:
    with log.open("r+b") as file:
        file.truncate(log.stat().st_size + HOLE_BYTES)


def _copied_away(log: Path) -> None:
    log.with_suffix(".log.1").write_bytes(log.read_bytes())
    os.truncate(log, 0)


def _switched(log: Path) -> None:
    other = log.with_name("other.log")
    other.write_text("step:1/9 of another file\n")
    log.unlink()
    log.symlink_to(other.name)


def _made_anew(log: Path) -> None:
    log.unlink()
    log.write_text("step:1/9 of a new file\n")


def _fifo(log: Path) -> None:
    log.unlink()
    os.mkfifo(log)


def _directory(log: Path) -> None:
    log.unlink()
    log.mkdir()


def _loop(log: Path) -> None:
    log.unlink()
    log.symlink_to(log.name)


STEPS: dict[str, Callable[[Path], None]] = {
    "rename": _renamed,
    "truncate": lambda log: os.truncate(log, 0),
    "hole": _hole,
    "remove": lambda log: log.unlink(),
    "forbid": lambda log: log.chmod(0),
    "directory": _directory,
    "loop": _loop,
    "copytruncate": _copied_away,
    "switch": _switched,
    "anew": _made_anew,
    "fifo": _fifo,
    "broken link": lambda log: (log.unlink(), log.symlink_to("nothing.log"))[0],
    "half": lambda log: os.truncate(log, log.stat().st_size // 2),
    "of 1970": lambda log: os.utime(log, (0, 0)),
    "of tomorrow": lambda log: os.utime(log, (time.time() + 86_400,) * 2),
    "no end": lambda log: written(log, b"a line without its end"),
    "crlf": lambda log: written(log, b"step:7/400 with both ends\r\n"),
    "bom": lambda log: written(log, b"\xef\xbb\xbfa line behind a mark of order\n"),
    "nul": lambda log: written(log, b"before\0behind the nul\n"),
    "latin": lambda log: written(log, "müßig in Latin-1\n".encode("latin-1") + b"step:8/400 behind it\n"),
    "surrogates": lambda log: written(log, b"\xed\xa0\x80 half a pair \xf8\x88 no UTF-8\n"),
    "rtl": lambda log: written(log, "turned \u202e around \u2066 and \u200b hidden\n".encode()),
    "wide": lambda log: written(log, "步骤 一 🏃🏽‍♀️ e\u0301 ｆｕｌｌ\n".encode() * 3),
    "clipboard": lambda log: written(log, b"\x1b]52;c;b3duZWQ=\x07\x1b]8;;http://x\x07a link\x1b]8;;\x07 seen\n"),
    "query": lambda log: written(log, b"\x1b[6n\x1b[c\x1bP$q q\x1b\\\x1b[>c asked nothing\n"),
    "bells": lambda log: written(log, b"\x07" * 1_000 + b"rung\n"),
    "backspaces": lambda log: written(log, b"abc\b\b\bxyz\x0c\x0b behind\n"),
    "separators": lambda log: written(log, "one\u2028two\u2029three\x85four\n".encode()),
    "tabs": lambda log: written(log, b"\tcolumn\tcolumn\t" * 40 + b"\n"),
    "many ranks": lambda log: written(log, b"".join(b"[rank%d]: step 3/9\n" % rank for rank in range(4_096))),
    "json": lambda log: written(log, b'{"level":"info","msg":"step 9/400","nested":{"a":[1,2,{"b":null}]}}\n' * 5),
    "deep": lambda log: written(log, b"[" * 50_000 + b"\nstep:9/400 below it\n"),
    "numbers": lambda log: written(log, b"step:99999999999999999999999/400 loss:1e999 lr:-nan\nstep:10/400 loss:nan\n"),
    "gzip": lambda log: log.write_bytes(gzip.compress(b"step:1/4\n" * 1_000)),
    "binary": lambda log: log.write_bytes(bytes(range(256)) * 4_000),
    "escapes": lambda log: written(log, b"bell and title \x07\x1b]0;owned\x07\x1b[2J\x1b[31m\x9b5n\x1bc\n"),
    "long": lambda log: written(log, b"x" * (10 << 20) + b"\n"),
    "flood": lambda log: written(log, b"".join(b"a line of the flood, number %d\n" % number for number in range(400_000))),
    "bar": lambda log: written(log, b"".join(b"\rsaving: %d/40" % number for number in range(41))),
    "utf16": lambda log: written(log, "a line of another encoding\n".encode("utf-16-le") + b"\n"),
}


def take(step: str, log: Path) -> None:
    """One step: its word, or the line itself."""
    STEPS.get(step, lambda log: written(log, f"{step}\n".encode()))(log)
