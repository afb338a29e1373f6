"""Commands that tell causes apart, run: what they print, and what happens to those that do not end."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hangtop.actions.execute import client
from hangtop.actions.execute import tell as teller
from hangtop.records.advice import TellAsk, TellProgram, Told
from hangtop.remedies.harmless import harmless
from tests.fakes.processes import eventually


def told(command: str) -> Told:
    """Its answer, from the process that runs it."""
    ask = harmless(command)
    assert isinstance(ask, TellAsk), ask
    return asyncio.run(client.tell(ask))


def python(code: str, *, quiet: bool = False) -> TellProgram:
    """A stand-in for a program, for what no program on the list does."""
    return TellProgram((sys.executable, "-c", code), quiet=quiet)


def test_it_shows_what_was_printed_line_by_line() -> None:
    answer = told(f"ps -o pid,args -p {os.getpid()}  # state T")
    assert answer.code == 0
    assert answer.lines[0].split()[0] == "PID"
    assert answer.lines[1].split()[0] == str(os.getpid())
    assert (answer.problem, answer.more) == ("", 0)


def test_pipes_and_pipelines_follow_each_other(tmp_path: Path) -> None:
    log = tmp_path / "my log; rm -rf x"
    log.write_text("fine\nError 1\nError 2\nError 3\n")
    answer = told(f"grep -nE Error '{log}' | tail -n 2; ls '{log}'")
    assert answer.lines == ("3:Error 2", "4:Error 3", str(log))


def test_control_codes_are_taken_out_and_long_output_is_cut(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_bytes(b"\x1b[31mred\x1b]0;title\x07\n" + b"line\n" * 200)
    answer = told(f"tail -n 300 {log}")
    assert answer.lines[0] == "red"
    assert len(answer.lines) == teller.MOST_LINES
    assert answer.more == 201 - teller.MOST_LINES


def test_an_error_and_an_exit_code_are_told() -> None:
    answer = told("ls /there-is-no-such-file")
    assert answer.code
    assert "there-is-no-such-file" in answer.lines[0]
    assert told("grep -c nothing /proc/1/comm").code == 1
    assert "cannot be run: No such file" in teller.told(TellAsk(((TellProgram(("no-such-program",)),),))).problem


def test_nothing_is_taken_from_the_reader_of_a_fifo(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    keeper = os.open(tmp_path / "fifo", os.O_RDWR | os.O_NONBLOCK)
    os.write(keeper, b"data of the run\n")
    assert "no plain file" in told(f"tail -n 5 {tmp_path}/fifo").problem
    assert os.read(keeper, 100) == b"data of the run\n"
    os.close(keeper)


def test_what_does_not_end_is_ended_and_what_it_printed_is_shown() -> None:
    answer = teller.told(TellAsk(((python("import time; print('first', flush=True); time.sleep(600)"),),)), within_s=2.0)
    assert answer.lines == ("first",)
    assert answer.problem == teller.LATE
    limited = TellProgram((sys.executable, "-c", "import time; time.sleep(600)"), within_s=0.2)
    assert teller.told(TellAsk(((limited,),))).problem == teller.LATE


def test_too_much_output_is_broken_off() -> None:
    answer = teller.told(TellAsk(((python("while True: print('x' * 1000)"),),)))
    assert "too much" in answer.problem
    assert len(answer.lines) == teller.MOST_LINES


def test_errors_left_out_are_not_shown() -> None:
    loud, shown = python("import sys; print('bad', file=sys.stderr)", quiet=True), python("print('good')")
    assert teller.told(TellAsk(((loud,), (shown,)))).lines == ("good",)


def test_it_has_no_terminal_no_input_and_no_way_to_ours() -> None:
    code = "import os, sys; print(repr(sys.stdin.read()), os.getsid(0), os.isatty(1))"
    answer = asyncio.run(client.tell(TellAsk(((python(code),),))))
    read, session, terminal = answer.lines[0].split()
    assert (read, terminal) == ("''", "False")
    assert int(session) != os.getsid(0)


async def test_closing_the_page_ends_all_of_it(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    code = f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    asked = asyncio.create_task(client.tell(TellAsk(((python(code),),))))
    while not (note.exists() and note.read_text()):
        await asyncio.sleep(0.02)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    pid = note.read_text()
    eventually(
        lambda: (
            subprocess.run(["ps", "-o", "stat=", "-p", pid], capture_output=True, check=False).stdout.strip()[:1] in (b"", b"Z")
        )
    )


def test_a_relative_place_on_the_path_is_not_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nproc").write_text("#!/bin/sh\necho trap\n")
    (tmp_path / "nproc").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".::{os.environ['PATH']}")
    ask = harmless("nproc")
    assert isinstance(ask, TellAsk)
    assert teller.told(ask).lines[0].isdecimal()
