"""The stacks of 8 to 64 ranks, dumped without stopping one of them: how long it takes, and what it costs.

py-spy uses some 13 ms of a core for each process, most of it to read the interpreter's symbols; so the wall time is that of the
machine's other load, the processor time is not."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from statistics import median

from hangtop.probe.stacks.stack_source import take_stacks
from tests.bench.options import Options
from tests.bench.row import Row, slopes
from tests.fakes.processes import running

RUNS = 3
RANK = "import time\nprint('up', flush=True)\ndef waits_in_all_reduce():\n    time.sleep(600)\nwaits_in_all_reduce()"
BUDGET_S = {8: None, 16: 0.5, 32: None, 64: 2.0}


def rows(options: Options) -> Iterator[Row]:
    costs: dict[int, float] = {}
    for ranks, budget_s in BUDGET_S.items():
        with ExitStack() as ends:
            started = [ends.enter_context(running(sys.executable, "-c", RANK, stdout=subprocess.PIPE)) for _ in range(ranks)]
            for process in started:
                assert process.stdout is not None
                process.stdout.readline()
            pids = [process.pid for process in started]
            looks, used = [], []
            for _ in range(RUNS):
                before = _processor_s()
                looks.append(list(take_stacks(pids, time.time(), stop={})))
                used.append(_processor_s() - before)
        read = sum(bool(stack.threads) for part in looks[0] for stack in part.stacks)
        took = median(part.took_s for look in looks for part in look if part.took_s is not None)
        yield Row(f"stacks of {ranks} ranks ({read} read)", took, "s", budget_s)
        costs[ranks] = median(used)
        yield Row("the same: processor time, of hangtop and py-spy", costs[ranks], "s")
    yield from slopes(costs, "a rank")


def _processor_s() -> float:
    """Of this process, and of its children that have ended."""
    return sum(
        used.ru_utime + used.ru_stime for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )
