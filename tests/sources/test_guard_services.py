"""The services that `hangtop guard --print` shows: each is run, by the real thing where it is here."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import click
import pytest

from hangtop.cli.commands.guard import service
from hangtop.cli.main import hangtop
from tests.fakes import user_systemd
from tests.fakes.ports import free_port
from tests.fakes.processes import PATIENCE_S, eventually, running
from tests.fakes.user_systemd import UserSystemd

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only"),
    pytest.mark.xdist_group("guard"),
    pytest.mark.side_by_side,
]

needs_systemd = pytest.mark.skipif(bool(user_systemd.missing()), reason=user_systemd.missing() or "it is here")
HERE = "[Service]\nRestartSec=1\nWatchdogSec=15\nStandardError=append:{journal}\n"
TRAINS = (
    "import sys, time\nfor step in range(100000):\n    print(f'step {step}/100000 loss=1.0', flush=True)\n    time.sleep(1)\n"
)


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_the_systemd_unit_is_one(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("no systemd-analyze here")
    unit = tmp_path / "hangtop-guard@.service"
    unit.write_text(service("systemd").replace("%h/.local/bin/hangtop", "/bin/true"))
    checked = subprocess.run([analyze, "--user", "verify", str(unit)], capture_output=True, text=True, timeout=60)
    assert str(unit) not in checked.stderr, checked.stderr


def installed(home: Path, policy: str) -> str:
    """The unit and what it names, as a person puts them; which instance watches `train.log` there."""
    units = home / ".config/systemd/user"
    (units / "hangtop-guard@.service.d").mkdir(parents=True)
    (units / "hangtop-guard@.service").write_text(service("systemd"))
    (units / "hangtop-guard@.service.d/here.conf").write_text(HERE.format(journal=home / "journal"))
    program(home / ".local/bin/hangtop", f'exec {sys.executable} -m hangtop "$@"')
    (home / ".config/hangtop").mkdir()
    (home / ".config/hangtop/guard.toml").write_text(policy)
    escaped = subprocess.run(("systemd-escape", "--path", home / "train.log"), capture_output=True, text=True, timeout=60)
    return f"hangtop-guard@{escaped.stdout.strip()}.service"


def pid_of(manager: UserSystemd, unit: str) -> int:
    """The guard that watches now."""
    return int(manager.told(unit, "MainPID")) if manager.told(unit, "ActiveState") == "active" else 0


def another(manager: UserSystemd, unit: str, pid: int) -> int:
    """The guard that came after this one."""
    return eventually(lambda: found if (found := pid_of(manager, unit)) != pid else 0, "the next guard")


@needs_systemd
def test_the_service_goes_on_when_the_guard_is_killed_or_stuck_and_ends_with_the_run(tmp_path: Path) -> None:
    unit = installed(tmp_path, '[[when]]\nevent = "hung"\ndo = "stacks"\n')
    with (
        (tmp_path / "train.log").open("wb") as log,
        running(sys.executable, "-c", TRAINS, stdout=log) as run,
        user_systemd.user_systemd(tmp_path) as manager,
    ):
        assert manager.ctl("start", unit) == (0, ""), "ready with its first look"
        first = pid_of(manager, unit)
        os.kill(first, signal.SIGKILL)
        second = another(manager, unit, first)
        os.kill(second, signal.SIGSTOP)
        another(manager, unit, second)
        assert run.poll() is None
        with (tmp_path / "train.log").open("ab") as last:
            last.write(b"training finished\n")
        run.kill()
        run.wait()
        eventually(lambda: manager.told(unit, "ActiveState") in ("inactive", "failed"), "the end of the service")
        told = [manager.told(unit, name) for name in ("ActiveState", "Result", "ExecMainStatus")]
    assert told == ["inactive", "success", "0"], (tmp_path / "journal").read_text()


@needs_systemd
def test_a_service_whose_policy_makes_no_sense_says_so_and_is_not_started_again(tmp_path: Path) -> None:
    unit = installed(tmp_path, '[[when]]\nevent = "slow"\ndo = "stop"\n')
    (tmp_path / "train.log").write_text("step 1/9\n")
    with user_systemd.user_systemd(tmp_path) as manager:
        assert manager.ctl("start", unit)[0] != 0
        eventually(lambda: manager.told(unit, "ActiveState") == "failed", "the end of the service")
        told = [manager.told(unit, name) for name in ("ExecMainStatus", "NRestarts")]
    assert told == ["2", "0"]
    assert "guard.toml:3: key when[0].do: stop at slow" in (tmp_path / "journal").read_text()


def test_the_sidecar_is_a_pod_of_kubernetes() -> None:
    yaml = pytest.importorskip("yaml", reason="no PyYAML here")
    client = pytest.importorskip(
        "kubernetes.client", reason="no kubernetes here: its classes are made from the schema of its API"
    )
    pod, api = yaml.safe_load(service("k8s")), client.ApiClient()
    read = api.deserialize(json.dumps(pod), "V1Pod", "application/json")
    assert api.sanitize_for_serialization(read) == pod, "a field that the schema has not is lost"


LIKE_A_CONTAINER = (
    "chown",
    "dac_override",
    "fowner",
    "fsetid",
    "kill",
    "setgid",
    "setuid",
    "setpcap",
    "net_raw",
    "sys_chroot",
    "mknod",
)
"""Capabilities that container runtimes leave to root by default."""
TWO_CONTAINERS = """
inside() { unshare --mount sh -c "mount --bind volume $1/logs && exec setpriv --bounding-set -all,$2 ./$1.sh"; }
inside train %s &
inside guard %s
"""
SLEEPS = "import time; print('step 1/9 loss=1.0', flush=True); time.sleep(600)"
alone = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("setpriv") or not shutil.which("unshare"),
    reason="needs root, setpriv(1) and unshare(1)",
)


@alone
def test_the_sidecar_watches_the_run_of_the_other_container_and_ends_with_it(tmp_path: Path) -> None:
    """Two mount namespaces with one volume in one pid namespace, and the capabilities of the example."""
    yaml = pytest.importorskip("yaml", reason="no PyYAML here")
    spec = yaml.safe_load(service("k8s"))["spec"]
    train, beside = spec["containers"]
    assert spec["shareProcessNamespace"] is True
    for folder in ("volume", "train/logs", "guard/logs", "policy", "bin"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "policy/guard.toml").write_text('[[when]]\nevent = "stalled"\ndo = "stacks"\n')
    program(tmp_path / "bin/hangtop", f'exec {sys.executable} -m hangtop "$@"')
    program(tmp_path / "bin/torchrun", f'exec {sys.executable} -c "{SLEEPS}"')
    alive, figures = free_port(), free_port()
    places = {"/policy/": f"{tmp_path}/policy/", "9646": str(alive), "9645": str(figures)}
    program(tmp_path / "train.sh", command_of(train, {"/logs/": f"{tmp_path}/train/logs/"}))
    program(tmp_path / "guard.sh", command_of(beside, {"/logs/": f"{tmp_path}/guard/logs/", **places}))
    added = [name.lower() for name in beside["securityContext"]["capabilities"]["add"]]
    text = TWO_CONTAINERS % (capabilities(), capabilities(*added))
    environ = {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "XDG_STATE_HOME": str(tmp_path / "state")}
    own = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", text)
    with running(*own, env=environ, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as both:
        eventually(lambda: "looked" in asked(f"http://127.0.0.1:{alive}/healthz"), "the guard")
        for what in ("hangtop_processes 1.0", "hangtop_step 1.0"):
            eventually(lambda: what in asked(f"http://127.0.0.1:{figures}/metrics"), what)  # noqa: B023 - asked at once
        with (tmp_path / "volume/train.log").open("ab") as last:
            last.write(b"training finished\n")
        said, journal = both.communicate(timeout=PATIENCE_S)
    assert json.loads(said.splitlines()[-1])["text"] == "ends", journal.decode()


def command_of(container: dict[str, list[str]], places: dict[str, str]) -> str:
    """The words of a container as a line of the shell, with what stands for its paths and ports here."""
    words = container["command"]
    for there, here in places.items():
        words = [word.replace(there, here) for word in words]
    return f"exec {shlex.join(words)}"


def capabilities(*added: str) -> str:
    return ",".join(f"+{name}" for name in (*LIKE_A_CONTAINER, *added))


def asked(url: str) -> str:
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
            return str(answer.read().decode())
    except OSError:
        return ""


SLURM = {
    "hangtop": "while [ $1 != -- ]; do shift; done; shift; exec $@",
    "torchrun": 'trap "exit 9" TERM; echo started; i=0; while [ $i -lt 600 ]; do sleep 0.1; i=$((i+1)); done',
    "scontrol": 'echo "$@" >> requeued',
}


@pytest.mark.parametrize(
    ("does", "code", "requeued"), [("exit 75", 75, True), ("exit 3", 3, False), (SLURM["torchrun"], 9, False)]
)
def test_the_slurm_job_ends_as_the_run_and_is_requeued_only_if_that_hung(
    tmp_path: Path, does: str, code: int, *, requeued: bool
) -> None:
    for name, text in (SLURM | {"torchrun": does}).items():
        program(tmp_path / name, text)
    (tmp_path / "job").write_text(service("slurm"))
    environ = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_JOB_ID": "7"}
    with running("bash", "job", cwd=tmp_path, env=environ, stdout=subprocess.PIPE) as job:
        if "started" in does:
            assert job.stdout is not None
            assert job.stdout.readline() == b"started\n"
            job.send_signal(signal.SIGTERM)
        job.wait(PATIENCE_S)
        assert (job.returncode, (tmp_path / "requeued").exists()) == (code, requeued)


@pytest.mark.parametrize(("fit", "held"), [(True, ""), (False, "requeuehold 7\n")])
def test_the_prolog_of_slurm_holds_the_job_of_an_unfit_node_back(tmp_path: Path, *, fit: bool, held: str) -> None:
    program(tmp_path / "hangtop", f"exit {0 if fit else 1}")
    program(tmp_path / "scontrol", SLURM["scontrol"])
    environ = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_JOB_ID": "7"}
    subprocess.run(("sh", "-c", said_of_slurm("Prolog")), cwd=tmp_path, env=environ, timeout=PATIENCE_S, check=False)
    asked = tmp_path / "requeued"
    assert (asked.read_text() if asked.exists() else "") == held


@pytest.mark.parametrize("when", ["Prolog", "Epilog"])
def test_what_prolog_and_epilog_of_slurm_run_is_a_command_of_hangtop(when: str) -> None:
    name, *words = shlex.split(said_of_slurm(when).removeprefix("hangtop ").partition("||")[0])
    command = hangtop.get_command(click.Context(hangtop), name)
    assert command is not None
    command.make_context(name, words)


def said_of_slurm(when: str) -> str:
    """The command that the example names for this time."""
    (line,) = [line for line in service("slurm").splitlines() if line.startswith(f"#   {when}")]
    return line.partition(":")[2].strip()
