"""Starts the ranks, shows what they say with their name before it, and at the end what they complained of."""

import subprocess
import sys
import threading

RANKS = 3


def follow(rank, program):
    for line in program.stdout:
        print(f"({rank}/{RANKS}) {line.rstrip()}", flush=True)


def main():
    programs, threads = [], []
    for rank in range(RANKS):
        argv = [sys.executable, "-u", "rank.py", str(rank), str(RANKS)]
        programs.append(subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        threads.append(threading.Thread(target=follow, args=(rank, programs[-1])))
        threads[-1].start()
    for program in programs:
        program.wait()
    for rank, program in enumerate(programs):
        for line in program.stderr.read().splitlines()[-5:]:
            print(f"({rank}/{RANKS}) complained: {line}")
    return max(program.returncode for program in programs)


if __name__ == "__main__":
    sys.exit(main())
