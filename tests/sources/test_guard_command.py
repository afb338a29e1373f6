"""`hangtop guard`, `hangtop wrap`, `hangtop notify` as commands: real processes, signals and exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hangtop.records.stopped import FOR_GUARD
from tests.fakes.processes import PATIENCE_S, end_group, eventually, running
from tests.fakes.receiver import Receiver

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only"),
    pytest.mark.xdist_group("guard"),
    pytest.mark.side_by_side,
]

HANGTOP = (sys.executable, "-m", "hangtop")
STEPS = "for step in range(3): print(f'step {step}/3 loss=1.0', flush=True)"
WAITS = "import time; print('step 1/9 loss=1.0', flush=True); time.sleep(600)"


CRIES = "import signal; signal.signal(15, lambda *_: 1 / 0); " + WAITS


@contextmanager
def hangtop(*words: str, folder: Path, **options: object) -> Iterator[subprocess.Popen[bytes]]:
    """The command in this folder, with a state of its own; it and all of its group end with this."""
    environ = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
    process = subprocess.Popen(
        (*HANGTOP, *words),
        cwd=folder,
        env=environ,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )
    try:
        yield process
    finally:
        end_group(process)


def ended(*words: str, folder: Path) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of the command."""
    with hangtop(*words, folder=folder) as process:
        out, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out.decode(), err.decode()


@pytest.mark.parametrize(("end", "code"), [("", 0), ("; raise SystemExit(7)", 7), ("; import os; os.kill(os.getpid(), 9)", 137)])
def test_a_wrapped_command_says_and_ends_as_it_does_alone(tmp_path: Path, end: str, code: int) -> None:
    program = f"exec({STEPS!r}){end}"
    assert ended("wrap", "--log", "train.log", "--", sys.executable, "-c", program, folder=tmp_path)[:2] == (
        code,
        (tmp_path / "train.log").read_text(),
    )
    assert "step 2/3" in (tmp_path / "train.log").read_text()


@pytest.mark.parametrize(("program", "code", "name"), [("echo hello", 0, "finished"), ("echo hello; exit 7", 7, "crashed")])
def test_a_run_that_ends_before_anybody_looked_is_told_of(tmp_path: Path, program: str, code: int, name: str) -> None:
    ended_with, _, journal = ended("wrap", "--events", "ev", "--log", "train.log", "--", "sh", "-c", program, folder=tmp_path)
    assert ended_with == code, journal
    told = [json.loads(line) for line in written(tmp_path / "ev").splitlines()]
    assert [event["name"] for event in told if event["what"] == "verdict"][-1] == name


def test_signals_reach_the_wrapped_command(tmp_path: Path) -> None:
    program = "import signal, sys; signal.signal(15, lambda *_: sys.exit(9)); " + WAITS
    with hangtop(
        "run", "--guard", "p.toml", "--log", "train.log", "--", sys.executable, "-c", program, folder=folder_with(tmp_path)
    ) as watching:
        eventually(lambda: "step" in written(tmp_path / "train.log"), "the run")
        watching.send_signal(signal.SIGTERM)
        assert watching.wait(PATIENCE_S) == 9


def test_a_run_that_somebody_ends_is_not_started_again(tmp_path: Path) -> None:
    folder = folder_with(
        tmp_path, '[[when]]\nevent = "crashed"\ndo = "restart"\nafter = "2s"\n[[when]]\nevent = "hung"\nafter = "9h"\ndo = "stop"'
    )
    words = ("wrap", "--guard", "p.toml", "--events", "ev", "--log", "train.log", "--", sys.executable, "-c", WAITS)
    with hangtop(*words, folder=folder) as watching:
        eventually(lambda: '"name":"running"' in written(tmp_path / "ev"), "the guard to see the run")
        watching.send_signal(signal.SIGTERM)
        assert watching.wait(PATIENCE_S) == 128 + signal.SIGTERM
    told = [json.loads(line) for line in written(tmp_path / "ev").splitlines()]
    assert [event["text"][:26] for event in told if event["name"] == "ended"] == ["Ended on request (SIGTERM)"]
    assert "crashed" not in {event["name"] for event in told}
    assert written(tmp_path / "train.log").count("step") == 1


def test_a_launcher_that_fails_because_it_was_asked_to_end_has_not_crashed(tmp_path: Path) -> None:
    words = ("wrap", "--events", "ev", "--log", "train.log", "--", sys.executable, "-c", CRIES)
    with hangtop(*words, folder=tmp_path) as watching:
        eventually(lambda: '"name":"running"' in written(tmp_path / "ev"), "the guard to see the run")
        watching.send_signal(signal.SIGINT)
        eventually(lambda: "ZeroDivisionError" in written(tmp_path / "train.log") or watching.poll() is not None, "its end")
        assert watching.wait(PATIENCE_S) == 128 + signal.SIGINT
    names = [json.loads(line)["name"] for line in written(tmp_path / "ev").splitlines()]
    assert names[-2:] == ["ended", None]


