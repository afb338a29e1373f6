"""Keeps a command below a share of one core, as the department asks of jobs on the login node.

python limit.py --percent 20 -- python train.py
"""

import argparse
import os
import signal
import subprocess
import sys
import time

SLICE_S = 0.2


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--percent", type=int, default=20)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    job = subprocess.Popen(command, start_new_session=True)
    print(f"limit: {' '.join(command)} (pid {job.pid}) may use {args.percent} % of a core", file=sys.stderr, flush=True)
    share = args.percent / 100
    while job.poll() is None:
        time.sleep(SLICE_S * share)
        os.killpg(job.pid, signal.SIGSTOP)
        time.sleep(SLICE_S * (1 - share))
        os.killpg(job.pid, signal.SIGCONT)
    return job.returncode


if __name__ == "__main__":
    sys.exit(main())
