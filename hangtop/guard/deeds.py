"""What a guard does: each deed is a command of hangtop in a process of its own, which looks afresh, plans and proves."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from hangtop.guard.case import LIMIT_S, Case, Outcome, failed
from hangtop.guard.children import child, harm, last_lines
from hangtop.guard.due import Due
from hangtop.guard.episodes import Done
from hangtop.guard.policy import Deed
from hangtop.guard.restart_by_command import by_command, go_on
from hangtop.guard.send_notice import PICTURE
from hangtop.records.watch_spec import as_options
from hangtop.system.hangtop_child import hangtop_command


async def carry_out(due: Due, case: Case) -> Outcome:
    """Do it, and tell what came of it. Never raises for what a command may meet."""
    return await _told(due.deed, DEEDS[due.deed](due, case))


async def carry_on(done: Done, case: Case) -> Outcome:
    """Do what a guard before this one has left half done. Never raises for what it may meet."""
    return await _told(done.deed, go_on(done, case))


async def _told(deed: Deed, work: Awaitable[Outcome]) -> Outcome:
    try:
        return await work
    except TimeoutError:
        return Outcome(False, f"given up after {LIMIT_S[deed]:.0f} s; what it began goes on by itself")
    except OSError as error:
        return failed(error)


async def _stacks(due: Due, case: Case) -> Outcome:
    place = _place(case, "stacks", "txt")
    code, output = await _hangtop(due.deed, "stacks", *as_options(case.spec))
    with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(output)
    return Outcome(code == 0, str(place) if code == 0 else last_lines(output))


async def _bundle(due: Due, case: Case) -> Outcome:
    place = _place(case, "bundle", "tar.gz")
    code, output = await _hangtop(due.deed, "bundle", *as_options(case.spec), "-o", str(place))
    return Outcome(code == 0, str(place) if code == 0 else last_lines(output))


async def _picture(due: Due, case: Case) -> Outcome:
    place = _place(case, "screen", PICTURE)
    code, output = await _hangtop(due.deed, "picture", *as_options(case.spec), "-o", str(place))
    return Outcome(code == 0, str(place) if code == 0 else last_lines(output))


async def _hook(due: Due, case: Case) -> Outcome:
    code, output = await child(due.deed, due.when.run, msgspec.json.encode(case.event) + b"\n")
    said = " · ".join(filter(None, (f"exit code {code}" if code else "", last_lines(output))))
    return Outcome(code == 0, said or "exit code 0")


async def _act(due: Due, case: Case) -> Outcome:
    """`stop`, `restart`, `recover`: the command of this name, whose exit code 0 means done and proven."""
    if due.deed == "restart" and case.policy.restart.command:
        return await by_command(case)
    return await harm(due.deed, due.deed, case)


async def _hangtop(deed: Deed, *words: str) -> tuple[int, bytes]:
    return await child(deed, hangtop_command("hangtop", *words))


def _place(case: Case, what: str, ending: str) -> Path:
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(case.at))
    folder = Path(case.policy.keep).expanduser()
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"hangtop-{case.event.name}-{stamp}-{what}.{ending}"


DEEDS: dict[Deed, Callable[[Due, Case], Awaitable[Outcome]]] = {
    "stacks": _stacks,
    "bundle": _bundle,
    "picture": _picture,
    "run": _hook,
    "stop": _act,
    "restart": _act,
    "recover": _act,
}
"""`notify` is no command: see `hangtop.guard.post`."""
