"""Takes the machine's evaluation slot before each evaluation: one job at a time, by a file that names its owner."""

import os
import subprocess
import sys
import time
from pathlib import Path

SLOT = Path("slots/eval.lock")


class Slot:
    """Open while the file is ours."""

    def __enter__(self) -> None:
        SLOT.parent.mkdir(exist_ok=True)
        while True:
            try:
                handle = os.open(SLOT, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
            except FileExistsError:
                time.sleep(2.0)
                continue
            os.write(handle, f"{os.getpid()}\n".encode())
            os.close(handle)
            return

    def __exit__(self, *problem: object) -> None:
        SLOT.unlink()


def another_job() -> None:
    code = "import os, sys; open('slots/eval.lock', 'x').write(str(os.getpid())); os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", code], check=False)


accuracy = 0.5
for step in range(1, 101):
    time.sleep(0.12)
    accuracy += (0.93 - accuracy) * 0.03
    print(f"step {step}/100 acc={accuracy:.4f}", flush=True)
    if step == 20:
        with Slot():
            time.sleep(1.0)
            print(f"eval@{step}: {accuracy - 0.02:.4f}", flush=True)
    if step == 35:
        another_job()
    if step == 40:
        with Slot():
            time.sleep(1.0)
            print(f"eval@{step}: {accuracy - 0.02:.4f}", flush=True)
