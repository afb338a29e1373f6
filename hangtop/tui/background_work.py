"""What goes on behind the screen: actions under way, and commands in processes of their own, for what takes long or may block."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterable, AsyncIterator, Callable, Sequence
from pathlib import Path

import msgspec

from hangtop.actions.execute.client import RunningPlan
from hangtop.actions.execute.steps import step
from hangtop.common.clean_words import clean_words
from hangtop.query.requests import LIMIT_S, TOO_LONG, Asked, ChildAnswer
from hangtop.records.plan import Plan, Step
from hangtop.records.process import exit_words
from hangtop.system.hangtop_answer import ended
from hangtop.system.hangtop_child import hangtop_command
from hangtop.translations import say

WRITE = '''umask 077; new="$1.$$"; trap 'rm -f "$new"' EXIT
cat > "$new" && [ "$(wc -c < "$new")" -eq "$2" ] && mv -f "$new" "$1"'''
"""Whole or not at all: who quits meanwhile closes the pipe, and two that write it at once must not mix."""
WRITE_LIMIT_S = 10.0
CHILD_ENDS_S = 5.0
"""After its own limit a child ends by itself."""


class RunningAction:
    """It goes on whether or not a screen shows it, and its key shows it again.

    `act`: the name of the action. `verb`: the word on its button. `at_once`: it changes nothing of the run.
    """

    def __init__(self, act: str, verb: str, plan: Plan, work: AsyncIterable[Step], *, at_once: bool = False) -> None:
        self.act, self.verb, self.plan, self.at_once = act, verb, plan, at_once
        self.steps: list[Step] = []
        self.over = False
        self.breaking_off = False
        self._work = work

    @property
    def can_break_off(self) -> bool:
        return isinstance(self._work, RunningPlan)

    def break_off(self) -> None:
        """Begin no further step; the current one ends. The executor says what is left undone."""
        if not self.over and isinstance(self._work, RunningPlan):
            self.breaking_off = True
            self._work.break_off()

    async def carry_out(self, on_step: Callable[[], None]) -> None:
        """Run it to its end; `on_step` is called after each step."""
        async for taken in self._work:
            self.steps.append(taken)
            on_step()
        self.over = True
        on_step()


async def run_task(words: Sequence[str]) -> AsyncIterator[Step]:
    """`hangtop WORDS`, line by line; the last step says whether it went well."""
    process = await asyncio.create_subprocess_exec(
        *hangtop_command("hangtop", *words),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None
    yield step("doing", say(f"hangtop {words[0]} …"))
    async for line in process.stdout:
        if printed := line.decode(errors="replace").strip():
            yield step("done", printed)
    if (code := await process.wait()) != 0:
        yield step("failed", say(f"hangtop {words[0]} ended with exit code {code}"))


async def answered(ask: Asked, data: bytes = b"") -> ChildAnswer:
    """The answer of `hangtop.query.child`, in a process of its own that ends with the question: whoever cancels this ends it."""
    process = await asyncio.create_subprocess_exec(
        *hangtop_command("hangtop.query.child"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    told, complaint, code = b"", b"", TOO_LONG
    try:
        async with asyncio.timeout(LIMIT_S + CHILD_ENDS_S):
            told, complaint = await process.communicate(msgspec.json.encode(ask) + b"\n" + data)
        code = await process.wait()
    except TimeoutError:
        pass  # told below
    finally:
        await ended(process, process.terminate)
    if told and code == 0:
        return msgspec.json.decode(told, type=ChildAnswer)
    if code == TOO_LONG:
        return ChildAnswer(problem=say(f"no answer within {LIMIT_S:.0f} s: hangtop query has no such limit"))
    from hangtop.common.secrets.redactor import Redactor  # seldom: the screen starts without it

    last = complaint.decode(errors="replace").strip().rpartition("\n")[2]
    why = Redactor().text(clean_words(last)) or exit_words(code)
    return ChildAnswer(problem=say(f"no answer, what was to give it broke off: {why}"))


async def written(path: Path, text: str) -> str:
    """Write a file in a process of its own: a dead file system must not hold the screen. Gives what went wrong, or nothing."""
    data = text.encode()
    process = await asyncio.create_subprocess_exec(
        "sh",
        "-c",
        WRITE,
        "sh",
        str(path),
        str(len(data)),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(WRITE_LIMIT_S):
            _, complaint = await process.communicate(data)
    except TimeoutError:
        return say(f"not saved: {path.parent} does not answer")
    finally:
        assert process.stdin is not None
        await ended(process, process.stdin.close)
    return say("" if process.returncode == 0 else f"not saved: {complaint.decode(errors='replace').strip()}")
