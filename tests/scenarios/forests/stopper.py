"""What `hangtop stop --log LOG` does, with a shorter grace: the plan, or its steps, as JSON into a file."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

from msgspec.structs import replace

from hangtop.actions.execute.client import own_process
from hangtop.actions.execute.executor import execute
from hangtop.actions.plans import stop_plan
from hangtop.feeds.probe_feed import ProbeFeed
from hangtop.monitor.headless import processes_of
from hangtop.records.plan import Plan
from hangtop.records.watch_spec import WatchSpec
from hangtop.system.processes.linux import TICKS_PER_S
from hangtop.system.processes.open_table import open_table

GRACE_S = 2.0


def main() -> None:
    log, word, answer = sys.argv[1:]
    plan = stop_plan.stop_plan(asyncio.run(processes_of(ProbeFeed(WatchSpec(logs=(log,))))), own_process())
    targets = [(target.pid, target.start_ticks) for target in plan.targets] if isinstance(plan, Plan) else []
    steps = list(execute(replace(plan, grace_s=GRACE_S), open_table())) if isinstance(plan, Plan) and word == "stop" else []
    told = {
        "refused": None if isinstance(plan, Plan) else plan.why,
        "targets": targets,
        "ended_ticks": int((time.clock_gettime(time.CLOCK_BOOTTIME) - 0.3) * TICKS_PER_S),
        "steps": [{"kind": step.kind, "text": step.text, "pid": step.pid, "start_ticks": step.start_ticks} for step in steps],
    }
    Path(answer).write_text(json.dumps(told))


if __name__ == "__main__":
    main()
