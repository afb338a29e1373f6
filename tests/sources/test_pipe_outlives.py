"""`python train.py | hangtop --log -`: whatever becomes of hangtop, the run writes all it wants and lives."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.bench.pty_meter import PtyMeter
from tests.fakes.piped import Run, piped
from tests.fakes.processes import PATIENCE_S, eventually

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at pipes in /proc: Linux only")

HANGTOP = (sys.executable, "-m", "hangtop")
WATCH = (*HANGTOP, "--log", "-", "--sources", "log", "--plain")


@pytest.fixture(autouse=True)
def _in_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.getcwd())


def part_of(hangtop: psutil.Process, run: Run, role: str) -> psutil.Process:
    """The screen, the probe, the reader or its guard."""
    reader, guard = sorted(
        run.drained(), key=lambda process: process.ppid() in {each.pid for each in run.drained()}, reverse=True
    )
    if role in ("reader", "guard"):
        return {"reader": reader, "guard": guard}[role]
    return hangtop if role == "screen" else eventually(lambda: probe_of(hangtop), "the probe")


def probe_of(hangtop: psutil.Process) -> psutil.Process | None:
    return next((child for child in hangtop.children() if "hangtop.probe" in child.cmdline()), None)


@pytest.mark.parametrize("role", ["screen", "probe", "reader", "guard"])
@pytest.mark.parametrize("name", ["KILL", "STOP"])
def test_a_process_of_hangtop_that_is_killed_or_stopped_neither_ends_the_run_nor_holds_it_up(
    tmp_path: Path, role: str, name: str
):
    said = tmp_path / "said"
    with said.open("wb") as out, piped(tmp_path, *WATCH, stdout=out) as (run, writer, hangtop):
        hit = part_of(psutil.Process(hangtop.pid), run, role)
        hit.send_signal(getattr(signal, f"SIG{name}"))
        run.has_written_all()
        assert writer.wait(PATIENCE_S) == 0
        if name == "STOP" and hit.is_running():
            hit.send_signal(signal.SIGCONT)
        if role != "screen":  # it watches on, and learns of the end
            assert hangtop.wait(PATIENCE_S) == 0
            assert "FINISHED" in said.read_text()


def test_both_readers_may_be_killed_one_after_the_other_and_nothing_is_lost_but_what_one_held(tmp_path: Path):
    with piped(tmp_path, *WATCH, stdout=subprocess.DEVNULL) as (run, writer, hangtop):
        for _ in range(3):
            for role in ("reader", "guard"):
                before = set(run.drained())
                part_of(psutil.Process(hangtop.pid), run, role).kill()
                eventually(lambda before=before: set(run.drained()) != before, "another reader")
        run.has_written_all()
        assert writer.wait(PATIENCE_S) == 0


def test_the_drain_ignores_what_ends_others(tmp_path: Path):
    with piped(tmp_path, *WATCH, stdout=subprocess.DEVNULL) as (run, writer, _):
        drain = run.drained()
        for process in drain:
            for name in ("HUP", "INT", "TERM", "QUIT", "PIPE", "TSTP", "USR1"):
                process.send_signal(getattr(signal, f"SIG{name}"))
        assert run.drained() == drain
        run.has_written_all()
        assert writer.wait(PATIENCE_S) == 0


@pytest.mark.parametrize("name", ["HUP", "INT", "TERM"])
def test_a_signal_that_ends_hangtop_leaves_the_run_alone(tmp_path: Path, name: str):
    with piped(tmp_path, *WATCH, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as (run, writer, hangtop):
        run.drained()
        hangtop.send_signal(getattr(signal, f"SIG{name}"))
        hangtop.wait(PATIENCE_S)
        assert writer.poll() is None
        run.has_written_all()
        assert writer.wait(PATIENCE_S) == 0


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("check", "--log", "-", "--sources", "log"), 0),
        (("check", "--log=-", "--sources", "log", "--json"), 0),
        (("bundle", "--log", "-", "--sources", "log", "-o", "b.tar.gz"), 0),
        (("--log", "-", "--no-such-option"), 2),
        (("--log", "-", "--stall", "none"), 2),
        (("--log", "-", "--record", "/no/such/folder/r"), 2),
        (("--log", "-", "--plain", "--theme", "nope"), 2),
    ],
)
def test_a_command_that_ends_says_who_reads_on(tmp_path: Path, words: tuple[str, ...], code: int):
    with piped(tmp_path, *HANGTOP, *words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as (
        run,
        writer,
        hangtop,
    ):
        _, said = hangtop.communicate(timeout=PATIENCE_S)  # at once: neither output is held open by the drain
        assert hangtop.returncode == code, said.decode()
        last = said.decode().splitlines()[-1]
        pids = {str(process.pid) for process in run.drained()}
        assert "keeps reading the pipe" in last
        assert pids & set(last.split())
        assert writer.poll() is None
        run.has_written_all()
        assert writer.wait(PATIENCE_S) == 0


def test_nothing_is_said_where_the_writer_has_ended(tmp_path: Path):
    ended = subprocess.run(
        (*HANGTOP, "check", "--log", "-", "--sources", "log"), input=b"step 1/2\n", capture_output=True, timeout=90
    )
    assert ended.stderr == b""


def test_another_program_that_reads_stdin_reads_all_of_it():
    text = b"RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB\n"
    ended = subprocess.run((*HANGTOP, "explain", "-"), input=text, capture_output=True, timeout=90)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_a_crash_of_hangtop_leaves_the_run_alone(tmp_path: Path):
    crash = (
        "import hangtop.cli.commands.watch as watch\nimport hangtop.cli.main as cli\n"
        "def run(*_): raise RuntimeError('boom')\nwatch.run = run\n"
    )
    words = (sys.executable, "-c", f"import sys; sys.argv[1:] = ['--log', '-', '--plain']\n{crash}cli.main()")
    with piped(tmp_path, *words, stderr=subprocess.PIPE) as (run, writer, hangtop):
        _, said = hangtop.communicate(timeout=PATIENCE_S)
        assert b"boom" in said
        run.has_written_all()
        assert writer.wait(PATIENCE_S) == 0


def test_where_no_drain_can_be_started_hangtop_itself_reads_on(tmp_path: Path):
    refused = (
        "import errno, os, hangtop.probe.log.start_drain as start_drain, hangtop.cli.main as cli\n"
        "def refuse(*_, **__): raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))\n"
        "start_drain.subprocess.Popen = refuse\n"
    )
    words = (sys.executable, "-c", f"import sys; sys.argv[1:] = ['--log', '-', '--plain']\n{refused}cli.main()")
    with piped(tmp_path, *words, stderr=subprocess.PIPE) as (run, writer, hangtop):
        run.has_written_all()
        assert writer.wait(PATIENCE_S) == 0
        _, said = hangtop.communicate(timeout=PATIENCE_S)
        assert hangtop.returncode == 2
        assert said.decode().startswith("hangtop: --log -: no process can be started that reads the pipe: Resource temporarily")
        assert said.count(b"\n") == 1


def test_the_screen_stopped_beside_a_recording_holds_nothing_up(tmp_path: Path):
    words = (*WATCH, "--record", str(tmp_path / "r.hangtop"))
    with piped(tmp_path, *words, stdout=subprocess.DEVNULL) as (run, writer, hangtop):
        run.drained()
        hangtop.send_signal(signal.SIGSTOP)
        run.has_written_all()
        assert writer.wait(PATIENCE_S) == 0
        hangtop.send_signal(signal.SIGCONT)


FULL = 'mount -t tmpfs -o size=64k,mode=1777 tmpfs "$0" && (cat /dev/zero > "$0/fill" || true) 2>/dev/null; '
READ_ONLY = 'mount -t tmpfs -o size=64k,mode=1777,ro tmpfs "$0"; '


@pytest.mark.parametrize("disk", [FULL, READ_ONLY], ids=["full", "read-only"])
def test_a_temporary_folder_that_takes_nothing_costs_nothing(tmp_path: Path, disk: str):
    if subprocess.run(("unshare", "--mount", "true"), capture_output=True).returncode:
        pytest.skip("a file system of its own needs root: unshare --mount")
    place = tmp_path / "tmp"
    place.mkdir()
    command = (
        "unshare",
        "--mount",
        "--propagation",
        "private",
        "bash",
        "-c",
        f'{disk} export TMPDIR="$0"; exec "$@"',
        str(place),
    )
    with piped(tmp_path, *command, *WATCH, stdout=subprocess.PIPE) as (run, writer, hangtop):
        run.drained()
        run.has_written_all()
        assert writer.wait(PATIENCE_S) == 0
        said, _ = hangtop.communicate(timeout=PATIENCE_S)
        assert b"step     " in said
        assert b"FINISHED" in said


def in_a_terminal(tmp_path: Path) -> tuple[Run, PtyMeter]:
    """A shell's pipeline in a terminal: the run, then hangtop on the screen."""
    run = Run(tmp_path)
    hangtop = shlex.join((*HANGTOP, "--log", "-", "--sources", "log"))
    return run, PtyMeter(("bash", "-c", f"{shlex.join(run.command)} | {hangtop}; echo rc=${{PIPESTATUS[*]}}; sleep 600"))


