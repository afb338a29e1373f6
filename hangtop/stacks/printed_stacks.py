"""Stacks that stand in text, as py-spy and Python's faulthandler print them: people put them into the log of a run that hangs."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

from msgspec.structs import replace

from hangtop.common.late_pattern import late_pattern
from hangtop.records.stack import Frame, Stack, Thread
from hangtop.stacks.frames import table

_PROCESS = late_pattern(r"^\s*Process (?P<pid>\d{1,10}): (?P<title>.*)")
_RANK = late_pattern(r"(?i)(?<!local )\brank[ =:#]{0,2}(?P<rank>\d{1,5})\b|_TP(?P<part>\d{1,4})\b|\(task (?P<task>\d{1,5})\)")
"""In the title or the command of a process: `train.py (rank 5)`, `--node_rank` does not look so; `sglang::scheduler_TP3`,
`VLLM::Worker_TP3`; `train.py (task 5)`."""
_PYTHON = late_pattern(r"^\s*Python v\d")
_NOTE = r"\s*(?:\s(?:#|//|<-|\[|\()[^\r\n]{0,200})?"
"""What a person wrote behind a line of a stack, as `# rank 3` or `[rank 3]`."""
_THREAD = late_pattern(
    r'^\s*Thread (?:(?:0x)?[0-9a-fA-F]{1,16} )?\((?P<state>[\w+]{1,20})\)(?:: "(?P<name>[^"]{1,80})")?'
    rf"(?P<note>{_NOTE})$"
)
"""py-spy: `Thread 31422 (idle): "MainThread"`, with `active+gil` for one that runs."""
_DUMP = late_pattern(r"^\s*(?:Current thread|Thread) 0x[0-9a-f]{1,16}(?: \[[^\]]{1,40}\])? \(most recent call first\):\s*$")
"""faulthandler. Its last thread is the main one."""
_PYSPY_FRAME = late_pattern(
    r"^\s{2,12}(?P<function>[\w<>.:~,*&$@\[\]]{1,200}) \((?P<file>[^()\r\n]{1,300}?)(?::(?P<line>\d{1,7}))?\)"
    rf"{_NOTE}$"
)
_DUMP_FRAME = late_pattern(r'^\s{0,12}File "(?P<file>[^"]{1,300})", line (?P<line>\d{1,7}) in (?P<function>[\w<>.]{1,120})\s*$')
MAIN = "MainThread"
_HEADING = late_pattern(r"(?i)^\s*(?:[-=#>*$+\[(~]|(?:local |global )?rank\b|pid\b|process\b)[^\r\n]{0,200}$")
_PID = late_pattern(r"(?i)(?:--pid|\s-p|\bpid)[ =:#]{0,2}(?P<pid>\d{1,10})\b")
"""Above a stack without a title: `-- stage 0, rank 0, pid 38400`, `$ py-spy dump --pid 1500  # rank 3`."""


def begins_stack(text: str) -> bool:
    """Whether the stack of a process begins with this line: what it names, that process did not say."""
    return _PROCESS.match(text) is not None


def printed_stacks(lines: Iterable[str]) -> tuple[Stack, ...]:
    """The stacks in these lines, in their order. Threads with other words between them are of two processes, but for those that
    py-spy puts below the name of one."""
    stacks: list[tuple[int, int | None, list[Thread]]] = []
    frames: list[Frame] | None = None
    apart, above = True, ""
    for line in lines:
        thread, dump = _THREAD.match(line), _DUMP.match(line)
        frame = _PYSPY_FRAME.match(line) or _DUMP_FRAME.match(line) if frames is not None else None
        if (process := _PROCESS.match(line)) is not None:
            stacks.append((int(process["pid"]), _rank_in(process["title"]), []))
            frames, apart = None, False
        elif thread is not None or dump is not None:
            stacks += [(*_headed(above), [])] if apart or not stacks else []
            stacks[-1][2].append(_begun(thread))
            if thread is not None and stacks[-1][1] is None and (rank := _rank_in(thread["note"])) is not None:
                stacks[-1] = (stacks[-1][0], rank, stacks[-1][2])
            frames, apart = [], False
        elif frame is not None and frames is not None:
            frames.append(Frame(frame["function"], _located(frame["file"]), int(frame["line"] or 0)))
            threads = stacks[-1][2]
            threads[-1] = replace(threads[-1], frames=tuple(frames))
        elif line.strip() and _PYTHON.match(line) is None:
            frames, apart, above = None, True, line
    told = [each for each in stacks if any(thread.frames for thread in each[2])]
    return tuple(Stack(pid, 0.0, tuple(_one_main(threads)), rank=rank) for pid, rank, threads in told)


def _headed(line: str) -> tuple[int, int | None]:
    """The pid (0: not told) and the rank that a line names of which the stack below is."""
    if _HEADING.match(line) is None:
        return 0, None
    pids = {found["pid"] for found in _PID.finditer(line)}
    return (int(pids.pop()) if len(pids) == 1 else 0), _rank_in(line)


def _rank_in(title: str) -> int | None:
    """The rank that the title of a process names, if it is one."""
    ranks = {found["rank"] or found["part"] or found["task"] for found in _RANK.finditer(title)}
    return int(ranks.pop()) if len(ranks) == 1 else None


def _begun(thread: re.Match[str] | None) -> Thread:
    """A thread whose frames follow. What faulthandler prints does not tell whether it runs."""
    if thread is None:
        return Thread(MAIN, ())
    state = thread["state"]
    return Thread(thread["name"] or "", (), owns_gil="gil" in state, state="R" if "active" in state else "S")


def dumped_threads(lines: Iterable[str]) -> tuple[Thread, ...]:
    """The threads of one process that faulthandler printed, those without a Python frame left out. It does not tell whether they
    run."""
    stacks = printed_stacks(line for line in lines if _DUMP.match(line) or _DUMP_FRAME.match(line))
    return tuple(thread for stack in stacks[:1] for thread in stack.threads if thread.frames)


def _located(file: str) -> str:
    """The path of a file as it would stand on a disk: py-spy leaves out the folder in which Python found it."""
    if file.startswith(("/", "<")):
        return file
    name, known = file.partition("/")[0].removesuffix(".py"), table().packages
    if name in sys.stdlib_module_names:
        return f"/lib/python3/{file}"
    return f"/site-packages/{file}" if name in known.plumbing or name in known.frameworks else f"/{file}"


def _one_main(threads: Iterable[Thread]) -> Iterable[Thread]:
    """All threads, of which only the last that is called the main one is it: faulthandler names none."""
    told = list(threads)
    last = max((nth for nth, thread in enumerate(told) if thread.name == MAIN), default=-1)
    for nth, thread in enumerate(told):
        yield thread if thread.name != MAIN or nth == last else replace(thread, name="")
