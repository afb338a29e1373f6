"""A worker of Ray between two calls idles, whatever threads Ray keeps in it for itself."""

from __future__ import annotations

from hangtop.records.stack import Frame, Stack, Thread
from hangtop.stacks.activity import activity_of
from hangtop.stacks.ray_waits import ray_wait

RAY = "/venv/lib/python3.11/site-packages/ray/_private"
THREADING = "/usr/lib/python3.11/threading.py"
MAIN = (Frame("Worker.main_loop", f"{RAY}/worker.py", 1069), Frame("<module>", f"{RAY}/workers/default_worker.py", 323))
COLLECTS = (
    Frame("Condition.wait", THREADING, 327),
    Frame("Event.wait", THREADING, 629),
    Frame("PythonGCThread.run", f"{RAY}/gc_collect_manager.py", 38),
    Frame("Thread._bootstrap_inner", THREADING, 1045),
    Frame("Thread._bootstrap", THREADING, 1002),
)


def test_the_collector_of_garbage_in_it_is_not_what_it_waits_for() -> None:
    threads = (Thread("MainThread", MAIN, 7, wait="poll"), Thread("PythonGCThread", COLLECTS, 8, wait="lock"))
    seen = activity_of(Stack(7, 1.0, threads))
    assert seen is not None
    assert (seen.kind, ray_wait(seen)) == ("idle", "idle")
