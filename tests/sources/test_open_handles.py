"""What is in use while processes come and go: one that ends or begins during the look keeps nothing from being removed."""

from __future__ import annotations

import time
from collections.abc import Collection
from pathlib import Path
from typing import cast

from hangtop.probe.leftovers.open_handles import open_handles
from hangtop.probe.ray.session import left_of_session
from hangtop.system.processes.table import ProcessTable
from tests.fakes.processes import Family, eventually, running


def test_a_process_that_ends_while_it_is_looked_at_holds_nothing(tmp_path: Path) -> None:
    """It has lost its memory map and is still seen to run, until the last of its memory is freed."""
    with running("sleep", "600") as ending:

        class Ending(Family):
            asked = 0

            def command(self, pid: int) -> tuple[str, ...]:
                if pid != ending.pid:
                    return self._real.command(pid)
                self.asked += 1
                if self.asked == 3:
                    ending.kill()
                    ending.wait()
                raise ProcessLookupError

        in_use = open_handles(cast("ProcessTable", Ending()), [str(tmp_path)])
    assert in_use.unseen == {}


def test_a_process_that_lives_and_never_tells_may_hold_something(tmp_path: Path) -> None:
    with running("sleep", "600") as dumb:

        class Dumb(Family):
            def command(self, pid: int) -> tuple[str, ...]:
                if pid == dumb.pid:
                    raise ProcessLookupError
                return self._real.command(pid)

        in_use = open_handles(cast("ProcessTable", Dumb()), [str(tmp_path)])
    assert in_use.unseen == {dumb.pid: "sleep"}


def test_a_worker_that_a_raylet_starts_while_it_is_looked_at_ends_with_the_session(tmp_path: Path) -> None:
    session = tmp_path / "session_2026-11-24_00-00-00_000000_1"
    session.mkdir()
    born = tmp_path / "born"
    with running("sh", "-c", f"read x; sleep 600 > {session}/worker.out & echo $! > {born}; wait", stdin=-1) as raylet:
        assert raylet.stdin is not None

        class Starting(Family):
            """The raylet starts a worker after its processes were counted."""

            def refresh(self, watched: Collection[int]) -> None:
                if not born.exists():
                    raylet.stdin.write(b"\n")  # type: ignore[union-attr]
                    raylet.stdin.flush()  # type: ignore[union-attr]
                    eventually(lambda: born.exists() and born.read_text().endswith("\n"), "the worker")
                self._real.refresh(watched)

        found, kept = left_of_session((), str(session), frozenset({raylet.pid}), cast("ProcessTable", Starting()), time.time())
    assert [removal.path for removal in found] == [str(session)]
    assert kept == ()
