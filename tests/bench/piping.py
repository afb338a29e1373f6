"""A run that writes into hangtop's pipe as fast as it can: how long it takes beside `cat >/dev/null`, and what is kept of it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.bench.logs import in_words, scratch
from tests.bench.options import Options
from tests.bench.row import Row

WRITER = "yes '[rank0]: step 12/400 loss 2.0' | { head -c %d; date +%%s.%%N >%s; } | "
HANGTOP = f"{sys.executable} -m hangtop --plain --log - --sources log"
ROUNDS = 3


def rows(options: Options) -> Iterator[Row]:
    with scratch() as folder:
        ended = folder / "ended"
        plain = [_writer_s("cat >/dev/null", options.size, ended) for _ in range(ROUNDS)]
        watched = [_writer_s(f"{HANGTOP} >{folder}/said", options.size, ended) for _ in range(ROUNDS)]
        what = f"{in_words(options.size)} into a pipe"
        yield Row(f"{what}: cat >/dev/null", min(plain), "s")
        yield Row(f"{what}: hangtop --log -", min(watched), "s")
        yield Row(f"{what}: the writer's time, hangtop to cat", min(watched) / min(plain), "x", 1.3)


def _writer_s(reader: str, size: int, ended: Path) -> float:
    """Until the writer has written all, not until its reader has read it."""
    began = time.time()
    subprocess.run(["bash", "-c", WRITER % (size, ended) + reader], check=True)
    return float(ended.read_text()) - began
