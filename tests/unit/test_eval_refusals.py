"""When `hangtop eval` asks nobody, and how it says so."""

from __future__ import annotations

import json
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hangtop.cli.commands import evaluate
from hangtop.records.ask import StacksAsk
from hangtop.records.stack import Stack, StacksReading, Thread
from hangtop.system.agents.agent_client import Answer, NoAnswerError
from hangtop.system.agents.answerable import Answerable
from hangtop.system.agents.called_here import ask_called
from hangtop.system.agents.debugpy_client import Session
from hangtop.translations import say, speak

FOUND = Answerable(7, way="debugpy")
ONE = evaluate.Wanted(code="value", name=None, arguments={}, within_s=10.0, yes=True)
FREE = Stack(5, 0.0, (Thread("MainThread", (), 5, state="S"),))
HOLDS = Stack(5, 0.0, (Thread("MainThread", (), 5, owns_gil=True, state="S"),))


def looks(monkeypatch: pytest.MonkeyPatch, *each: StacksReading) -> None:
    """What the next looks at the stacks show."""
    left = iter(each)

    def look(asked: StacksAsk, now: float) -> Iterator[StacksReading]:
        yield next(left)

    monkeypatch.setattr(evaluate, "answer_stacks", look)
    monkeypatch.setattr(evaluate, "answerable", lambda pid: FOUND)


def seen(stack: Stack) -> StacksReading:
    return StacksReading(1, stacks=(stack,))


@pytest.mark.parametrize(
    ("look", "why", "mend"),
    [
        (StacksReading(1, problem="py-spy not found", mend="pip install py-spy"), "py-spy not found", "pip install py-spy"),
        (seen(Stack(5, 0.0, problem="not permitted by the system", mend="sudo x")), "not permitted by the system", "sudo x"),
        (StacksReading(1), "py-spy gives no stack", ""),
    ],
)
def test_where_the_lock_cannot_be_seen_debugpy_is_not_asked(
    monkeypatch: pytest.MonkeyPatch, look: StacksReading, why: str, mend: str
) -> None:
    looks(monkeypatch, seen(FREE), look)
    found = evaluate._through_debugpy(5, FOUND)
    assert found.why_not == f"pid 5 is not asked, for debugpy may be lost over a question: {why}"
    assert found.mend == mend


def test_one_that_takes_the_lock_while_the_person_thinks_is_not_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[int] = []

    def ask(pid: int, *_: object) -> Answer:
        asked.append(pid)
        return Answer("41\n", True, 0.0)

    monkeypatch.setitem(evaluate.ASK, "debugpy", ask)
    looks(monkeypatch, *map(seen, (FREE, FREE, HOLDS, HOLDS)))
    assert evaluate.run({5: ""}, ONE, sys.stdout) == 4
    assert "holds Python's lock" in capsys.readouterr().err
    looks(monkeypatch, *map(seen, (FREE, FREE, FREE, FREE)))
    assert evaluate.run({5: ""}, ONE, sys.stdout) == 0
    assert asked == [5]


def test_what_debugpy_says_comes_clean_to_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ask(*_: object) -> Answer:
        raise NoAnswerError("debugpy refuses: \x1b]0;title\x07 no\nHF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz0123456789")

    monkeypatch.setitem(evaluate.ASK, "debugpy", ask)
    looks(monkeypatch, *map(seen, (FREE, FREE, FREE, FREE)))
    assert evaluate.run({5: ""}, ONE, sys.stdout) == 4
    said = capsys.readouterr().err
    assert said.rstrip("\n").isprintable()
    assert "debugpy refuses" in said
    assert "hf_abc" not in said


def test_too_long_a_folder_of_temporary_files_is_told_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path / ("x" * 100)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    with pytest.raises(NoAnswerError, match="is too long a path for a socket: set TMPDIR") as caught:
        ask_called(5, 7, "value", {}, 1.0, lambda _: None)
    speak("zh")
    try:
        assert "太长" in say(str(caught.value))
    finally:
        speak("en")


def test_a_debugger_that_talks_on_without_an_answer_is_left_at_the_end_of_the_time() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        session = Session(ours, time.monotonic() + 60.0)
        theirs.sendall(message("output") * 20 + message("initialized") + message("output"))
        assert session.wait_for("event", "initialized") == {"type": "event", "event": "initialized"}
        session.ends_at = time.monotonic()
        with pytest.raises(TimeoutError):
            session.wait_for("event", "initialized")


def message(event: str) -> bytes:
    body = json.dumps({"type": "event", "event": event}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
