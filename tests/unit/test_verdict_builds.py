"""Ranks that wait for an extension that is built: by one of them, or by nobody any more."""

from __future__ import annotations

from hangtop.diagnosis.judge import diagnose
from hangtop.records.stack import Frame
from tests.fakes.members import BATON, NOW, SPEC, process, run, thread


def test_a_lock_file_that_a_killed_build_left_behind_is_named_with_the_command_that_removes_it() -> None:
    said = diagnose(run({0: BATON, 1: BATON}, (process(0), process(1))), SPEC, NOW)
    assert (said.word, [culprit.rank for culprit in said.culprits]) == ("hung", [0, 1])
    assert "a killed one left its lock file behind" in said.headline
    assert "-name lock -delete" in said.detail


def test_who_waits_for_a_build_that_a_peer_makes_is_no_hang() -> None:
    builds = thread(Frame("_jit_compile", "/venv/lib/python3.11/site-packages/torch/utils/cpp_extension.py", 9), wait="child")
    said = diagnose(run({0: builds, 1: BATON}, (process(0, subtree_cpu_percent=97.0, subtree_size=2), process(1))), SPEC, NOW)
    assert said.word == "slow"
    assert said.headline.startswith("Rank 0 ")
