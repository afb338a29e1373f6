"""The other nodes that a run's own processes name: its Slurm job, the hosts of its launcher, or the place where its ranks meet.
They are offered to a person, and never entered unasked."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress

from hangtop.common.clean_words import clean_words
from hangtop.records.nodes import NamedNodes
from hangtop.records.process import Rendezvous
from hangtop.system.processes.environments import ProcessFacts
from hangtop.system.processes.roles import LAUNCHERS, program

MOST_BYTES, MOST_HOSTS = 64 << 10, 64
HOSTFILE = frozenset(("--hostfile", "-hostfile", "--machinefile", "-machinefile", "--deepspeed_hostfile"))
HOSTS = frozenset(("-H", "--host", "-host", "--hosts"))
"""mpirun(1), horovodrun, deepspeed --help."""
HOST = re.compile(r"^[A-Za-z0-9][\w.-]*$")


def named_nodes(processes: Iterable[ProcessFacts], met: Rendezvous | None) -> NamedNodes | None:
    """What would show them, and who says so. Reads the launcher's host file. `None` where nothing names another node."""
    known = list(processes)
    for facts in known:
        job, number = facts.environ.get("SLURM_JOB_ID", ""), facts.environ.get("SLURM_JOB_NUM_NODES", "")
        if job.isdecimal() and number.isdecimal() and int(number) > 1:
            return NamedNodes(("--slurm", job), "SLURM_JOB_NUM_NODES")
    for facts in known:
        if LAUNCHERS.search(program(facts.command)) and (found := _of_launcher(facts.command)) is not None:
            return found
    if met is not None and met.listening is False and _others([met.address]):
        return NamedNodes(("--hosts", met.address), "MASTER_ADDR")
    return None


def _of_launcher(command: Sequence[str]) -> NamedNodes | None:
    for word, value in _options(command):
        hosts: list[str] = []
        if word in HOSTS:
            hosts = [part.partition(":")[0] for part in value.split(",")]
        elif word in HOSTFILE and value.startswith("/"):
            hosts = _in_file(value)
        if others := _others(hosts):
            return NamedNodes(("--hosts", ",".join(others)), clean_words(f"{word} {shlex.quote(value)}"))
    return None


def _options(command: Sequence[str]) -> Iterable[tuple[str, str]]:
    for place, word in enumerate(command):
        name, equals, value = word.partition("=")
        if equals and name.startswith("-"):
            yield name, value
        elif place + 1 < len(command):
            yield word, command[place + 1]


def _in_file(path: str) -> list[str]:
    """The first word of each line: `n1 slots=8`, `n1:8`, `n1`."""
    with suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
        lines = file.read(MOST_BYTES).splitlines()
        return [line.split()[0].partition(":")[0] for line in lines if line.strip() and not line.lstrip().startswith("#")]
    return []


def _others(hosts: Iterable[str]) -> list[str]:
    """Those that are host names, and not this machine's."""
    here = os.uname().nodename
    own = {here, here.partition(".")[0], "localhost", "127.0.0.1"}
    found = dict.fromkeys(host for host in hosts if HOST.match(host) and host not in own and host.partition(".")[0] not in own)
    return list(found)[:MOST_HOSTS]
