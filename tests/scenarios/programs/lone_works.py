"""Trainings of one process that are quiet for long, and work all the same: the live half of `lone.py`.

    lone_works.py CASE --folder F

Every process ends by itself after LIFE_S.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from lone import LIFE_S, apart, cook, say, warm


def buffered(folder: Path) -> None:
    """Computes and prints without flushing: the log gets 8 KB at once."""
    say("epoch 0")
    sys.stdout = open(1, "w", closefd=False)  # as Python does it, whatever the environment says
    for step in range(1, 100_000):
        cook(0.15)
        time.sleep(0.1)
        print(f"step {step} loss {2 / step:.4f}")


def buffered_waits(folder: Path) -> None:
    """The same, and each step is mostly a wait for a device."""
    say("epoch 0")
    sys.stdout = open(1, "w", closefd=False)
    for step in range(1, 100_000):
        cook(0.004)
        time.sleep(0.5)
        print(f"step {step} loss {2 / step:.4f}")


def rare_log(folder: Path) -> None:
    """Logs every 500 steps, each of which computes a little and waits a little."""
    warm()
    for step in range(5, 100_000):
        cook(0.05)
        time.sleep(0.05)
        if step % 500 == 0:
            say(f"step {step}/100000 loss 1.9")


def parses(folder: Path) -> None:
    """Reads its annotations: one long call of C code after the other."""
    text = json.dumps([{"id": i, "bbox": [i, i + 1, i + 2], "caption": "a cat on a mat " * 4} for i in range(150_000)])
    say("loading annotations into memory...")
    for _ in range(100):
        json.loads(text)
    say("Done (t=140.2s)")


def trickle(folder: Path) -> None:
    """Reads its data from a program that gives a few hundred bytes a second."""
    source = subprocess.Popen(
        [sys.executable, "-c", f"import time\nfor i in range({LIFE_S * 5}):\n    print('x' * 60, flush=True); time.sleep(0.2)"],
        stdout=subprocess.PIPE,
    )
    say("Streaming dataset from s3://bucket/shard-00001.tar")
    assert source.stdout is not None
    count = 0
    for _line in source.stdout:
        count += 1
        if count % 500 == 0:
            say(f"{count} samples")


def announced(folder: Path) -> None:
    """Says that it waits, and for how long."""
    warm()
    say("WARNING: server answered 429 Too Many Requests; retrying in 120 seconds")
    time.sleep(120)


def compiles(folder: Path) -> None:
    """Builds an extension: one compiler, which works."""
    body = "".join(f"int f{i}(int x) {{ int s = 0; for (int i = 0; i < x; i++) s += (i * {i}) ^ (s << 3); return s; }}\n" for i in range(9000))
    (folder / "ops.c").write_text(body)
    say("Building extension module fused_ops...")
    for _ in range(10):
        subprocess.run(["gcc", "-O3", "-c", "ops.c", "-o", "ops.o"], cwd=folder, check=True)
    say("Loading extension module fused_ops...")


def starved(folder: Path) -> None:
    """Computes at the lowest priority while others take the machine."""
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    for _ in range(2 * (os.cpu_count() or 2)):
        apart("while 1: pass", seconds=40)
    say("Evaluating on 5000 samples")
    cook(LIFE_S)


def trains(folder: Path) -> None:
    """A healthy one, which writes a bar."""
    for step in range(1, 800):
        time.sleep(0.25)
        sys.stdout.write(f"\rtrain: {step * 100 // 800:3d}%|{'█' * (step // 40):<20}| step {step}/800 [00:10<10:00, 4.0it/s, loss={2 / step:.3f}]")
        sys.stdout.flush()


if __name__ == "__main__":
    signal.alarm(LIFE_S)
    globals()[sys.argv[1]](Path(sys.argv[sys.argv.index("--folder") + 1]))
