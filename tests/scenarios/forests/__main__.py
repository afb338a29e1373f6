"""`python -m tests.scenarios.forests [--count N] [--seed S] [--jobs J]`: stops the run in N forests, and prints the score.

Each forest lives in pid, mount and ipc namespaces of its own (root, and unshare(1)): nothing outside can be hit.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

ALONE = ("unshare", "--pid", "--mount", "--ipc", "--fork", "--kill-child", "--mount-proc")
LIMIT_S = 300


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.scenarios.forests", description=__doc__)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--verbose", action="store_true", help="each forest, and what hangtop named")
    given = parser.parse_args()
    with ThreadPoolExecutor(given.jobs) as pool:
        results = []
        for result in pool.map(play, range(given.seed, given.seed + given.count)):
            results.append(result)
            if given.verbose or faults(result) or "problem" in result:
                print(json.dumps(result), flush=True)
    total: Counter[str] = Counter()
    for result in results:
        total.update(
            {key: value if isinstance(value, int) else len(value or ()) for key, value in result.items() if key != "seed"}
        )
    print(f"{len(results)} forests: " + ", ".join(f"{key} {total[key]}" for key in sorted(total)))
    return 1 if any(faults(result) or "problem" in result for result in results) else 0


def play(seed: int) -> dict[str, Any]:
    """The score of one forest; with a `problem` where it could not be played."""
    with tempfile.TemporaryDirectory(prefix="forest-") as folder:
        command = [*ALONE, sys.executable, "-m", "tests.scenarios.forests.world", str(seed), folder]
        try:
            told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
            result: dict[str, Any] = json.loads(told.stdout)
        except (subprocess.TimeoutExpired, json.JSONDecodeError) as error:
            said = told.stderr if isinstance(error, json.JSONDecodeError) else str(error)
            return {"seed": seed, "problem": said[-800:]}
    return result


def faults(result: dict[str, Any]) -> dict[str, Any]:
    """What must not be, of one forest."""
    return {key: value for key, value in result.items() if key.startswith("bad_") and value}


if __name__ == "__main__":
    sys.exit(main())
