"""`import hangtop.agent` in a training script lets `hangtop eval` ask that process. Nothing runs until its own user asks.

Where it cannot wait for questions it says so in one line, and the run goes on.
"""

from __future__ import annotations

import sys

from hangtop.system.agents.endpoint import start

try:
    start()
except (OSError, RuntimeError) as error:  # RuntimeError: no thread can be started
    sys.stderr.write(f"hangtop.agent: this process cannot be asked: {error}\n")
