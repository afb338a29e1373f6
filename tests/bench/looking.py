"""The stacks of 16 and of 64 ranks, dumped without stopping one of them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from statistics import median

from hangtop.sources.stacks import take
from tests.bench.options import Options
from tests.bench.row import Row
from tests.fakes.processes import running

RUNS = 3
RANK = "import time\nprint('up', flush=True)\ndef waits_in_all_reduce():\n    time.sleep(600)\nwaits_in_all_reduce()"
BUDGET_S = {16: 0.5, 64: 2.0}


def rows(options: Options) -> Iterator[Row]:
    for ranks, budget_s in BUDGET_S.items():
        with ExitStack() as stack:
            started = [stack.enter_context(running(sys.executable, "-c", RANK, stdout=subprocess.PIPE)) for _ in range(ranks)]
            for process in started:
                process.stdout.readline()
            pids = [process.pid for process in started]
            looks = [list(take(pids, time.time())) for _ in range(RUNS)]
        read = sum(bool(one.threads) for part in looks[0] for one in part.stacks)
        took = median(part.took_s for look in looks for part in look if part.took_s is not None)
        yield Row(f"stacks of {ranks} ranks ({read} read)", took, "s", budget_s)
