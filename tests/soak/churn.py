"""`churn.py A_SECOND`: so many processes are born each second; each lives for one."""

from __future__ import annotations

import os
import signal
import sys
import time


def main(a_second: float) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    due = time.monotonic()
    while True:
        due += 1 / a_second
        os.posix_spawn("/bin/sleep", ["sleep", "1"], {})
        time.sleep(max(0.0, due - time.monotonic()))


if __name__ == "__main__":
    main(float(sys.argv[1]))
