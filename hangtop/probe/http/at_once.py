"""Several requests at once, within one time."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable

CONNECTIONS = 4


def run_at_once(tasks: Iterable[Callable[[], None]], patience_s: float, at_once: int = CONNECTIONS) -> None:
    """Run the tasks, `at_once` at a time. Returns when all are done, or the time is over: then no further task is begun."""
    waiting, until = deque(tasks), time.monotonic() + patience_s

    def work() -> None:
        while True:
            try:
                task = waiting.popleft()
            except IndexError:
                return
            task()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(at_once, len(waiting)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()) + 0.1)
    waiting.clear()
