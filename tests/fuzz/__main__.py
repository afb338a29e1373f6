"""`python -m tests.fuzz [--minutes N] [READER …]`: all readers in turn, new examples each round; a break is shrunk and told.

Examples that broke one are kept in `.hypothesis` and tried first the next time. What it finds becomes a test.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
import traceback

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.fuzz.mutated import mutated
from tests.fuzz.readers import READERS, Reader

A_ROUND = 300


def tried(reader: Reader, examples: int, *, same: bool = False) -> None:
    """Try so many examples; raises what the reader should not. `same`: those of every run."""
    quiet = list(HealthCheck)

    @settings(max_examples=examples, deadline=None, derandomize=same, suppress_health_check=quiet, phases=tuple(Phase)[:5])
    @given(st.one_of(mutated(reader.examples()), st.binary(max_size=200)))
    def try_one(data: bytes) -> None:
        with contextlib.suppress(*reader.may):
            reader.read(data)

    try_one()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("readers", nargs="*")
    asked = parser.parse_args()
    chosen = [reader for reader in READERS if not asked.readers or reader.name in asked.readers]
    end, broken, rounds = time.monotonic() + 60 * asked.minutes, set[str](), 0
    while time.monotonic() < end and len(broken) < len(chosen):
        for reader in chosen:
            if reader.name not in broken and time.monotonic() < end:
                try:
                    tried(reader, A_ROUND)
                except Exception:
                    broken.add(reader.name)
                    print(f"== {reader.name} breaks", flush=True)
                    traceback.print_exc(limit=-6, file=sys.stdout)
        rounds += 1
    print(
        f"{rounds} rounds of {A_ROUND} examples for each of {len(chosen)} readers; broken: {', '.join(sorted(broken)) or 'none'}"
    )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
