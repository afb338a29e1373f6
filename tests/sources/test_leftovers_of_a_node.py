"""What dead runs left behind on another node is judged and removed there by the rules of this one. Real files and processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict

from hangtop.actions.plans.clean_plan import clean_plan
from hangtop.probe.nodes.node_leftovers import RULES, FarLeftovers, leftovers_told
from hangtop.probe.nodes.node_link import NodeLink
from hangtop.probe.nodes.node_side.hands import Hands
from hangtop.probe.nodes.node_side.leftovers import Judge, tell_leftovers
from hangtop.records.nodes import OtherNode
from hangtop.records.plan import LeftoversReading, NodeLeftovers, OwnProcess, Plan, Refusal
from hangtop.records.process import ProcessReading
from hangtop.state.run_state import RunState
from tests.fakes.processes import python

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc")
OLD_S = 3_600.0
HOLDS = (
    "import fcntl, sys, time; file = open(sys.argv[1], 'a'); fcntl.flock(file, 2); print('has it', flush=True); time.sleep(600)"
)
ME = OwnProcess(os.getpid(), frozenset(), os.geteuid(), "here")


def told() -> NodeLeftovers:
    found: list[dict[str, Any]] = []
    tell_leftovers({"ask": 5, "older_s": 600.0, "rules": RULES}, found.append)
    assert found[-1] == {"asked": 5}
    return leftovers_told("n2", found[0])


def old(path: Path) -> Path:
    """A lock that nobody has used for an hour, as far as the clock of `Judge` tells."""
    path.write_bytes(b"")
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path))
    later = time.time() + OLD_S
    monkeypatch.setattr("hangtop.probe.nodes.node_side.leftovers.time.time", lambda: later)
    return tmp_path


def test_a_lock_that_nobody_has_may_go_and_one_that_a_process_has_stays(folder: Path) -> None:
    free, held = old(folder / "free.lock"), old(folder / "held.lock")
    with python(HOLDS, str(held), stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"has it\n"
        here = told()
        reasons = {kept.what: kept.why for kept in here.kept}
        (removal,) = (each for each in here.found if each.path.startswith(str(folder)))
        assert (removal.path, removal.kind) == (str(free), RULES["lock"])
        assert reasons[str(held)] == f"in use by pid {holder.pid}"
        order = {"rules": RULES, "older_s": 600.0, "trash": ".hangtop-clean-1"}
        shown = asdict(removal)
        forged = {**shown, "path": str(held), "inode": held.stat().st_ino}
        assert Hands().do_remove(removals=[{**shown, "inode": 1}], **order)["told"][0][0::2] == [
            "skipped",
            "it is another one than was shown",
        ]
        gone, stays = sorted(Hands().do_remove(removals=[shown, forged], **order)["told"])
        assert gone == ["done", str(free), ""]
        assert stays == ["skipped", str(held), f"in use by pid {holder.pid}"]
    assert sorted(path.name for path in folder.iterdir()) == ["held.lock"]


def test_what_is_taken_into_use_after_it_was_moved_aside_is_put_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = old(folder / "x.lock")
    (removal,) = (each for each in told().found if each.path == str(path))
    usual = Judge.why_used
    moved = iter([usual, lambda *_: "in use by pid 7"])
    monkeypatch.setattr(Judge, "why_used", lambda *given: next(moved)(*given))
    order = {"rules": RULES, "older_s": 600.0, "trash": ".hangtop-clean-1"}
    assert Hands().do_remove(removals=[asdict(removal)], **order)["told"] == [
        ["survived", str(path), "in use by pid 7; it was put back"]
    ]
    assert [each.name for each in folder.iterdir()] == ["x.lock"]


def test_what_was_used_lately_stays(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = old(folder / "x.lock")
    now = path.stat().st_mtime + 30
    monkeypatch.setattr("hangtop.probe.nodes.node_side.leftovers.time.time", lambda: now)
    (kept,) = (each for each in told().kept if each.what == str(path))
    assert kept.why == "used 30s ago"


def test_a_plan_names_what_goes_on_each_node_and_those_of_which_that_is_not_known(folder: Path) -> None:
    old(folder / "x.lock")
    nodes = {host: ProcessReading(node=OtherNode(number, "b", "p", os.geteuid())) for number, host in enumerate(("n2", "n3"), 1)}
    state = RunState(nodes=frozenset(nodes), processes=nodes)
    there = told()
    silent = NodeLeftovers("n3", problem="n3 did not answer in time")
    plan = clean_plan(state, LeftoversReading(1, elsewhere=(there, silent)), ME, time.time(), 600.0)
    assert isinstance(plan, Plan)
    assert [(part.host, part.targets, part.removals) for part in plan.elsewhere] == [("n2", (), there.found)]
    assert plan.unseen == ("n3 did not answer in time",)
    nothing = clean_plan(state, LeftoversReading(1), ME, time.time(), 600.0)
    assert isinstance(nothing, Refusal)
    assert nothing.nothing_to_do
    perhaps = clean_plan(state, LeftoversReading(1, elsewhere=(silent,)), ME, time.time(), 600.0)
    assert isinstance(perhaps, Refusal)
    assert perhaps.why.endswith("; not known: n3 did not answer in time")
    assert not perhaps.nothing_to_do


def test_a_node_that_answers_in_another_form_or_not_at_all_is_not_taken_to_be_clean() -> None:
    assert leftovers_told("n2", {"found": [{"path": 7}], "kept": []}).problem is not None
    link = NodeLink(1, "n2", ("false",), {})
    (answer,) = FarLeftovers({1: link}, 5, 600.0).answers()
    assert answer.problem == "n2 cannot be asked"


def test_a_path_that_cannot_be_shown_stays_and_is_told_after_what_the_node_keeps() -> None:
    row = {"kind": RULES["lock"], "newest_at": 1.0, "allocated_bytes": 0, "device": 1, "inode": 2, "uid": 3, "modified_ns": 4}
    found = [{**row, "path": path} for path in ("/a.lock", "/b\x1b.lock", "/c.lock")]
    there = leftovers_told("n2", {"found": found, "kept": [("/d.lock", "in use by pid 7", None)]})
    assert [each.path for each in there.found] == ["/a.lock", "/c.lock"]
    assert [kept.why for kept in there.kept] == ["in use by pid 7", "its name cannot be shown"]
