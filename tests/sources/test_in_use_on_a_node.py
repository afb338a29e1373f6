"""Which processes of another node count for what is in use there: those that live, through a thread that lives; the first process
of a container where it trains."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hangtop.probe.nodes.node_leftovers import RULES
from hangtop.probe.nodes.node_side import in_use
from hangtop.probe.nodes.node_side.in_use import InUse
from tests.fakes.processes import eventually, python

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc")
HOLDS_WITHOUT_ITS_FIRST_THREAD = """
import ctypes, sys, threading, time
held = open(sys.argv[1])
threading.Thread(target=time.sleep, args=(600,)).start()
ctypes.CDLL(None).pthread_exit(None)
"""


def seen() -> InUse:
    return InUse(RULES["never_hold"], RULES["training"], RULES["tracker"])


def first_thread_has_ended(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def test_a_zombie_holds_nothing_and_hides_nothing() -> None:
    with subprocess.Popen(["true"]) as ended:
        eventually(lambda: first_thread_has_ended(ended.pid), "its end")
        now = seen()
    assert ended.pid not in now.alive
    assert ended.pid not in now.unseen


def test_a_process_whose_first_thread_has_ended_holds_its_files(tmp_path: Path) -> None:
    path = tmp_path / "held"
    path.touch()
    with python(HOLDS_WITHOUT_ITS_FIRST_THREAD, str(path)) as holder:
        eventually(lambda: first_thread_has_ended(holder.pid), "the end of its first thread")
        now = seen()
    assert holder.pid in now.alive
    assert now.holder(path.stat().st_ino, "held") == holder.pid


@pytest.mark.parametrize(("name", "unseen"), [("python3", {1: "python3"}), ("bash", {}), ("systemd", {})])
def test_the_first_process_of_a_container_may_hold_something_where_it_trains(
    name: str, unseen: dict[int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_use, "living", lambda: {1: ([name, 0, 1, 1, 0, 0, 5], 1)})
    monkeypatch.setattr(in_use, "files_of_all", lambda _: {1: (None, "", os.geteuid())})
    assert seen().unseen == unseen
