"""Runs a module of hangtop as a child: in a session of its own, so that no key in our terminal and no end of ours reaches it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import IO


def hangtop_command(module: str, *words: str) -> tuple[str, ...]:
    """The arguments that run this module in our own Python."""
    return (sys.executable, "-m", module, *words)


def start_hangtop(
    module: str,
    *words: str,
    stdin: int | IO[bytes] = subprocess.DEVNULL,
    stdout: int | IO[bytes] = subprocess.DEVNULL,
    stderr: int | IO[bytes] = subprocess.DEVNULL,
) -> subprocess.Popen[bytes]:
    """The child. Raises `OSError`."""
    return subprocess.Popen(hangtop_command(module, *words), stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True)


def debug_file() -> IO[bytes]:
    """Where children write their errors: the file that HANGTOP_DEBUG names, else nowhere."""
    return Path(os.environ.get("HANGTOP_DEBUG", os.devnull)).open("ab")
