"""`import hangtop.agent` in a training script lets `hangtop eval` ask that process. Nothing runs until its own user asks."""

from __future__ import annotations

from hangtop.system.agents.endpoint import start

start()
