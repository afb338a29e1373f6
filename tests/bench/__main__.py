"""`python -m tests.bench [NAME …]`: runs the benchmarks and prints what was measured beside its budget, one line each.

    --size 1G      of the big log; it is generated, read, and deleted
    --seconds 20   how long a steady state is looked at
    --write        puts the rows into `tests/bench/README.md`, in place of those of the same benchmarks

Bytes, CPU time and counts are robust on a busy machine; wall times are compared with others of the same run. Nothing is asserted:
a busy machine is no fault. Exit code 1 when a budget is missed.
"""

from __future__ import annotations

import argparse
import os
from datetime import date
from importlib import import_module
from pathlib import Path

from tests.bench.options import Options
from tests.bench.row import Row
from tests.fakes.genlog import size_of
from tests.tables import table, write

README = Path(__file__).parent / "README.md"
BENCHES = {
    "paint": "first_paint",
    "scan": "scanning",
    "source": "log_source",
    "follow": "following",
    "fresh": "freshness",
    "idle": "idle",
    "flash": "flash",
    "gpu": "gpu_source",
    "ray": "ray_source",
    "ranks": "rank_steps",
    "scale": "scale",
    "nodes": "nodes",
    "processes": "processes_pane",
    "stacks": "stacks",
    "check": "judging",
    "secrets": "secret_filter",
    "metrics": "metrics",
    "quit": "quitting",
    "pipe": "piping",
    "soak": "soak",
    "query": "querying",
    "timeline": "timeline",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHES)}; all by default")
    parser.add_argument("--size", type=size_of, default=Options.size)
    parser.add_argument("--seconds", type=float, default=Options.seconds)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    if unknown := sorted(set(given.names) - set(BENCHES)):
        parser.error(f"no benchmark is named {', '.join(unknown)}; there are {', '.join(BENCHES)}")
    machine = f"{date.today():%d %B %Y}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    print(machine)
    measured: dict[str, list[Row]] = {}
    for name in given.names or BENCHES:
        measured[name] = []
        for row in import_module(f"tests.bench.{BENCHES[name]}").rows(Options(given.size, given.seconds)):
            measured[name].append(row)
            print(row, flush=True)
        if given.write:
            text = table((f"`{name}`, {machine}", "measured", "budget"), [row.cells for row in measured[name]])
            write(README, name, text)
    return 1 if any(row.verdict == "OVER" for rows in measured.values() for row in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
