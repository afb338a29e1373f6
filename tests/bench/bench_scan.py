"""How fast a log is read, in CPU time, beside ripgrep with the same literals: `python -m tests.bench.bench_scan --size 200M`.

Goals (design §9): catch-up at most 1.33 × the CPU of `rg -c -F`, a million lines a second on metrics alone, 200 MB/s on a storm
of errors and on bars alone. Without ripgrep on the PATH the ratio is left out.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from hangtop.logs.catalog import load
from hangtop.logs.digest import Digest
from hangtop.logs.index import Index
from tests.fakes.genlog import generate, size_of

CHUNK = 1 << 20
RUNS = 3


def digest_s(index: Index, path: Path) -> float:
    """CPU seconds to digest a file from its start to its end."""
    begun = time.process_time()
    digest = Digest(index, 0)
    with path.open("rb", buffering=0) as file:
        while data := file.read(CHUNK):
            digest.feed(data)
    digest.facts()
    return time.process_time() - begun


def scan_s(index: Index, data: bytes) -> float:
    """CPU seconds of the scan for literals alone."""
    hits = index.finder(frozenset())
    begun = time.process_time()
    for start in range(0, len(data), CHUNK):
        hits(data[start : start + CHUNK])
    return time.process_time() - begun


def ripgrep_s(rg: str, literals: Path, path: Path) -> float:
    """CPU seconds of `rg -c -F` with the same literals."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([rg, "-c", "-F", "-f", str(literals), str(path)], stdout=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", default="100M")
    args = parser.parse_args()
    index = Index(load())
    rg = shutil.which("rg") or shutil.which("rg", path=str(Path(sys.executable).parent))
    print(f"{len(index.scanner.literals)} literals, {args.size} each, CPU time, best of {RUNS}")
    print(f"{'mix':10}{'MB/s':>8}{'Mlines/s':>10}{'scan MB/s':>11}{'rg MB/s':>9}{'CPU / rg':>10}")
    with TemporaryDirectory() as folder:
        literals, log = Path(folder, "literals"), Path(folder, "train.log")
        said = frozenset(index.only_detects)
        literals.write_bytes(b"\n".join(text for number, text in enumerate(index.scanner.literals) if number not in said))
        for mix in ("train", "quiet", "metrics", "bars", "storm"):
            data = b"".join(generate(size_of(args.size), mix=mix))
            log.write_bytes(data)
            took = min(digest_s(index, log) for _ in range(RUNS))
            scan = scan_s(index, data)
            grep = min(ripgrep_s(rg, literals, log) for _ in range(RUNS)) if rg else None
            megabytes, lines = len(data) / 1e6, data.count(b"\n") / 1e6
            ratio = f"{megabytes / grep:9.0f}{took / grep:10.2f}" if grep else f"{'-':>9}{'-':>10}"
            print(f"{mix:10}{megabytes / took:8.0f}{lines / took:10.2f}{megabytes / scan:11.0f}{ratio}")


if __name__ == "__main__":
    main()
