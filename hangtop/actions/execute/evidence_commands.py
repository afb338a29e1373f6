"""Commands of hangtop itself that gather evidence before anything is ended: each a child with a deadline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hangtop.actions.execute.command_run import run_command
from hangtop.actions.execute.steps import CancelFlag, step
from hangtop.common import text
from hangtop.records.plan import EvidenceCommand, Step
from hangtop.system.hangtop_child import hangtop_command


def run_all(commands: Iterable[EvidenceCommand], halt: CancelFlag) -> Iterator[Step]:
    """One after another. A command that fails is reported, and holds nothing up."""
    for command in commands:
        if halt():
            yield step("skipped", f"{command.title}: not begun")
        else:
            yield from _run(command, halt)


def _run(command: EvidenceCommand, halt: CancelFlag) -> Iterator[Step]:
    yield step("doing", f"{command.title}, within {command.deadline_s:.0f} s")
    argv = hangtop_command("hangtop", *command.words)
    try:
        code, printed, took_s = run_command(argv, command.deadline_s, halt=halt, output=command.output)
    except OSError as error:
        yield step("skipped", f"{command.title}: {error}")
        return
    if code is None:
        yield step("skipped", f"{command.title}: broken off after {took_s:.1f} s")
    elif code == 0:
        yield step("done", f"{command.title}: {command.output or (printed[0] if printed else 'done')}, {took_s:.1f} s")
    else:
        last = printed[-1] if printed else "it said nothing"
        yield step("skipped", f"{command.title}: exit code {code} after {text.duration(took_s)}: {last[:200]}")
