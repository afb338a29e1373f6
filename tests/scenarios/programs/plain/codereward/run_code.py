"""Runs what the model has written against the tests of its task, in an interpreter of its own."""

import subprocess
import sys
from pathlib import Path

LIMIT_S: float | None = 180.0


def reward(name: str, code: str, tests: str) -> float:
    """1 for a pass, 0.1 for code that runs, 0 for none."""
    path = Path("scratch") / f"{name}.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{code}\n\n{tests}\n")
    try:
        done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return 0.0
    finally:
        path.unlink()
    return 1.0 if done.returncode == 0 else 0.1 if "AssertionError" in done.stderr else 0.0
