"""Two trainings share this machine: one works while the other is held, in turns. The long one gets the bigger part."""

import argparse
import signal
import subprocess
import sys
import time
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", default="16:55", help="seconds of the first and of the second")
    seconds = [float(part) for part in parser.parse_args().turns.split(":")]
    book = Path("share.log").open("w", buffering=1)  # noqa: SIM115
    jobs = []
    for name, out in (("probe", "train.log"), ("base", "base.log")):
        with Path(out).open("w") as file:
            jobs.append(subprocess.Popen([sys.executable, "-u", "fit.py", name], stdout=file, stderr=subprocess.STDOUT))
    for job in jobs:
        job.send_signal(signal.SIGSTOP)
    while any(job.poll() is None for job in jobs):
        for job, turn in zip(jobs, seconds, strict=True):
            if job.poll() is None:
                job.send_signal(signal.SIGCONT)
                book.write(f"{time.strftime('%T')} turn of {job.pid} for {turn:g} s\n")
                time.sleep(turn)
                job.send_signal(signal.SIGSTOP)


if __name__ == "__main__":
    main()
