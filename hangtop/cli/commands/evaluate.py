"""`hangtop eval`: code that runs in a process which agreed to be asked, once a person has seen it and said yes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NoReturn, TextIO

from msgspec import Struct

from hangtop.cli.config import config_dir
from hangtop.common import clock
from hangtop.common.clean_words import clean_words
from hangtop.common.secrets.redactor import Redactor
from hangtop.common.text import printable
from hangtop.feeds.probe_feed import Feed
from hangtop.living.snippets import OWN_FOLDER, Snippet, SnippetError, snippets
from hangtop.monitor.headless import processes_of
from hangtop.probe.stacks.stack_source import answer_stacks
from hangtop.records.ask import StacksAsk
from hangtop.system.agents.agent_client import Answer, NoAnswerError, ask_agent
from hangtop.system.agents.answerable import Answerable, Way, answerable
from hangtop.system.agents.debugpy_client import ask_debugged
from hangtop.system.agents.probing_client import ask_probing
from hangtop.translations import say

ASK: dict[Way, Callable[[int, int, str, dict[str, str], float], Answer]] = {
    "agent": ask_agent,
    "debugpy": ask_debugged,
    "probing": ask_probing,
}
MOST_SHOWN = 6
"""Lines of the code that are shown before it runs; `--show` prints all."""


class Wanted(Struct, frozen=True):
    """`code`, or the `name` of a question. `born_by`: no process is asked that started later, in ticks after boot."""

    code: str | None
    name: str | None
    arguments: dict[str, str]
    within_s: float
    yes: bool
    born_by: int | None = None


def tell(out: TextIO) -> int:
    """The questions, a line each."""
    known = _known()
    width = max(map(len, known), default=0)
    out.writelines(f"{name:{width}}  {printable(say(asked.says))}\n" for name, asked in sorted(known.items()))
    out.write(say(f"Your own: files of Python in {config_dir() / OWN_FOLDER}") + "\n")
    return 0


def show(wanted: Wanted, out: TextIO) -> int:
    out.write(_code(wanted).rstrip() + "\n")
    return 0


def run(names: Mapping[int, str], wanted: Wanted, out: TextIO) -> int:
    """Ask all processes side by side; `names`: `rank 3`, by pid. Exit codes: 0 it ran, 1 it failed in one of them, or one gave no
    answer, 4 nothing ran."""
    code = _code(wanted)
    asked = {pid: found for pid in names if not _refused(found := _found(pid, wanted))}
    if not asked or not _agreed(asked, names, wanted, code):
        return 4
    side_by_side = ThreadPoolExecutor(len(asked))  # left open, for closing it would wait: an interrupt ends at once
    told = [side_by_side.submit(_ask, pid, found, wanted, code) for pid, found in asked.items()]
    ended = [_print(answer.result(), names[pid], out) for pid, answer in zip(asked, told, strict=True)]
    answered = [well for well in ended if well is not None]
    return 4 if not answered else int(not all(answered) or len(answered) < len(names))


def members(feed: Feed, pids: Iterable[int]) -> tuple[list[int], list[str]]:
    """Those that belong to the run that the feed sees, and a line for each other."""
    state = asyncio.run(processes_of(feed))
    known = set() if state.procs is None else {process.pid for process in state.procs.processes}
    asked = list(pids)
    return [pid for pid in asked if pid in known], [f"pid {pid} is no process of this run" for pid in asked if pid not in known]


def _known() -> dict[str, Snippet]:
    try:
        return snippets(config_dir())
    except SnippetError as error:
        _stop(str(error))


def _code(wanted: Wanted) -> str:
    if wanted.name is None:
        return wanted.code or ""
    known = _known()
    if wanted.name not in known:
        _stop(f"no question {wanted.name!r}: {', '.join(sorted(known))}")
    return known[wanted.name].code


def _found(pid: int, wanted: Wanted) -> Answerable:
    found = answerable(pid)
    if wanted.born_by is not None and found.start_ticks > wanted.born_by:
        return Answerable(why_not=f"pid {pid} is another process by now")
    return _through_debugpy(pid, found) if found.way == "debugpy" else found


def _through_debugpy(pid: int, found: Answerable) -> Answerable:
    """Whether it can answer there: not where a thread that has Python's lock sleeps, in two looks. debugpy does not survive that,
    so nothing is asked where it cannot be seen."""
    parts = [part for _ in range(2) for part in answer_stacks(StacksAsk(1, (pid,)), clock.now())]
    stacks = [stack for part in parts for stack in part.stacks]
    looks = [{thread.tid for thread in stack.threads if thread.owns_gil and not thread.runs} for stack in stacks if stack.threads]
    if len(looks) < 2:
        unseen = [(each.problem, each.mend or "") for each in stacks if each.problem]
        unseen += [(part.problem, part.mend or "") for part in parts if part.problem]
        why, mend = unseen[0] if unseen else ("py-spy gives no stack", "")
        return Answerable(found.start_ticks, f"pid {pid} is not asked, for debugpy may be lost over a question: {why}", mend)
    if set.intersection(*looks):
        why = f"pid {pid} waits in C code that holds Python's lock: debugpy would be lost over a question"
        return Answerable(found.start_ticks, why)
    return found


def _refused(found: Answerable) -> bool:
    if found.why_not:
        _complain(found.why_not, found.mend)
    return bool(found.why_not)


def _complain(why: str, mend: str = "") -> None:
    """Others may have written a part of it."""
    told = say(clean_words(Redactor().text(why)))
    sys.stderr.write(f"hangtop eval: {told}\n" + (f"  {clean_words(say(mend))}\n" if mend else ""))


def _agreed(asked: Iterable[int], names: Mapping[int, str], wanted: Wanted, code: str) -> bool:
    """With `--yes`, or once the pid of the first was typed. The default is no."""
    if wanted.yes:
        return True
    first, *_ = pids = list(asked)
    where = ", ".join(f"{names[pid]} (pid {pid})" if names[pid] else f"pid {pid}" for pid in pids)
    lines = code.strip().splitlines()
    shown = "".join(f"  {printable(line)}\n" for line in lines[:MOST_SHOWN])
    more = f"  … {say(f'{len(lines) - MOST_SHOWN} more lines: --show')}\n" if len(lines) > MOST_SHOWN else ""
    sys.stderr.write(say(f"This runs in {where}, beside the program, and can change it:") + f"\n{shown}{more}")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        sys.stderr.write(say("nothing was run: --yes runs it") + "\n")
        return False
    sys.stderr.write(say(f"Type {first} to run it, anything else for nothing:") + " ")
    sys.stderr.flush()
    if sys.stdin.readline().strip() == str(first):
        return True
    sys.stderr.write(say("nothing was run") + "\n")
    return False


def _ask(pid: int, found: Answerable, wanted: Wanted, code: str) -> Answer | NoAnswerError | Answerable:
    """The answer, or why there is none: a person may have thought for long, so the process is looked at again."""
    now = _found(pid, wanted)
    if now.why_not:
        return now
    try:
        return ASK[now.way](pid, found.start_ticks, code, wanted.arguments, wanted.within_s)
    except NoAnswerError as error:
        return error


def _print(answer: Answer | NoAnswerError | Answerable, name: str, out: TextIO) -> bool | None:
    """Whether it ended well; `None`: no answer."""
    if isinstance(answer, Answerable):
        _refused(answer)
        return None
    if isinstance(answer, NoAnswerError):
        _complain(str(answer))
        return None
    if name:
        out.write(f"{name}:\n")
    out.writelines(f"{printable(line)}\n" for line in Redactor().text(answer.output).splitlines())
    return answer.well


def _stop(why: str) -> NoReturn:
    _complain(why)
    sys.exit(2)
