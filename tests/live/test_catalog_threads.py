"""Several threads may load the catalog at once: msgspec's TOML decoder must not be entered by two of them."""

from __future__ import annotations

import subprocess
import sys

AT_ONCE = """
import sys, threading
from hangtop.logs.catalog.load import load
sys.setswitchinterval(1e-6)
start, loaded = threading.Barrier(8), []
def begin():
    start.wait()
    loaded.append(load())
threads = [threading.Thread(target=begin) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
sys.exit(len(loaded) != 8)
"""


def test_threads_may_load_it_at_once() -> None:
    """In a new interpreter each time: without a lock every second one ended with a segmentation fault."""
    codes = [subprocess.run([sys.executable, "-c", AT_ONCE], check=False, timeout=240).returncode for _ in range(5)]
    assert codes == [0] * 5
