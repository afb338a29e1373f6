"""Code model in small: dirty samples are skipped with their error, sampled programs are printed as they come."""

import json
import logging
import random
import subprocess
import sys
import time

logging.basicConfig(level=logging.INFO, format="[%(asctime)s][%(levelname)s] %(message)s")
log = logging.getLogger()
rng = random.Random(3)
SAMPLES = (
    'def load(path):\n    return json.loads(open(path).read())\nprint(load("/no/such/file"))',
    'import sys\nsys.stderr.write("CUDA error: out of memory\\n")\nraise RuntimeError("NCCL communicator was aborted on rank 1")',
    "x = [1, 2, 3]\nprint(x[7])",
)


def parse(line: str) -> dict[str, float]:
    return dict(json.loads(line))


def sample(step: int) -> None:
    text = SAMPLES[step // 8 % len(SAMPLES)]
    log.info("sample at step %d:\n%s", step, text)
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    log.info("it exits with %d and says:\n%s%s", ran.returncode, ran.stdout, ran.stderr)


skipped = 0
for step in range(1, 401):
    line = '{"x": 0.5, "y": 1.5}' if rng.random() > 0.2 else '{"x": 0.5, "y": '
    try:
        row = parse(line)
    except json.JSONDecodeError:
        skipped += 1
        log.exception("worker failed on sample %d, skipping it (%d skipped so far)", step, skipped)
        row = {"x": 0.0, "y": 0.0}
    time.sleep(0.5)
    log.info("step=%d loss=%.4f", step, (row["x"] - row["y"]) ** 2 / step)
    if step % 8 == 0:
        sample(step)
