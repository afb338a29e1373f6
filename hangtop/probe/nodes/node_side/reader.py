"""Reads what may wait for a process, in threads that are left behind where one does."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Any

MOST_READERS = 8


class Reader:
    """Reads what may wait for a process, in threads that are left behind where one does."""

    def __init__(self, read_one: Callable[[int], Any]) -> None:
        self.read_one = read_one
        self.answers: dict[int, Any] = {}
        self.todo: queue.Queue[int] = queue.Queue()
        self.asked: set[int] = set()
        self.busy_since: dict[int, float] = {}

    def want(self, pid: int) -> None:
        if pid not in self.asked:
            self.asked.add(pid)
            self.todo.put(pid)
        late = [since for since in list(self.busy_since.values()) if time.monotonic() - since > 1.0]
        if len(self.busy_since) <= len(late) < MOST_READERS:
            threading.Thread(target=self.work, daemon=True).start()

    def forget_but(self, pids: set[int]) -> None:
        """Drop the answers of processes that are gone."""
        for pid in set(self.answers) - pids:
            self.answers.pop(pid, None)

    def work(self) -> None:
        me = threading.get_ident()
        while True:
            self.busy_since[me] = float("inf")
            pid = self.todo.get()
            self.busy_since[me] = time.monotonic()
            self.answers[pid] = self.read_one(pid)
            self.asked.discard(pid)
