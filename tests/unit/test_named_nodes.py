"""Where the nodes of a run are: named, or asked of Slurm and Kubernetes by stand-ins with the real command lines."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest

from hangtop.cli.nodes import nodes_of
from hangtop.probe.nodes.launchers import command


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def says(folder: Path, name: str, script: str) -> None:
    """A command of this name that writes its arguments beside it."""
    file = folder / name
    file.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" > {folder / name}.asked\n{script}\n')
    file.chmod(0o755)


def test_named_hosts_are_reached_by_ssh_or_by_the_launcher_that_is_given() -> None:
    assert nodes_of({"hosts": "n1, n2,n1"}) == (("n1", "n2"), "")
    assert nodes_of({"hosts": "n1", "launcher": "rsh {host} {probe}"}) == (("n1",), "rsh {host} {probe}")


def test_the_nodes_of_a_slurm_job_are_asked_of_slurm_and_our_own_is_left_out(tool: Path) -> None:
    says(tool, "squeue", "echo 'n[1-2],here'")
    says(tool, "scontrol", f"printf 'n1\\nn2\\n{os.uname().nodename}\\n'")
    hosts, launcher = nodes_of({"slurm": "4711"})
    assert hosts == ("n1", "n2")
    assert (tool / "squeue.asked").read_text() == "--noheader --jobs 4711 --format %N\n"
    assert (tool / "scontrol.asked").read_text() == "show hostnames n[1-2],here\n"
    words = command(launcher, "n2")
    assert words[:2] == ("srun", "--jobid=4711")
    assert "--overlap" in words
    assert "--nodelist=n2" in words


def test_the_pods_of_a_selector_are_asked_of_kubernetes(tool: Path) -> None:
    says(tool, "kubectl", "printf 'pod/job-0\\npod/job-1\\n'")
    hosts, launcher = nodes_of({"k8s": "app=train"})
    assert hosts == ("job-0", "job-1")
    assert "--selector=app=train" in (tool / "kubectl.asked").read_text()
    assert command(launcher, "job-1")[:5] == ("kubectl", "exec", "-i", "job-1", "--")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"slurm": "4711; rm -rf /"}, "no number of a job"),
        ({"slurm": "1", "hosts": "n1"}, "--hosts and --slurm"),
        ({"launcher": "rsh {host} {probe}"}, "which nodes"),
        ({"launcher": "rsh {host} {probe}", "k8s": "a=b"}, "which nodes"),
        ({"hosts": "-oProxyCommand=x"}, "no host name"),
        ({"hosts": "n1", "launcher": "rsh {host}"}, "it needs"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_reason(given: dict[str, str], said: str) -> None:
    with pytest.raises(click.UsageError, match=said):
        nodes_of(given)


def test_a_cluster_that_does_not_tell_is_named_with_its_own_words(tool: Path) -> None:
    says(tool, "squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1")
    with pytest.raises(click.UsageError, match="Invalid job id"):
        nodes_of({"slurm": "12"})
    says(tool, "squeue", "true")
    with pytest.raises(click.UsageError, match="has no nodes now"):
        nodes_of({"slurm": "12"})
    says(tool, "kubectl", "true")
    with pytest.raises(click.UsageError, match="no other pod runs"):
        nodes_of({"k8s": "app=x"})


def test_a_cluster_whose_command_is_not_here_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(click.UsageError, match="run hangtop where kubectl is"):
        nodes_of({"k8s": "app=x"})
