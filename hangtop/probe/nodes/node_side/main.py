"""Begins what the first line asks for: a `look`, which tells every `interval_s` the rows that changed
(`hangtop.probe.nodes.node_table` reads them) and answers questions; or an `act`, which carries out orders."""

from __future__ import annotations

import queue
import threading
import time
from typing import Any

from hangtop.probe.nodes.node_side.gpus import tell_gpus
from hangtop.probe.nodes.node_side.hands import obey
from hangtop.probe.nodes.node_side.launch import launch_of
from hangtop.probe.nodes.node_side.leftovers import tell_leftovers
from hangtop.probe.nodes.node_side.look import SELDOM, Node
from hangtop.probe.nodes.node_side.parts import tell_part
from hangtop.probe.nodes.node_side.pipe import listen, say, say_who
from hangtop.probe.nodes.node_side.stacks import take_stacks
from hangtop.probe.nodes.node_side.waits import tell_waits


def main() -> None:
    asks: queue.Queue[dict[str, Any]] = queue.Queue()
    say_who()
    listen(asks)
    first = asks.get()
    if "act" in first:
        obey(first["act"], asks)
    watch(first["look"], asks)


def watch(look: dict[str, Any], asks: queue.Queue[dict[str, Any]]) -> None:
    """Until the pipe closes."""
    node = Node(look, say)
    say({"boot_at": node.boot_at})
    threading.Thread(target=tell_gpus, args=(say, node.has_ranks), daemon=True).start()
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
            elif "waits" in ask:
                threading.Thread(target=tell_waits, args=(ask["waits"], say), daemon=True).start()
            elif "part" in ask:
                threading.Thread(target=tell_part, args=(ask["part"], node.outputs, say), daemon=True).start()
            elif "leftovers" in ask:
                threading.Thread(target=tell_leftovers, args=(ask["leftovers"], say), daemon=True).start()
            elif "launch" in ask:
                threading.Thread(target=tell_launches, args=(ask["launch"],), daemon=True).start()


def tell_launches(ask: dict[str, Any]) -> None:
    """How these processes were started."""
    for pid, start_ticks in ask["processes"]:
        say({"launched": ask["ask"], "launch": launch_of(pid, start_ticks)})
    say({"asked": ask["ask"]})
