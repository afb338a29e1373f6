"""`python -m tests.scenarios.remedies [NAME …]`: plays all programs that stand, or these, two at a time: `check` names the place,
the remedy is done as printed, the program goes on."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.scenarios.remedies.play import Stand, play, stands

AT_ONCE = 2


def outcome(stand: Stand) -> str:
    """What is wrong; empty when it went on."""
    if stand.torch and find_spec("torch") is None:
        return "skipped: needs torch"
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            play(stand, Path(folder))
        except AssertionError as error:
            return str(error)
    return ""


def main(words: Sequence[str]) -> int:
    chosen = [stand for stand in stands() if not words or stand.name in words]
    faults = 0

    def told(stand: Stand) -> None:
        nonlocal faults
        began = time.monotonic()
        fault = outcome(stand)
        faults += bool(fault) and not fault.startswith("skipped")
        print(f"{'FAIL' if fault else 'ok':<5}{time.monotonic() - began:>6.1f} s  {stand.name}  {fault}", flush=True)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(told, chosen))
    print(f"{len(chosen) - faults} of {len(chosen)} went on")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
