"""How fast a log is read, in CPU time, beside ripgrep with the same literals.

Goals: catch-up at most 1.33 × the CPU of `rg -c -F`, a million lines a second on metrics alone, 200 MB/s on a storm
of errors and on bars alone. Without ripgrep on the PATH the ratio is left out.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from hangtop.logs.catalog.load import load
from hangtop.logs.digest import Digest
from hangtop.logs.extract.literal_index import LiteralIndex
from tests.bench.logs import in_child, scratch
from tests.bench.options import Options
from tests.bench.row import Row
from tests.fakes.genlog import generate

CHUNK = 1 << 20
RUNS = 3
MOST_BYTES = 100_000_000
MIXES = {
    "train": "a run's log",
    "quiet": "a log without NCCL",
    "metrics": "metrics of ranks only",
    "lone": "metrics of one process only",
    "said": "metrics that name their rank at the end only",
    "bars": "bars only",
    "storm": "an error storm",
}
STEPS = {"metrics": 1.0, "lone": 1.0, "said": None}
"""Millions of lines a second that are the goal, of logs that hold step lines alone."""


@cache
def _index() -> LiteralIndex:
    return LiteralIndex(load())


def digest_s(path: Path) -> float:
    """CPU seconds to digest a file from its start to its end, the least of some."""
    return min(_digest_s(path) for _ in range(RUNS))


def _digest_s(path: Path) -> float:
    index, begun = _index(), time.process_time()
    digest = Digest(index, 0)
    with path.open("rb", buffering=0) as file:
        while data := file.read(CHUNK):
            digest.feed(data)
    digest.facts()
    return time.process_time() - begun


def ripgrep_s(rg: str, literals: Path, path: Path) -> float:
    """CPU seconds of `rg -c -F` with the same literals."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([rg, "-c", "-F", "-f", str(literals), str(path)], stdout=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rows(options: Options) -> Iterator[Row]:
    index, size = _index(), min(options.size, MOST_BYTES)
    rg = shutil.which("rg") or shutil.which("rg", path=str(Path(sys.executable).parent))
    with scratch() as folder:
        literals, log = folder / "literals", folder / "train.log"
        said = frozenset(index.only_detects)
        literals.write_bytes(b"\n".join(text for number, text in enumerate(index.scanner.literals) if number not in said))
        for mix, what in MIXES.items():
            data = b"".join(generate(size, mix=mix))
            log.write_bytes(data)
            took = in_child(digest_s, log)
            if mix in STEPS:
                yield Row(f"read {what}: lines", data.count(b"\n") / 1e6 / took, "M/s", STEPS[mix], at_least=True)
            budget = 200 if mix in ("storm", "bars") else None
            yield Row(f"read {what}: bytes", len(data) / 1e6 / took, "MB/s", budget, at_least=True)
            if rg:
                grep = min(ripgrep_s(rg, literals, log) for _ in range(RUNS))
                yield Row(f"read {what}: CPU over `rg -c -F`, same literals", took / grep, "x", 1.33 if mix == "train" else None)
