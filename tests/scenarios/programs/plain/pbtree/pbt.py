"""Population based training on one machine: a process for each member and generation, a log each; after a generation the worst member
takes over the checkpoint of the best, and every sixth the whole population is archived."""

import json
import logging
import random
import shutil
import subprocess
import sys
from pathlib import Path

MEMBERS, GENERATIONS = 3, 30
Path("logs").mkdir(exist_ok=True)
logging.basicConfig(filename="logs/pbt.log", format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)


def generation(number: int, rates: list[float]) -> list[float]:
    """Runs all members; their scores."""
    running = []
    for member in range(MEMBERS):
        argv = [sys.executable, "-u", "member.py", str(member), str(number), "--lr", f"{rates[member]:.5f}"]
        with open(f"logs/member_{member}.log", "a") as log:
            running.append(subprocess.Popen(argv, stdout=log, stderr=log))
    for member, process in enumerate(running):
        if process.wait():
            raise RuntimeError(f"member {member} exited with {process.returncode}")
    return [json.loads(Path(f"members/{member}/score.json").read_text()) for member in range(MEMBERS)]


def archive(number: int) -> None:
    """Packed well: the quota of the archive is small."""
    Path("archive").mkdir(exist_ok=True)
    line = f"tar -cf - members | xz -9e -T1 > archive/gen_{number:03}.tar.xz"
    subprocess.run(["bash", "-o", "pipefail", "-c", line], check=True)


def main() -> None:
    rng, rates = random.Random(2), [0.01, 0.03, 0.1]
    for number in range(1, GENERATIONS + 1):
        scores = generation(number, rates)
        best, worst = scores.index(max(scores)), scores.index(min(scores))
        logging.info("generation %d/%d scores %s", number, GENERATIONS, " ".join(f"{score:.4f}" for score in scores))
        shutil.copy(f"members/{best}/state.json", f"members/{worst}/state.json")
        rates[worst] = rates[best] * rng.choice((0.8, 1.25))
        logging.info("member %d takes over from %d, lr %.5f", worst, best, rates[worst])
        if number % 6 == 0:
            logging.info("archiving generation %d", number)
            archive(number)


if __name__ == "__main__":
    main()
