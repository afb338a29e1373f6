"""The launcher of the demo run: `python -m hangtop.demo.launcher SCENARIO FOLDER`, what torchrun is to a real one.

Starts the ranks, serves their collectives, and when one fails stops the others and exits with 1. Its messages have the
form of torchrun's (torch/distributed/run.py and elastic/multiprocessing/api.py in 2.13): so do those of real logs.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import datetime
from types import FrameType

from hangtop.demo import lifeline
from hangtop.demo.collective import Hub
from hangtop.demo.scenario import Scenario, scenario

POLL_S = 0.1  # as often as torchrun


def main() -> None:
    plan, folder = scenario(sys.argv[1]), sys.argv[2]
    lifeline.hold(leader=True)
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(signal.SIGINT, _leave)
    omp = (
        "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system being overloaded"
    )
    _say("W", "torch/distributed/run.py:852", omp)
    hub = Hub(plan.world)
    ranks: list[subprocess.Popen[bytes]] = []
    try:
        ranks.extend(_start(plan, folder, rank, hub.port) for rank in range(plan.world))
        failed = _watch(ranks, hub)
    finally:
        _end(ranks)
    if failed is not None:
        _report(ranks, failed)
        sys.exit(1)


def _start(plan: Scenario, folder: str, rank: int, port: int) -> subprocess.Popen[bytes]:
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": plan.world, "LOCAL_WORLD_SIZE": plan.world}
    env = {**os.environ, **{name: str(value) for name, value in place.items()}}
    env |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
    argv = [sys.executable, "-P", "-m", "hangtop.demo.demo_rank", plan.name, folder]
    return subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL)


def _watch(ranks: list[subprocess.Popen[bytes]], hub: Hub) -> int | None:
    """Serve until all ranks have ended well, or one has failed: then its number."""
    while True:
        hub.serve(POLL_S)
        codes = [rank.poll() for rank in ranks]
        failed = [number for number, code in enumerate(codes) if code]
        if failed:
            return failed[0]
        if all(code == 0 for code in codes):
            return None


def _end(ranks: list[subprocess.Popen[bytes]]) -> None:
    for rank in ranks:
        rank.terminate()
    for rank in ranks:
        rank.wait()


def _report(ranks: list[subprocess.Popen[bytes]], failed: int) -> None:
    """The summary that torchrun prints at the end, with the first process that failed as root cause."""
    code, pid = ranks[failed].returncode, ranks[failed].pid
    text = f"failed (exitcode: {code}) local_rank: {failed} (pid: {pid}) of binary: {sys.executable}"
    _say("E", "torch/distributed/elastic/multiprocessing/api.py:874", text)
    rule, thin = "=" * 60, "-" * 60
    signalled = -code if code < 0 else None
    trace = f"Signal {signalled} received by PID {pid}" if signalled else "To enable traceback see the documentation"
    _write(
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
        rule,
        "hangtop.demo.demo_rank FAILED",
        thin,
        "Failures:",
        "  <NO_OTHER_FAILURES>",
        thin,
        "Root Cause (first observed failure):",
        "[0]:",
        f"  time      : {datetime.now():%Y-%m-%d_%H:%M:%S}",
        f"  host      : {os.uname().nodename}",
        f"  rank      : {failed} (local_rank: {failed})",
        f"  exitcode  : {code} (pid: {pid})" + (f" ({signal.Signals(signalled).name})" if signalled else ""),
        "  error_file: <N/A>",
        f"  traceback : {trace}",
        rule,
    )


def _say(level: str, place: str, text: str) -> None:
    stamp = time.strftime("%m%d %H:%M:%S")
    _write(f"{level}{stamp}.{time.time_ns() // 1000 % 1_000_000:06d} {os.getpid()} {place}] {text}")


def _write(*lines: str) -> None:
    """Write in one piece: the ranks write to the same log, and unbuffered `print` writes text and end of line apart."""
    sys.stdout.write("\n".join((*lines, "")))
    sys.stdout.flush()


def _leave(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
