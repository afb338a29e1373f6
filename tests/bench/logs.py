"""Big logs for the benchmarks: real bytes all through, no holes, written fast, deleted with their folder."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from hangtop.feeds.probe_feed import HEAP
from tests.fakes.genlog import generate

BLOCK_BYTES = 16_000_000
LAST = "the-last-line-of-the-log"


@contextmanager
def scratch() -> Iterator[Path]:
    with TemporaryDirectory(prefix="hangtop-bench-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def write_log(path: Path, size: int, mix: str = "train", last: str = LAST) -> Path:
    """At least `size` bytes of a generated run; the text of one block again and again, a last line that can be waited for."""
    block = b"".join(generate(min(size, BLOCK_BYTES), mix=mix))
    with path.open("wb") as file:
        while file.tell() < size:
            file.write(block)
        file.write(f"[rank0]: {last}\n".encode())
    return path


def write_healthy_log(path: Path, ranks: int = 8, steps: int = 600) -> Path:
    """A run in which nobody lags, a step a second up to now: nothing on the screen has a reason to change."""
    began = time.time() - steps
    with path.open("w") as file:
        for step in range(steps):
            stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(began + step))
            file.writelines(f"[rank{rank}]: {stamp} INFO train step {step}/50000 loss=1.5000\n" for rank in range(ranks))
        file.write(f"[rank0]: {LAST}\n")
    return path


def in_words(size: int) -> str:
    return f"{size / 1e9:g} GB" if size >= 10**9 else f"{size / 1e6:g} MB"


def in_child(work: Callable[..., Any], *args: object) -> Any:
    """The result of `work` in a fresh process with a heap as the probe has it: memory and CPU are its own."""
    with patch.dict(os.environ, HEAP), ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *args).result()
