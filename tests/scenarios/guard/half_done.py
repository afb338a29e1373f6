"""A guard that is killed (SIGKILL) at one certain moment of a restart by the command of its policy, and started again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.scenarios.guard.unattended import LIMIT_S

MOMENTS = ("stopping", "stopped", "starts", "begun", "started")
"""The stop has its word · it is proven and not written down · that is, and no start · a start is written down and not begun · it
is begun."""
KILLED_AT = """
import asyncio, os, signal, sys
from hangtop.cli.main import main
from hangtop.guard import restart_by_command as restart

moment, part_of, stops = sys.argv.pop(1), restart._part, asyncio.subprocess.Process.communicate

def end(at):
    if at == moment:
        os.kill(os.getpid(), signal.SIGKILL)

def part(name, course):
    end(name)
    return part_of(name, course)

async def communicate(process, told=None):
    if told == b"begin\\n" and moment == "stopping":
        process.stdin.write(told)
        await process.stdin.drain()
        end(moment)
    return await stops(process, told)

class Killed(restart.RunningPlan):
    async def __aiter__(self):
        end("begun")
        async for step in super().__aiter__():
            end("started")
            yield step

restart._part, restart.RunningPlan, asyncio.subprocess.Process.communicate = part, Killed, communicate
sys.exit(main())
"""
TRAINS = """
import sys, time
print("the run begins", flush=True)
for step in range(1, 4):
    print(f"step {step}/3 loss {2 / step:.3f}", flush=True)
    time.sleep(0.3 if "--again" in sys.argv or step < 2 else 1000)
print("training finished", flush=True)
"""
POLICY = """
[[when]]
event = ["hung", "stalled"]
confidence = "possible"
do = "restart"
[restart]
command = ["{python}", "train.py", "--again"]
"""


def faults_of_half_done(folder: Path, moment: str) -> list[str]:
    """What is not as it should be after a kill at this moment: the run is to be stopped once, started once, and to finish."""
    (folder / "train.py").write_text(TRAINS)
    (folder / "guard.toml").write_text(POLICY.format(python=sys.executable))
    run = ("--", sys.executable, "train.py")
    words = ("guard", "--log", "train.log", "--stall", "3", "--policy", "guard.toml", *run)
    environ = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}

    def guard(*program: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            (sys.executable, *program, *words), cwd=folder, env=environ, capture_output=True, text=True, timeout=LIMIT_S
        )

    return list(_faults(guard("-c", KILLED_AT, moment), guard("-m", "hangtop"), (folder / "train.log").read_text()))


def _faults(killed: subprocess.CompletedProcess[str], after: subprocess.CompletedProcess[str], log: str) -> Iterator[str]:
    if killed.returncode != -signal.SIGKILL:
        yield f"the first guard ended with {killed.returncode}: {killed.stderr}"
    if after.returncode != 0:
        yield f"the second guard ended with {after.returncode}: {after.stderr}"
    if (times := log.count("the run begins")) != 2:
        yield f"started {times} times: {after.stderr}"
    if not log.endswith("training finished\n"):
        yield f"the run did not finish: {after.stderr}"
    if (begun := (killed.stdout + after.stdout).count('"what":"deed"')) != 1:
        yield f"begun {begun} times"
