"""Nothing of a run is ended that could not be started again: bad commands, lost files, full disks. Real processes, files and
shells."""

from __future__ import annotations

import errno
import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

import msgspec
import pytest
from msgspec.structs import replace

from hangtop.actions.command_line.typed import command
from hangtop.actions.execute import client
from hangtop.actions.execute.client import RunningPlan, check_start, wait_for_start_check
from hangtop.actions.execute.executor import execute
from hangtop.actions.prove import preflight
from hangtop.cli.commands.action import show
from hangtop.common.raw_text import from_os
from hangtop.records.launch import Conditions
from hangtop.records.plan import FitAsk, Plan, RayStart, Removal, Start, Target
from hangtop.system.processes.open_table import open_table
from hangtop.system.stores import launch_store
from tests.fakes.launched import needs_root
from tests.fakes.processes import PATIENCE_S, python

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only")

SLEEP = "import time; print(flush=True); time.sleep(600)"


@pytest.fixture(autouse=True)
def _own_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a run: a script, a package, a shell script, a launcher of its own."""
    folder = tmp_path / "run"
    (folder / "pkg" / "sub").mkdir(parents=True)
    (folder / "train.py").write_text("raise SystemExit('this must never be run')\n")
    (folder / "broken.py").write_text("def f(:\n")
    (folder / "pkg" / "main.py").write_text("raise SystemExit('nor this')\n")
    (folder / "pkg" / "bad.py").write_text("x = = 1\n")
    (folder / "pkg" / "__init__.py").write_text("raise SystemExit('nor this package')\n")
    (folder / "pkg" / "sub" / "deep.py").write_text("raise SystemExit('nor this')\n")
    (folder / "run.sh").write_text("python train.py\n")
    for name, first in (("plain", ""), ("lost", "#!/no/such/python\n"), ("torchrun", f"#!{sys.executable}\n")):
        (folder / name).write_text(f"{first}raise SystemExit\n")
        (folder / name).chmod(0o755)
    return folder


def start(run: Path, text: str, **more: object) -> Start:
    environ = {from_os(name): from_os(value) for name, value in os.environ.items()}
    environ |= {"PATH": f"{os.path.dirname(sys.executable)}:{environ['PATH']}"}
    given = {"environ_file": launch_store.keep_environ(environ), "shell": shutil.which("bash") or "/bin/sh", **more}
    words = command(text, str(given["shell"]))
    return Start(words, str(run), str(run / "train.log"), **given)  # type: ignore[arg-type]


def problems(run: Path, text: str, **more: object) -> str:
    return "\n".join(wait_for_start_check(FitAsk(start(run, text, **more))).problems)


@pytest.mark.parametrize(
    "text",
    [
        "python train.py --lr 2",
        "python -u -m pkg.main a=1",
        "python -m pkg.sub.deep",
        "NCCL_IB_DISABLE=1 python train.py",
        "env -u HOME A=1 nohup nice -n 1 python train.py",
        "timeout 5h python train.py",
        "python -m json.tool",
        "python -c 'x' y",
        "bash run.sh",
        "bash -eux run.sh a b",
        "./torchrun --nproc_per_node 2 train.py",
        "cd pkg && python main.py | tee -a out.txt",
        "export A=1; python train.py > $HOME/x.log 2>&1",
        "python train.py || python no-such-file.py",
        "source no-such-file-in-the-path && no-such-program",
        "for x in 1 2; do no-such-program; done",
        "$PYTHON no-such-file.py",
        "time python train.py",
        "no-such-program || python train.py",
    ],
)
def test_what_can_start_is_not_refused_and_nothing_of_it_is_run(run: Path, text: str) -> None:
    assert problems(run, text) == ""
    assert sorted(path.name for path in run.iterdir()) == [
        "broken.py", "lost", "pkg", "plain", "run.sh", "torchrun", "train.py"
    ]  # fmt: skip
    assert not list(run.rglob("__pycache__"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("no-such-program train.py", "no-such-program: no such program in the PATH of the run"),
        ("./no-such-program", "no-such-program: no such file or directory"),
        ("./train.py", "train.py: may not be run (chmod +x?)"),
        ("./pkg", "pkg: is no program"),
        ("./plain", "plain: is neither a program nor begins with #!"),
        ("./lost", "lost is run by /no/such/python, but /no/such/python: no such file or directory"),
        ("python no-such-file.py", "no-such-file.py: no such file"),
        ("python broken.py", "broken.py line 1: "),
        ("python -m pkg.none", "no module named pkg.none"),
        ("python -m none.at.all", "no module named none"),
        ("python -m pkg.bad", "bad.py line 1: "),
        ("python -m pkg", "pkg is a package without __main__"),
        ("python pkg", "a folder without __main__.py"),
        ("NCCL_IB_DISABLE=1 no-such-program", "no-such-program: no such program"),
        ("PATH=/no/such/bin python train.py", "python: no such program in the PATH of the run; /no/such/bin of its PATH is gone"),
        ("env -i PATH=/no/such python train.py", "python: no such program"),
        ("env -C no-such-folder python train.py", "no-such-folder: no such folder"),
        ("nohup nice -n 1 no-such-program", "no-such-program: no such program"),
        ("bash no-such.sh", "no-such.sh: no such file"),
        ("bash -x no/such.sh", "no/such.sh: no such file"),
        ("./torchrun --nproc_per_node 2 none.py", "none.py: no such file"),
        ("./torchrun --nproc_per_node 2 broken.py", "broken.py line 1"),
        ("python -m pkg.main | no-such-program", "no-such-program: no such program"),
        ("cd no-such-folder && python train.py", "no-such-folder: no such folder"),
        ("cd pkg && python train.py", "pkg/train.py: no such file"),
        ("source venv/bin/activate && python train.py", "venv/bin/activate: no such file"),
        ("python train.py &&", "bash cannot read the command: "),
        ("if python train.py", "bash cannot read the command: "),
    ],
)
def test_what_cannot_start_is_refused_with_the_reason_and_nothing_is_signalled(run: Path, text: str, why: str) -> None:
    """The executor looks again itself, before its first signal."""
    with python(SLEEP, stdout=subprocess.PIPE) as old:
        assert old.stdout is not None
        old.stdout.readline()
        table = open_table()
        table.refresh((old.pid,))
        target = Target(old.pid, table.stats[old.pid].start_ticks, 0.0, "old", "S")
        steps = list(execute(Plan("restart", "Restart", targets=(target,), start=start(run, text)), table))
        said = "\n".join(step.text for step in steps)
        assert {step.kind for step in steps} == {"failed"}, said
        assert "nothing was signalled, because the run could not be started again: " in said
        assert why in said
        assert old.poll() is None


def test_a_virtual_environment_that_vanished_is_seen(run: Path, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    assert problems(run, f"{venv}/bin/python train.py") == ""
    (venv / "bin" / "tool").write_text(f"#!{venv}/bin/python\n")
    (venv / "bin" / "tool").chmod(0o755)
    lost = tmp_path / "python-was-here"
    (venv / "bin" / "python").unlink()
    (venv / "bin" / "python").symlink_to(lost)
    assert f"a link to {lost}, which is gone" in problems(run, f"{venv}/bin/python train.py")
    assert f"tool is run by {venv}/bin/python, but" in problems(run, f"{venv}/bin/tool train.py")


def test_an_interpreter_that_does_not_come_up_is_seen(run: Path) -> None:
    assert "does not start" in problems(run, "PYTHONHOME=/no/such python train.py")


def test_an_edited_script_that_its_shell_does_not_read_is_a_warning(run: Path) -> None:
    """A shell reads a script as it goes: what comes after its `exit` need be none."""
    (run / "run.sh").write_text("exit 0\nif (\n")
    found = wait_for_start_check(FitAsk(start(run, "bash run.sh")))
    assert found.problems == ()
    assert "bash does not read all of run.sh" in found.warnings[0]


def test_the_folder_and_the_log(run: Path) -> None:
    good = start(run, "python train.py")
    assert "no such folder" in wait_for_start_check(FitAsk(replace(good, cwd=str(run / "none")))).problems[0]
    assert "the output goes there" in wait_for_start_check(FitAsk(replace(good, log=str(run / "none" / "x.log")))).problems[0]
    assert "is a directory" in wait_for_start_check(FitAsk(replace(good, log=str(run)))).problems[0]
    os.mkfifo(run / "pipe")
    assert "it is a pipe" in wait_for_start_check(FitAsk(replace(good, log=str(run / "pipe")))).problems[0]
    reader = os.open(run / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    assert (
        "is a pipe: its reader ends with the run"
        in wait_for_start_check(FitAsk(replace(good, log=str(run / "pipe")))).problems[0]
    )
    os.close(reader)
    assert not (run / "train.log").exists()
    assert "its environment is lost" in wait_for_start_check(FitAsk(replace(good, environ_file="/no/such"))).problems[0]


@needs_root
def test_what_another_user_owns_cannot_take_the_output(run: Path) -> None:
    script = "import sys, os, hangtop.actions.prove.preflight as p\n"
    script += "os.setgroups([]); os.setresgid(23001, 23001, 23001); os.setresuid(23001, 23001, 23001)\n"
    script += "print(list(p._log(sys.argv[1])), list(p._folder(sys.argv[2])))"
    (run / "train.log").touch(0o600)
    for folder in (run, *list(run.parents)[:-2]):
        folder.chmod(0o755)
    words = [sys.executable, "-c", script, str(run / "train.log"), str(run)]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert "cannot be appended: permission denied" in said


def test_records_of_starts_that_cannot_be_written_is_a_problem(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = start(run, "python train.py")
    (run / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(run / "file"))
    assert any("a start must be recorded" in problem for problem in wait_for_start_check(FitAsk(made)).problems)


def test_a_full_disk_is_a_problem_and_little_room_a_warning(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for free, kind, words in ((1, "problem", "the disk is full"), (30_000, "warning", "the disk has only"), (10**7, None, "")):
        sizes = os.statvfs_result((4096, 4096, 10**8, free, free, 100, 100, 100, 0, 255))
        monkeypatch.setattr(os, "statvfs", lambda path, sizes=sizes: sizes)
        found = list(preflight._room(str(run)))
        assert [finding[0] for finding in found] == ([kind] if kind else [])
        assert all(words in finding[1] for finding in found)


def test_what_the_plan_itself_removes_is_not_there_any_more(run: Path) -> None:
    """A driver that `ray job submit` started stands in the session's folder."""
    found = wait_for_start_check(FitAsk(start(run, "python train.py"), removed=(str(run),)))
    assert "which this plan removes" in found.problems[0]
    plan = Plan("recover", "r", removals=(Removal(str(run), "session", 0, 0, 0, 0, 0.0, 0),), start=start(run, "python train.py"))
    assert any("which this plan removes" in step.text for step in execute(plan, open_table()))
    assert run.is_dir()


