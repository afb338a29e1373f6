"""The asserts of all test files are rewritten once, by the process that starts the workers: else each of them rewrites them all
in a fresh checkout, at the same moment."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from _pytest.assertion import rewrite

HERE = Path(__file__).parent


def rewrite_for_workers(config: pytest.Config) -> None:
    """On all cores. Does nothing without workers, or where Python may write no bytecode."""
    if sys.dont_write_bytecode or hasattr(config, "workerinput") or not getattr(config.option, "numprocesses", None):
        return
    files = sorted((*HERE.rglob("test_*.py"), *HERE.rglob("conftest.py")))
    cores = os.cpu_count() or 1
    children = [_child(files[number::cores], config) for number in range(cores)]
    for pid in children:
        os.waitpid(pid, 0)


def _child(files: list[Path], config: pytest.Config) -> int:
    if (pid := os.fork()) == 0:
        try:
            for file in files:
                _rewrite(file, config)
        finally:
            os._exit(0)  # a file that cannot be read is told by who collects it
    return pid


def _rewrite(file: Path, config: pytest.Config) -> None:
    cached = rewrite.get_cache_dir(file) / (file.stem + rewrite.PYC_TAIL)
    if rewrite.try_makedirs(cached.parent) and rewrite._read_pyc(file, cached) is None:
        found, code = rewrite._rewrite_test(file, config)
        rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, found, cached)
