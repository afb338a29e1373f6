"""Which processes the same job started beside a run: of one process group and folder, below one script."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from hangtop.probe.waits.companions import companions
from hangtop.system.processes.open_table import open_table
from tests.fakes.processes import eventually

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only")

SCRIPT = """
sleep 600 & echo run $!
(sleep 601 & echo below $!; wait) & echo daemon $!
(cd / && exec sleep 602) & echo elsewhere $!
setsid sleep 603 & echo group $!
wait
"""


def test_what_a_script_starts_in_its_group_and_folder_is_beside_the_run(tmp_path: Path) -> None:
    with subprocess.Popen(["bash", "-c", SCRIPT], stdout=subprocess.PIPE, cwd=tmp_path, start_new_session=True, text=True) as job:
        assert job.stdout is not None
        named = {name: int(pid) for name, pid in (job.stdout.readline().split() for _ in range(5))}
        try:
            table = open_table()

            def beside() -> set[int]:
                table.refresh(())
                return set(companions(table, (named["run"],)))

            eventually(lambda: beside() == {named["daemon"], named["below"]}, "the daemon beside it alone")
        finally:
            for pid in (*named.values(), job.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
