"""Writers of a log that only copy what comes to them from elsewhere: `kubectl logs -f`, `ssh host …`, `docker logs -f`. The run
is behind them. That they are such is told by what they do (`hangtop.probe.processes.copying`), their names only say where to
look. Pure."""

from __future__ import annotations

import contextlib
import re
from getopt import GetoptError, getopt

from msgspec import Struct
from msgspec.structs import replace

from hangtop.records.nodes import node_of
from hangtop.records.process import ProcessReading, Writer
from hangtop.state.run_state import RunState


class RemoteClient(Struct, frozen=True):
    """A program that shows a run elsewhere. `when`: what its command line must contain, if anything. `where`: where the run goes
    on; `{}` stands for the last word of the command line."""

    names: frozenset[str]
    where: str
    when: re.Pattern[str] | None = None


SHOWS = re.compile(r"\s(?:logs|exec|attach)\s")
FOLLOWS = re.compile(r"\s-(?:-follow|\w*[fF])")
CLIENTS = (
    RemoteClient(frozenset(("kubectl", "oc")), "in its pod", SHOWS),
    RemoteClient(frozenset(("docker", "podman", "nerdctl")), "in its container", SHOWS),
    RemoteClient(frozenset(("tail",)), "where {} is written", FOLLOWS),
    RemoteClient(frozenset(("journalctl",)), "with its service", FOLLOWS),
    RemoteClient(frozenset(("sattach",)), "in its Slurm step"),
)
SSH_OPTIONS = "46AaCfGgKkMNnqsTtVvXxYyB:b:c:D:E:e:F:I:i:J:L:l:m:O:o:P:p:Q:R:S:W:w:"
"""As getopt(3) reads those of ssh(1)."""


class Copier(Struct, frozen=True):
    """The process that copies the log. `stopped`: by a signal or a debugger; then nothing is copied."""

    writer: Writer
    stopped: bool = False

    @property
    def text(self) -> str:
        """`kubectl writes this log: the run itself is elsewhere, in its pod`."""
        where = where_the_run_is(self.writer.command)
        return f"{self.writer.name} writes this log: the run itself is elsewhere" + (f", {where}" if where else "")


def copier_of(procs: ProcessReading | None) -> Copier | None:
    """The copier, where the log has no other writer: the one that lives, else the one that ended last."""
    writers = procs.writers if procs is not None else ()
    living = [writer for writer in writers if writer.alive]
    if procs is None or not writers or not all(writer.copies for writer in living or writers):
        return None
    last = max(writers, key=lambda writer: (writer.alive, writer.copies, writer.gone_at or 0.0))
    if not last.copies:
        return None
    states = {process.pid: process.state for process in procs.processes}
    return Copier(last, stopped=last.alive and states.get(last.pid, "S") in "Tt")


def without_copiers(state: RunState) -> RunState:
    """The state without processes that only copy: none of them is the run. On other nodes that were named it is seen as it is."""
    if state.procs is None or (copier := copier_of(state.procs)) is None:
        return state
    there = tuple(process for process in state.procs.processes if node_of(process.pid))
    gone = tuple(process for process in state.procs.ended if node_of(process.pid))
    here = replace(state.procs, processes=(), ended=(), note=copier.text)
    processes = {host: here if host == state.here else reading for host, reading in state.processes.items()}
    return replace(state, procs=replace(here, processes=there, ended=gone), processes=processes)


def where_the_run_is(command: str) -> str | None:
    """Where the run behind a client with this command line goes on: `in its pod`; `None` where the program is not known."""
    words = command.split()
    name = words[0].rpartition("/")[2] if words else ""
    if name == "ssh":
        with contextlib.suppress(GetoptError):
            return next((f"on {host}" for host in getopt(list(words[1:]), SSH_OPTIONS)[1]), None)
    for client in CLIENTS:
        if name in client.names and (client.when is None or client.when.search(" ".join(words))):
            return client.where.format(words[-1])
    return None
