"""Runs that hangtop starts, and starts again: real processes, real terminals, real environments."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from hangtop.actions.execute.client import begin
from hangtop.actions.execute.commands import LaunchError, launch
from hangtop.actions.execute.executor import execute
from hangtop.actions.plans import restart_plan
from hangtop.actions.plans.presets import presets, with_presets
from hangtop.probe.context import ProbeContext
from hangtop.probe.processes import launch_source
from hangtop.probe.processes.launch_source import LaunchSource, interfaces
from hangtop.probe.processes.process_source import ProcessSource
from hangtop.records.ask import LaunchAsk
from hangtop.records.launch import Launch, LaunchReading
from hangtop.records.plan import OwnProcess, Plan, Refusal, Start
from hangtop.records.process import ProcessReading
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState
from hangtop.system.processes.open_table import open_table
from hangtop.system.stores import launch_store
from tests.fakes.processes import PATIENCE_S, end_group, eventually, running
from tests.fakes.started import end_run

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only")

PROGRAM = """
import os, sys, time
print("attempt", os.environ.get("NCCL_DEBUG", "-"), os.environ.get("MY_TOKEN", "-"), os.getcwd(), flush=True)
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def _own_book(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@contextmanager
def launched(*argv: str, log: Path, cwd: Path | None = None) -> Iterator[Launch]:
    """A run under a runner; its session, and that of the runner, are killed at the end."""
    known = launch(Start(argv, str(cwd or log.parent), str(log)))
    try:
        yield known
    finally:
        end_run(known)


def test_the_log_gets_what_was_printed_and_nothing_else(tmp_path: Path) -> None:
    program = (
        "import sys; print('one'); print('two\\rthree', file=sys.stderr); print(repr(sys.stdin.read()), sys.stdout.isatty())"
    )
    log = tmp_path / "train.log"
    log.write_text("of an older run\n")
    with launched(sys.executable, "-c", program, log=log) as known:
        ended = eventually(
            lambda: now if (now := launch_store.of_process(known.pid, known.start_ticks)) and now.exit_code is not None else None
        )
    assert ended.exit_code == 0
    assert log.read_bytes() == b"of an older run\none\ntwo\rthree\n'' True\n"


@pytest.mark.parametrize(("program", "code"), [("import sys; sys.exit(7)", 7), ("import os; os.kill(os.getpid(), 15)", -15)])
def test_the_runner_ends_as_the_run_did(tmp_path: Path, program: str, code: int) -> None:
    """Who watches the log sees the runner end, for it is the runner that writes it."""
    runner, answer = begin(
        "hangtop.actions.execute.runner", Start((sys.executable, "-c", program), "/", str(tmp_path / "train.log"))
    )
    with answer:
        known = msgspec.json.decode(answer.readline(), type=Launch)
    assert runner.wait(PATIENCE_S) == code
    ended = launch_store.of_process(known.pid, known.start_ticks)
    assert ended is not None
    assert ended.exit_code == code


def test_the_run_has_its_own_session_and_lives_on_without_its_starter(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    starter = (
        "import sys; from hangtop.actions.execute.commands import launch; from hangtop.records.plan import Start;"
        "print(launch(Start((sys.executable, '-c', sys.argv[2]), '/', sys.argv[1])).pid, flush=True);"
        "import time; time.sleep(600)"
    )
    argv = [sys.executable, "-c", starter, str(log), PROGRAM]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(PATIENCE_S)
    process.stdout.close()
    table = open_table()
    table.refresh(())
    stat = table.stats[pid]
    known = launch_store.of_process(pid, stat.start_ticks)
    assert known is not None
    try:
        eventually(lambda: log.exists() and b"attempt - -" in log.read_bytes())
        assert stat.session == pid
        assert table.stats[pid].state not in "ZX"
    finally:
        end_run(known)
    assert launch_store.of_process(pid, stat.start_ticks).exit_code == -signal.SIGKILL


@pytest.mark.parametrize(
    ("argv", "cwd", "said"),
    [(("no-such-program",), "/", "no-such-program"), ((sys.executable,), "/no/such/folder", "/no/such/folder")],
)
def test_what_cannot_be_started_is_said_in_one_line(tmp_path: Path, argv: tuple[str, ...], cwd: str, said: str) -> None:
    with pytest.raises(LaunchError, match="No such file or directory") as raised:
        launch(Start(argv, cwd, str(tmp_path / "train.log")))
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_full_disk_does_not_hold_up_the_run(tmp_path: Path) -> None:
    done = tmp_path / "done"
    program = f"print('x' * 1_000_000, flush=True); open({str(done)!r}, 'w').close()"
    known = launch(Start((sys.executable, "-c", program), str(tmp_path), "/dev/full"))
    try:
        eventually(done.exists, "the end of a program whose output nobody can write")
    finally:
        end_run(known)


def test_the_environment_is_kept_for_us_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "hf_secret")
    with launched(sys.executable, "-c", PROGRAM, log=tmp_path / "train.log") as known:
        place = Path(known.environ_file)
        assert place.stat().st_mode & 0o777 == 0o600
        assert place.parent.stat().st_mode & 0o777 == 0o700
        assert launch_store.environ_of(known.environ_file)["MY_TOKEN"] == "hf_secret"
        assert b"hf_secret" not in msgspec.json.encode(known)


ODD = (("LATIN", b"\xff\xfe=\xe9"), ("PRIVATE", "\U0010dcff\U0010dc80".encode()), ("UTF8", "é–漢\n".encode()), ("EMPTY", b""))
"""Values that no rule about text holds for."""
TELL = """
import os, resource, sys
names = sys.argv[1].split()
mask = [line.split()[1] for line in open('/proc/self/status') if line.startswith('Umask')]
print([os.environb.get(name.encode()) for name in names], [os.fsencode(word) for word in sys.argv[2:]])
print(resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_CORE), *mask)
print(os.nice(0), open('/proc/self/oom_score_adj').read().strip(), flush=True)
import time; time.sleep(600)
"""


def test_bytes_limits_and_umask_of_the_old_run_are_those_of_the_new_one(tmp_path: Path) -> None:
    """What a shell set before the command is in no environment: a restart from another shell must still have it."""
    log = tmp_path / "train.log"
    words = [sys.executable, "-c", TELL, " ".join(name for name, _ in ODD), b"\xff\xfe", "a b", "", "é\n", ""]

    def as_a_shell_did() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (777, min(7777, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.umask(0o027)
        os.nice(3)
        Path("/proc/self/oom_score_adj").write_text("300")

    environ = {**os.environb, **{name.encode(): value for name, value in ODD}}
    with log.open("wb") as output:
        old = subprocess.Popen(words, stdout=output, cwd=tmp_path, env=environ, start_new_session=True, preexec_fn=as_a_shell_did)
    new: Launch | None = None
    try:
        eventually(lambda: log.read_bytes().count(b"\n") == 3)
        told = asked(log, watch(log))
        plan = restart_plan.restart_plan(watch(log), told, ME, None, (str(log),))
        assert isinstance(plan, Plan)
        plan = msgspec.json.decode(msgspec.json.encode(plan), type=Plan)
        steps = list(execute(plan, open_table()))
        old.wait(PATIENCE_S)
        assert steps[-1].kind == "proof", steps
        new = launch_store.latest(str(log))
        lines = eventually(lambda: now if len(now := log.read_bytes().splitlines()) == 6 else None)
        assert lines[3:] == lines[:3]
        assert b"(777, " in lines[4]
        assert lines[4].endswith(b"0027")
        assert lines[5] == b"%d 300" % min(19, os.nice(0) + 3)
        again = asked(log, watch(log))
        assert again.launch is not None
        assert again.launch.conditions == told.launch.conditions
    finally:
        end_group(old)
        if new is not None:
            end_run(new)


def test_a_run_that_went_to_another_folder_is_started_where_it_was_started(tmp_path: Path) -> None:
    log, there = tmp_path / "train.log", tmp_path / "outputs"
    there.mkdir()
    (tmp_path / "main.py").write_text("import os, time; os.chdir('outputs'); print('here', flush=True); time.sleep(600)")
    with (
        log.open("wb") as output,
        running(sys.executable, "main.py", stdout=output, cwd=tmp_path, env={**os.environ, "PWD": str(tmp_path)}),
    ):
        eventually(lambda: log.read_bytes())
        told = asked(log, watch(log))
        assert told.launch is not None
        assert told.launch.cwd == str(tmp_path)
        assert told.interfaces == interfaces()


def test_the_network_interfaces_that_are_up_are_read_without_asking_their_drivers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, flags in {"lo": "0x9", "ib0": "0x1043", "eth7": "0x1003", "docker0": "0x1002"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "flags").write_text(f"{flags}\n")
    (tmp_path / "bonding_masters").touch()
    monkeypatch.setattr(launch_source, "NET", str(tmp_path))
    assert interfaces() == ("eth7", "ib0")
    monkeypatch.setattr(launch_source, "NET", str(tmp_path / "none"))
    assert interfaces() == ()


def test_a_variable_that_is_no_text_does_not_keep_a_run_from_starting(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    program = "import os; print(os.environb[b'LATIN'], flush=True)"
    command = [
        sys.executable,
        "-m",
        "hangtop",
        "run",
        "--log",
        str(log),
        "--plain",
        "--",
        "A=1",
        sys.executable,
        "-c",
        program,
        b"\xff",
    ]
    with subprocess.Popen(
        command, env={**os.environb, b"LATIN": b"\xff\xfe"}, stdout=subprocess.PIPE, start_new_session=True
    ) as shown:
        try:
            eventually(lambda: log.exists() and log.read_text() == "b'\\xff\\xfe'\n", "the line of the run")
        finally:
            os.killpg(shown.pid, signal.SIGKILL)
    known = launch_store.latest(str(log))
    assert known is not None
    assert known.argv[:2] == ("env", "A=1")
    eventually(lambda: (now := launch_store.of_process(known.pid, known.start_ticks)) and now.exit_code == 0, "its end")


def test_an_environment_that_an_older_hangtop_kept_is_read() -> None:
    place = launch_store.folder() / "old.environ"
    place.write_bytes(b'{"A":"1","B":"x=y"}')
    assert launch_store.environ_of(str(place)) == {"A": "1", "B": "x=y"}


def watch(log: Path) -> RunState:
    """The state once the process source knows the run."""
    source = ProcessSource(ProbeContext(WatchSpec(logs=(str(log),))))

    def look() -> RunState | None:
        for value in source.read(time.time()):
            if isinstance(value, ProcessReading) and value.processes:
                return RunState(procs=value)
        return None

    return eventually(look, "a process of the run")


def asked(log: Path, state: RunState) -> LaunchReading:
    source = LaunchSource(ProbeContext(WatchSpec(logs=(str(log),))))
    (reading,) = source.answer(restart_plan.launch_ask(state, 1), time.time())
    assert isinstance(reading, LaunchReading)
    return reading


ME = OwnProcess(os.getpid(), frozenset({os.getppid()}), os.geteuid())


def test_a_run_that_hangtop_did_not_start_is_started_again_as_it_was(tmp_path: Path) -> None:
    """Read from the living process: argv with blanks, folder, environment, where its output goes; then a preset on top."""
    log = tmp_path / "train.log"
    environ = {**os.environ, "MY_TOKEN": "hf_secret value"}
    with log.open("wb") as output:
        argv = [sys.executable, "-c", PROGRAM, "a b"]
        old = subprocess.Popen(argv, stdout=output, cwd=tmp_path, env=environ, start_new_session=True)
    new: Launch | None = None
    try:
        eventually(lambda: b"attempt" in log.read_bytes())
        state = watch(log)
        told = asked(log, state)
        assert b"hf_secret" not in msgspec.json.encode(told)
        plan = restart_plan.restart_plan(state, told, ME, None, (str(log),))
        assert isinstance(plan, Plan)
        assert [target.pid for target in plan.targets] == [old.pid]
        plan = with_presets(plan, [preset for preset in presets() if preset.id == "nccl"])
        steps = list(execute(plan, open_table()))
        assert old.wait(PATIENCE_S) == -signal.SIGTERM
        assert [step.kind for step in steps][-1] == "proof"
        new = launch_store.latest(str(log))
        assert new is not None
        assert new.attempt == 2
        lines = eventually(lambda: now.splitlines() if (now := log.read_text()).count("\n") == 2 else None)
        assert lines == [f"attempt - hf_secret value {tmp_path}", f"attempt INFO hf_secret value {tmp_path}"]
        again = asked(log, watch(log))
        assert again.launch == new
        assert launch_store.environ_of(new.environ_file).get("NCCL_DEBUG") is None
    finally:
        end_group(old)
        if new is not None:
            end_run(new)


def test_nothing_is_started_while_something_of_the_old_run_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its supervisor starts it again: a second run beside it would fight for GPUs and ports."""
    from hangtop.actions.execute import terminate

    monkeypatch.setattr(terminate, "RESTARTED_WITHIN_S", PATIENCE_S)
    log = tmp_path / "train.log"
    run = "import sys, time; f = open(sys.argv[1], 'a'); print('x', file=f, flush=True); time.sleep(600)"
    supervisor = f"import subprocess, sys\nwhile True: subprocess.run([sys.executable, '-c', {run!r}, sys.argv[1]])"
    process = subprocess.Popen([sys.executable, "-c", supervisor, str(log)], start_new_session=True)
    try:
        eventually(lambda: log.exists() and log.stat().st_size)
        state = watch(log)
        told = asked(log, state)
        first = restart_plan.top(state.procs)
        assert first is not None
        assert not isinstance(first, Refusal)
        plan = restart_plan.restart_plan(state, told, ME, None, (str(log),))
        assert isinstance(plan, Plan)
        assert any("may go on with its next line" in warning for warning in plan.warnings)
        steps = list(execute(plan, open_table()))
        assert steps[-1].kind == "failed"
        assert "nothing was started" in steps[-1].text
        known = launch_store.latest(str(log))
        assert known is not None
        assert known.attempt == 1
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE_S)


def test_a_run_that_is_gone_and_was_not_started_by_hangtop_is_refused(tmp_path: Path) -> None:
    (reading,) = LaunchSource(ProbeContext(WatchSpec(logs=(str(tmp_path / "train.log"),)))).answer(LaunchAsk(1), time.time())
    assert isinstance(reading, LaunchReading)
    refused = restart_plan.restart_plan(RunState(), reading, ME, None, ())
    assert isinstance(refused, Refusal)
    assert "hangtop did not start it" in refused.why


def test_from_the_shell_a_command_after_two_dashes_is_run_and_watched(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    command = [sys.executable, "-m", "hangtop", "--log", str(log), "--plain", "--", sys.executable, "-c", PROGRAM, "--log"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as shown:
        known = None
        try:
            known = eventually(lambda: launch_store.latest(str(log)), "the start of the run")
            eventually(lambda: b"attempt" in log.read_bytes())
            assert known.argv[-1] == "--log"
        finally:
            os.killpg(shown.pid, signal.SIGKILL)
            if known is not None:
                table = open_table()
                table.refresh(())
                assert table.stats[known.pid].state not in "ZX"
                end_run(known)
