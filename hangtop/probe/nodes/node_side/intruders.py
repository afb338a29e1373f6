"""Whether somebody else has started a run meanwhile: nothing starts beside a copy of itself. The rule for its output is that of
`hangtop.actions.prove.premise`."""

from __future__ import annotations

import os

from hangtop.probe.nodes.node_side.births import START, Identity, all_stats, commands_of
from hangtop.probe.nodes.node_side.proc import files_of, link, raw_text, to_os


class Before:
    """What there was before the first signal. `pid`: what is to start again; `output`: the file that it will write."""

    def __init__(self, pid: int, output: str) -> None:
        self.output, self.folder = output, link(f"/proc/{pid}/cwd")
        self.command = commands_of([pid]).get(pid, "")
        self.there = {(each, who[START]) for each, who in all_stats().items()}
        self.writers = writers(output)

    def intruder(self, ended: set[Identity]) -> str | None:
        """In one line, who writes the output now, or runs the same command in the same folder. `ended`: what was ended here."""
        for pid, _ in sorted(writers(self.output) - self.writers - ended):
            return f"pid {pid} began to write to {self.output} meanwhile: somebody else has started it"
        known = self.there | ended
        came = [pid for pid, who in all_stats().items() if (pid, who[START]) not in known]
        beside = [pid for pid in came if self.folder and link(f"/proc/{pid}/cwd") == self.folder]
        for pid, command in commands_of(beside).items():
            if command and command == self.command:
                return f"pid {pid} runs the same command in the same folder: somebody else has started it"
        return None


def writers(output: str) -> set[Identity]:
    """Who has this file open for writing, as far as we may see it."""
    path = raw_text(os.path.realpath(to_os(output)))
    logs = frozenset((path,))
    return {
        (pid, who[START])
        for pid, who in all_stats().items()
        if any(target == path and may_write for _, target, may_write in files_of(pid, logs))
    }