def test_limits_that_cannot_be_as_they_were_are_said(run: Path) -> None:
    """Asked by a user who may not raise them: root may."""
    script = "import resource, os, sys, msgspec\n"
    script += "from hangtop.system.processes.limits import take_on\nfrom hangtop.records.launch import Conditions\n"
    script += "resource.setrlimit(resource.RLIMIT_NOFILE, (256, 512))\n"
    script += "if os.geteuid() == 0: os.setresgid(23001, 23001, 23001); os.setresuid(23001, 23001, 23001)\n"
    script += "print(*take_on(msgspec.json.decode(sys.argv[1], type=Conditions)), sep='\\n')\n"
    script += "print(resource.getrlimit(resource.RLIMIT_NOFILE), oct(os.umask(0)))"
    wanted = msgspec.json.encode(Conditions({"RLIMIT_NOFILE": (4096, 8192)}, umask=0o027, nice=-7))
    done = subprocess.run([sys.executable, "-c", script, wanted], capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    lines = done.stdout.splitlines()
    assert "its limit nofile was 4,096, the new run's is 512: only root may raise it" in lines[0]
    assert f"its nice value was -7, the new run's is {os.nice(0)}" in lines[1]
    assert lines[2] == "(512, 512) 0o27"


def test_a_look_that_hangs_is_a_problem(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "ANSWER_S", 0.0)
    assert (
        "whether it can start is not known: no answer within"
        in wait_for_start_check(FitAsk(start(run, "python train.py"))).problems[0]
    )


async def test_a_full_temporary_folder_does_not_keep_it_from_looking(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "not there"))
    ask = FitAsk(start(run, "python train.py"))
    assert (await check_start(ask)).problems == ()


