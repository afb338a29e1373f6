"""A node of its own as far as processes go: a PID namespace, with the command that starts a program in it, as ssh would."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from hangtop.system.processes.open_table import open_table
from hangtop.system.processes.tree import children_of, descendants
from tests.fakes.processes import eventually

INTO_NAMESPACES = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child")


@cache
def _permitted() -> bool:
    try:
        return subprocess.run((*INTO_NAMESPACES, "true"), capture_output=True, timeout=30, check=False).returncode == 0
    except OSError:
        return False


needs_namespaces = pytest.mark.skipif(
    not sys.platform.startswith("linux") or not _permitted(), reason="needs unshare(1) and user namespaces"
)


@contextmanager
def node(*program: str, environ: Mapping[str, str], log: Path) -> Iterator[str]:
    """Runs `program` on such a node, and gives the launcher that reaches it: for `--launcher`."""
    with log.open("wb") as out:
        outside = subprocess.Popen((*INTO_NAMESPACES, *program), env=environ, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        inside = eventually(lambda: _inside(outside.pid), "a process in the namespace")
        yield f"nsenter --target {inside} --user --pid --mount --preserve-credentials -- env NODE={{host}} {{probe}}"
    finally:
        outside.kill()
        outside.wait()


def _inside(pid: int) -> int | None:
    table = open_table()
    table.refresh(())
    below = descendants(children_of(table.stats), pid)[1:]
    return below[0] if below else None
