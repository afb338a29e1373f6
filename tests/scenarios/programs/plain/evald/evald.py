"""Looks for new checkpoints and has each one scored. Its log is its own."""

import logging
import os
import subprocess
import sys
import time
from pathlib import Path

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
logging.info("evaluation daemon %d", os.getpid())
while True:
    for checkpoint in sorted(Path("ckpt").glob("*.json")):
        result = Path("results") / checkpoint.name
        if not result.exists():
            logging.info("scoring %s", checkpoint)
            scorer = subprocess.Popen([sys.executable, "score.py", checkpoint.stem], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            assert scorer.stdin is not None
            assert scorer.stdout is not None
            scorer.stdin.write(checkpoint.read_bytes())
            scorer.stdin.close()
            result.write_bytes(scorer.stdout.read())
            logging.info("scored %s: code %s", checkpoint, scorer.wait())
    time.sleep(1)
