"""What asked code sees, says and leaves behind in the process that runs it; and the questions that have a name."""

from __future__ import annotations

import sys
import weakref
from pathlib import Path

import pytest

from hangtop.living.snippets import SnippetError, snippets
from hangtop.system.agents import endpoint
from hangtop.translations import say, speak

COMMON = 7


class Batch:
    pass


def test_it_sees_the_names_where_the_main_thread_stands_the_innermost_first():
    workers, COMMON = 4, 8
    said, well = endpoint.run("print('workers', workers)\nCOMMON + 1", {})
    assert (said, well) == ("workers 4\n9\n", True)
    assert workers + COMMON == 12


def test_functions_and_loops_of_it_see_them_too():
    sizes = [2, 3]
    assert endpoint.run("def total():\n    return sum(size for size in sizes)\ntotal()", {}) == ("5\n", True)
    assert sizes == [2, 3]


def test_what_it_sets_is_its_own():
    workers = 4
    assert endpoint.run("workers = 9\nworkers", {}) == ("9\n", True)
    assert workers == 4


def test_its_words_come_to_the_asker_alone(capsys: pytest.CaptureFixture[str]):
    assert endpoint.run("print('loss', 2, sep='=', end='!')", {"a": "b"})[0] == "loss=2!"
    assert endpoint.run("arguments['a']", {"a": "b"})[0] == "'b'\n"
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("code", ["1/0", "raise SystemExit(3)", "raise KeyboardInterrupt", "no_such_name", "def (", "\0"])
def test_whatever_fails_in_it_is_told_and_ends_nothing(code: str):
    said, well = endpoint.run(f"print('before')\n{code}" if code != "\0" else code, {})
    assert not well
    assert "Traceback" in said or "Error" in said


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="since Python 3.13 nothing is copied (PEP 667)")
def test_values_that_it_saw_do_not_live_longer_for_it():
    batch = Batch()
    there = weakref.ref(batch)
    assert "Batch" in endpoint.run("batch", {})[0]
    del batch
    assert there() is None


def test_what_the_program_keeps_of_its_own_names_stays():
    lr, kept = 0.1, locals()
    assert endpoint.run("lr", {}) == ("0.1\n", True)
    assert (lr, kept["lr"]) == (0.1, 0.1)


def test_a_frame_that_has_no_such_name_is_left_as_it_was():
    lr, kept = 0.1, locals()
    kept["lr"] = 0.2
    assert "NameError" in endpoint.run("no_such_name", {})[0]
    assert (lr, kept["lr"]) == (0.1, 0.2)


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="since Python 3.13 nothing is copied (PEP 667)")
def test_the_names_of_a_frame_in_which_a_debugger_stands_are_left_alone_and_that_is_said():
    lr, said, frame, before = 0.1, [], sys._getframe(), sys.gettrace()

    def stands(*_: object) -> None:
        said.append(endpoint.run("lr", {}))

    frame.f_trace = stands
    sys.settrace(stands)
    lr += 0.1
    sys.settrace(before)
    frame.f_trace = None
    assert [well for _, well in said] == [False] * len(said) != []
    assert "lr is left alone: a debugger stands in test_the_names" in said[0][0]
    assert lr == 0.2


def test_one_that_only_traces_keeps_nothing_from_being_seen():
    lr, frame = 0.1, sys._getframe()
    frame.f_trace = lambda *_: None  # as debugpy leaves it where `listen` was called
    try:
        assert endpoint.run("lr", {}) == ("0.1\n", True)
    finally:
        frame.f_trace = None
    assert lr == 0.1


def test_a_profilers_copy_which_it_writes_back_is_not_emptied():
    batch, said = [1], []
    before = sys.getprofile()
    sys.setprofile(lambda *_: said.append(endpoint.run("batch", {})))
    try:
        len(batch)
    finally:
        sys.setprofile(before)
    assert ("[1]\n", True) in said
    assert batch == [1]


def test_each_question_says_what_it_tells_in_both_languages():
    known = snippets(None)
    assert {"checkpoint", "gradients", "loaders", "memory", "optimizers", "profile", "threads", "allocator"} <= set(known)
    assert all(asked.says for asked in known.values())
    speak("zh")
    try:
        assert [asked.name for asked in known.values() if say(asked.says) == asked.says] == []
    finally:
        speak("en")


def test_a_persons_own_question_takes_the_place_of_ours(tmp_path: Path):
    (tmp_path / "snippets").mkdir()
    (tmp_path / "snippets" / "threads.py").write_text('"""Mine."""\nprint(1)')
    assert snippets(tmp_path)["threads"].says == "Mine."
    (tmp_path / "snippets" / "bad.py").write_text("def (")
    with pytest.raises(SnippetError, match=r"bad\.py"):
        snippets(tmp_path)