def test_a_plan_whose_guard_has_ended_is_not_carried_out(tmp_path: Path) -> None:
    with (tmp_path / "train.log").open("wb") as log, running(sys.executable, "-c", WAITS, stdout=log) as run:
        eventually(lambda: "step" in written(tmp_path / "train.log"), "the run")
        stop = subprocess.run(
            (*HANGTOP, "stop", "--log", "train.log", "--yes"),
            cwd=tmp_path,
            env={**os.environ, "XDG_STATE_HOME": str(tmp_path / "state"), FOR_GUARD: "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        assert (stop.returncode, run.poll(), str(run.pid) in stop.stdout) == (2, None, True), stop.stderr


def folder_with(folder: Path, policy: str = "") -> Path:
    (folder / "p.toml").write_text(policy)
    return folder


def written(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def test_a_wrapped_command_that_hangs_ends_with_an_exit_code_of_its_own(tmp_path: Path) -> None:
    policy = '[[when]]\nevent = ["stalled", "hung"]\ndo = "stop"\nconfidence = "possible"\n'
    words = (
        "run",
        "--guard",
        "p.toml",
        "--events",
        "ev",
        "--stall",
        "3",
        "--log",
        "train.log",
        "--",
        sys.executable,
        "-c",
        WAITS,
    )
    code, out, journal = ended(*words, folder=folder_with(tmp_path, policy))
    assert code == 75, journal
    assert out.startswith("step 1/9")
    events = [json.loads(line) for line in written(tmp_path / "ev").splitlines()]
    assert [(event["deed"], event["went"]) for event in events if event["what"] == "outcome"] == [("stop", True)]
    assert [event["text"][:20] for event in events if event["name"] == "ended"] == ["Stopped by its guard"]


HOOK = """
[[when]]
event = "finished"
do = "run"
run = ["sh", "-c", "cat > event.json; echo HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz; exit 3"]
"""


def test_a_hook_gets_its_event_and_what_it_says_is_told_without_secrets(tmp_path: Path) -> None:
    words = ("wrap", "--guard", "p.toml", "--events", "ev", "--log", "train.log", "--", "echo", "training finished")
    code, _, journal = ended(*words, folder=folder_with(tmp_path, HOOK))
    assert code == 0, journal
    assert json.loads(written(tmp_path / "event.json"))["name"] == "finished"
    (told,) = [event for event in map(json.loads, written(tmp_path / "ev").splitlines()) if event["what"] == "outcome"]
    assert (told["went"], told["text"]) == (False, "exit code 3 · HF_TOKEN=[redacted]")
    assert "hf_abc" not in journal


def test_a_policy_that_makes_no_sense_is_refused_before_anything_is_started(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, '[[when]]\nevent = "slow"\ndo = "stop"\n')
    code, _, said = ended("run", "--guard", "p.toml", "--log", "train.log", "--", "true", folder=folder)
    assert code == 2
    assert "p.toml:3: key when[0].do: stop at slow: only a run that" in said
    assert not (tmp_path / "train.log").exists()


@pytest.mark.parametrize("deed", ["stop", "restart", "recover"])
def test_a_run_that_hangtop_did_not_start_is_not_to_be_ended(tmp_path: Path, deed: str) -> None:
    (tmp_path / "train.log").write_text("step 1/9\n")
    folder = folder_with(tmp_path, f'[[when]]\nevent = "hung"\ndo = "{deed}"\n')
    code, _, said = ended("guard", "--log", "train.log", "--policy", "p.toml", folder=folder)
    assert code == 2
    assert "a run that hangtop did not start" in said


def test_a_guard_tells_over_http_that_it_looks(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("step 1/9\n")
    with Receiver().listening() as free:
        port = free.url.rpartition(":")[2].strip("/")
    with hangtop("guard", "--log", "train.log", "--alive", f"127.0.0.1:{port}", folder=tmp_path) as watching:

        def asked() -> str:
            try:
                return urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=PATIENCE_S).read().decode()
            except OSError:
                return ""

        assert eventually(asked, "an answer").startswith("looked ")
        watching.send_signal(signal.SIGTERM)
        watching.communicate(timeout=PATIENCE_S)
    assert watching.returncode in (0, 1, 4)


def test_events_go_on_when_nobody_reads_them(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("step 1/9\n")
    with hangtop("guard", "--log", "train.log", "--alive", "alive", folder=tmp_path) as watching:
        assert watching.stdout is not None
        watching.stdout.close()
        eventually(lambda: (tmp_path / "alive").exists(), "a look")
        (tmp_path / "alive").unlink()
        eventually(lambda: (tmp_path / "alive").exists(), "another look")
        assert watching.poll() is None


def test_one_guard_a_run(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("step 1/9\n")
    with hangtop("guard", "--log", "train.log", "--alive", "alive", folder=tmp_path):
        eventually(lambda: (tmp_path / "alive").exists(), "the first guard")
        code, _, said = ended("guard", "--log", "train.log", folder=tmp_path)
    assert (code, "another hangtop guard watches this run" in said) == (2, True)