async def test_where_no_process_can_be_had_nothing_begins_and_the_reason_is_said(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(*_: object) -> NoReturn:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    ask = FitAsk(start(run, "python train.py"))
    monkeypatch.setattr(client, "begin", none_left)
    why = "Resource temporarily unavailable"
    assert (await check_start(ask)).problems == (f"whether it can start is not known: {why}",)
    steps = [step async for step in RunningPlan(Plan("stop", "Stop"))]
    assert [(step.kind, step.text) for step in steps] == [("failed", f"nothing was done: {why}")]


def test_a_plan_that_is_refused_leaves_no_environment_behind(run: Path, tmp_path: Path) -> None:
    kept = launch_store.keep_environ({"RAY_AUTH_TOKEN": "secret"})
    node = RayStart(("ray", "start", "--head"), "/", kept, gcs_address="h:1")
    plan = Plan("recover", "r", ray=(node,), start=start(run, "python gone.py"))
    out = io.StringIO()
    assert show(plan, "recover", yes=True, out=out) == 2
    assert "gone.py: no such file\nnothing was done" in out.getvalue()
    assert not Path(kept).exists()


def test_what_cannot_be_written_whole_is_not_left_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        launch_store.keep_environ({"TOKEN": "secret"})
    assert list(launch_store.place().iterdir()) == []


def test_a_look_that_breaks_off_is_not_called_late(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "PREFLIGHT", "hangtop.no_such_module")
    assert wait_for_start_check(FitAsk(start(run, "python train.py"))).problems == (
        "whether it can start is not known: the look at it broke off",
    )