@pytest.mark.parametrize("key", [b"q", b"\x03"], ids=["q", "ctrl-c"])
def test_the_key_that_quits_leaves_the_run_alone_and_says_so(tmp_path: Path, key: bytes):
    run, terminal = in_a_terminal(tmp_path)
    with terminal:
        terminal.until("step")
        run.drained()
        terminal.press(key)
        terminal.until("keeps reading the pipe")
        run.has_written_all()
        terminal.until("rc=0 0")
    eventually(lambda: not run.readers, "the end of the drain")


def test_a_key_that_does_nothing_and_a_terminal_that_is_closed_leave_the_run_alone(tmp_path: Path):
    run, terminal = in_a_terminal(tmp_path)
    with terminal:
        terminal.until("step")
        terminal.press(b"\x1b")
        run.drained()
        screen = next(process for process in terminal.probes if "--log" in process.cmdline())
        with open(os.devnull) as nothing:
            os.dup2(nothing.fileno(), terminal._master)
        eventually(lambda: not screen.is_running(), "the end of hangtop")
        run.has_written_all()
    eventually(lambda: not run.readers, "the end of the drain")


def test_the_key_that_quits_tells_who_reads_a_named_pipe_on_and_its_writer_writes_all_and_lives(tmp_path: Path):
    path, done = tmp_path / "fifo", tmp_path / "done"
    os.mkfifo(path)
    program = "import sys\nfor n in range(99):\n print('step', n, 'x' * 99_000, flush=True)\n if n == 0: sys.stdin.readline()\n"
    program += f"open({str(done)!r}, 'w').close()"
    with PtyMeter(("bash", "-c", f"{shlex.join((*HANGTOP, '--log', str(path), '--sources', 'log'))}; sleep 600")) as terminal:
        writer = subprocess.Popen(
            ("bash", "-c", f"exec {shlex.join((sys.executable, '-c', program))} > {shlex.quote(str(path))}"),
            stdin=subprocess.PIPE,
        )
        terminal.until("step")
        terminal.press(b"q")
        terminal.until("for as long as anybody writes into it")
        readers = [each for each in psutil.process_iter() if str(path) in _open_paths(each) and each.pid != writer.pid]
        assert len(readers) >= 1
        writer.communicate(b"\n", PATIENCE_S)
        assert (writer.returncode, done.exists()) == (0, True)
        eventually(lambda: not any(reader.is_running() for reader in readers), "the end of the drain")


def _open_paths(process: psutil.Process) -> set[str]:
    found = set()
    with suppress(OSError):
        for entry in Path(f"/proc/{process.pid}/fd").iterdir():
            with suppress(OSError):
                found.add(os.readlink(entry))
    return found
