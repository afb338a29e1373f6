"""Begins what the first line asks for: a `look`, which tells every `interval_s` the rows that changed
(`hangtop.probe.nodes.node_table` reads them) and answers questions."""

from __future__ import annotations

import queue
import threading
import time
from typing import Any

from hangtop.probe.nodes.node_side.look import SELDOM, Node
from hangtop.probe.nodes.node_side.pipe import listen, say, say_who
from hangtop.probe.nodes.node_side.stacks import take_stacks


def main() -> None:
    asks: queue.Queue[dict[str, Any]] = queue.Queue()
    say_who()
    listen(asks)
    watch(asks.get()["look"], asks)


def watch(look: dict[str, Any], asks: queue.Queue[dict[str, Any]]) -> None:
    """Until the pipe closes."""
    node = Node(look, say)
    say({"boot_at": node.boot_at})
    while True:
        due = time.monotonic() + (0.3 if node.looks < SELDOM else look["interval_s"])
        node.look()
        while (left := due - time.monotonic()) > 0:
            try:
                ask = asks.get(timeout=left)
            except queue.Empty:
                break
            if "ping" in ask:
                say({"pong": ask["ping"], "now": time.time()})
            elif "stacks" in ask:
                threading.Thread(target=take_stacks, args=(ask["stacks"], say), daemon=True).start()
