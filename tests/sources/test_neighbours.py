"""Which processes of other jobs work in a folder that a run works in, or was told of."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from hangtop.probe.waits.neighbours import neighbours
from hangtop.system.processes.open_table import open_table
from tests.fakes.processes import eventually

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only")


def test_who_shares_a_folder_with_the_run_is_its_neighbour(tmp_path: Path) -> None:
    """Started apart from it: in its folder, in a folder that its environment names, or told of one on its command line."""
    own, inbox, elsewhere = (tmp_path / name for name in ("own", "inbox", "elsewhere"))
    for folder in (own, inbox, elsewhere):
        folder.mkdir()
    with ExitStack() as ends:

        def start(cwd: Path, *words: str, **environ: str) -> int:
            argv = [sys.executable, "-c", "import time; time.sleep(600)", *words]
            job = subprocess.Popen(argv, cwd=cwd, env=environ, start_new_session=True)
            ends.callback(job.wait)
            ends.callback(job.kill)
            return job.pid

        run = start(own, INBOX=str(inbox), HOME=str(elsewhere))
        near = {start(own), start(inbox), start(elsewhere, f"--out={inbox}")}
        start(elsewhere)
        start(inbox, INBOX=str(inbox))  # it has that from the person who started both
        table = open_table()

        def found() -> set[int]:
            table.refresh(())
            return set(neighbours(table, (run,)))

        eventually(lambda: found() == near, "those alone that share a folder")
        one = next(iter(near))
        assert set(neighbours(table, (run,), (one,))) == near - {one}
