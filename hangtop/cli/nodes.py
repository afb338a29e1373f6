"""Which other nodes are watched, and what reaches them: named hosts, those of a Slurm job, or the pods of a selector."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping
from typing import Any

import click

from hangtop.probe.nodes.launchers import SSH, LauncherError, command

LIMIT_S = 15.0
"""A controller that does not answer must not keep the screen away for longer."""
SRUN = "srun --jobid={job} --overlap --nodes=1 --ntasks=1 --quiet --nodelist={{host}} {{probe}}"
"""A step beside those that run (`--overlap`, srun(1)): it takes no CPUs or memory away from them."""
KUBECTL = "kubectl exec -i {host} -- {probe}"

Nodes = tuple[tuple[str, ...], str]
"""Hosts, and the launcher that reaches each; an empty one is ssh."""


def nodes_of(given: Mapping[str, Any]) -> Nodes:
    """The nodes that the options name. Exit 2 for what cannot be used, or where Slurm or Kubernetes does not tell."""
    ways = [f"--{way}" for way in ("hosts", "slurm", "k8s") if given.get(way)]
    launcher = given.get("launcher") or ""
    if len(ways) > 1:
        raise click.UsageError(f"{' and '.join(ways)}: one of them says where the nodes are")
    if launcher and ways != ["--hosts"]:
        raise click.UsageError("--launcher: which nodes? give --hosts H1,H2")
    if given.get("slurm"):
        return of_slurm(given["slurm"])
    if given.get("k8s"):
        return of_kubernetes(given["k8s"])
    hosts = tuple(dict.fromkeys(host.strip() for host in (given.get("hosts") or "").split(",") if host.strip()))
    try:
        for host in hosts:
            command(launcher or SSH, host)
    except LauncherError as error:
        raise click.UsageError(f"--hosts, --launcher: {error}") from error
    return hosts, launcher


def of_slurm(job: str) -> Nodes:
    """The nodes of this job but our own (squeue(1), scontrol(1))."""
    if not job.isdecimal():
        raise click.UsageError(f"--slurm: {job!r} is no number of a job: squeue --me")
    nodelist = _said("--slurm", "squeue", "--noheader", "--jobs", job, "--format", "%N").strip()
    if not nodelist:
        raise click.UsageError(f"--slurm: job {job} has no nodes now: squeue --jobs {job}")
    hosts = _said("--slurm", "scontrol", "show", "hostnames", nodelist).split()
    here = os.uname().nodename.partition(".")[0]
    return tuple(host for host in hosts if host.partition(".")[0] != here), SRUN.format(job=job)


def of_kubernetes(selector: str) -> Nodes:
    """The running pods of this selector, in the namespace that kubectl would use."""
    words = ("get", "pods", f"--selector={selector}", "--field-selector=status.phase=Running", "--output=name")
    pods = _said("--k8s", "kubectl", *words).split()
    here = os.uname().nodename
    hosts = tuple(name for pod in pods if (name := pod.removeprefix("pod/")) != here)
    if not hosts:
        raise click.UsageError(f"--k8s: no other pod runs there: kubectl get pods --selector={shlex.quote(selector)}")
    return hosts, KUBECTL


def _said(option: str, *words: str) -> str:
    """What a command of the cluster prints. Exit 2 where it is not there, fails, or does not answer."""
    line = shlex.join(words)
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise click.UsageError(f"{option}: no answer within {LIMIT_S:g} s: {line}") from error
    except OSError as error:
        raise click.UsageError(f"{option}: {words[0]}: {error.strerror}; run hangtop where {words[0]} is") from error
    if done.returncode:
        said = next((text.strip() for text in reversed(done.stderr.splitlines()) if text.strip()), f"code {done.returncode}")
        raise click.UsageError(f"{option}: {line}: {said}")
    return done.stdout
