"""Starts three ranks, and ends them all when one fails."""

import subprocess
import sys
import time

ranks = [subprocess.Popen([sys.executable, "-u", "rank.py", str(rank)]) for rank in range(3)]
while True:
    codes = [rank.poll() for rank in ranks]
    for number, code in enumerate(codes):
        if code:
            print(f"launch: rank {number} (pid {ranks[number].pid}) exited with code {code}, stopping the others", flush=True)
            for rank in ranks:
                rank.terminate()
            for rank in ranks:
                rank.wait()
            sys.exit(code)
    if all(code == 0 for code in codes):
        print(f"launch: all {len(ranks)} ranks exited with code 0", flush=True)
        sys.exit(0)
    time.sleep(0.2)
