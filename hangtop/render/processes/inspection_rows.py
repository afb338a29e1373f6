"""What the kernel tells of one process, in rows: for the page of a process and for `hangtop inspect`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from textwrap import wrap

from msgspec.structs import replace

from hangtop.common import text
from hangtop.common.clean_words import short_line
from hangtop.common.grouped import grouped
from hangtop.records.inspection import GroupLimits, HeldFile, InspectedThread, Inspection, Limit, MappedFile, MemoryUse, Placement
from hangtop.records.waiting import OtherEnd, TcpSocket
from hangtop.render.spans import BLANK, Row, align, cut, folded
from hangtop.render.wrap import section
from hangtop.translations import say

NEARLY = 0.9
"""Of a limit: so much of it used is near enough to say so in colour."""
MOST_MAPPED = 12
MOST_ENDS = 3
INNERMOST = 4
FD_CELLS, KIND_CELLS, LABEL_CELLS = 5, 8, 22
SPOKEN_LIMITS = {"nofile": "open files", "nproc": "processes of the user", "as": "address space", "memlock": "locked memory",
                 "fsize": "size of a file", "core": "core dump", "sigpending": "queued signals", "stack": "stack",
                 "cpu": "CPU seconds", "data": "data", "rss": "resident memory", "msgqueue": "message queues"}  # fmt: skip
"""The limits of getrlimit(2) in words. The others say nothing about a training run (scheduling, locks of the 2.4 kernel)."""
COUNTED = frozenset({"nofile", "nproc", "sigpending", "cpu"})
"""Limits that are no bytes."""


def inspection_rows(seen: Inspection, width: int, names: Mapping[int, str] = {}) -> list[Row]:
    """All parts that were read, then what was refused. `names`: of members of the run, by pid."""
    seen = replace(seen, others={pid: names.get(pid) or short_line(command) for pid, command in seen.others.items()})
    if seen.problem is not None:
        return [((say(seen.problem), "warn"),)]
    parts = (
        (_threads_title(seen), _thread_rows(seen, width)),
        (_files_title(seen), _file_rows(seen, width)),
        (say("Memory"), _memory_rows(seen.memory, seen.mapped, width)),
        (say("Limits"), _limit_rows(seen, width)),
        (say(f"Environment  {len(seen.environment)}, as it was started"), _environment_rows(seen.environment, width)),
        (say("Not read"), _refused_rows(seen, width)),
    )
    rows = [row for title, told in parts if told for row in (BLANK, section(title, width), *told)]
    return rows[1:]


def _threads_title(seen: Inspection) -> str:
    more = f", {say(f'{seen.threads_left_out} more')}" if seen.threads_left_out else ""
    return say(f"Threads  {len(seen.threads)}") + more


def _thread_rows(seen: Inspection, width: int) -> list[Row]:
    """Threads that stand alike share a line; the main thread has its own."""
    alike = grouped(seen.threads, lambda thread: (thread.wait.call.tid == seen.pid, _stands(thread, seen), thread.kernel))
    rows: list[Row] = []
    for (is_main, stands, kernel), threads in alike.items():
        first = threads[0]
        name = say("main thread") if is_main else first.name if len(threads) == 1 else f"{first.name} × {len(threads)}"
        role = "bad" if first.wait.call.state == "D" else "ink"
        cpu_s = sum(thread.cpu_s for thread in threads)
        head = (align(name, 18, "ink"), (f"{first.wait.call.state}  ", role), (stands, role), (f"  CPU {cpu_s:,.1f} s", "muted"))
        rows += folded(head, width, 21)
        if kernel:
            inner = " ← ".join(kernel[:INNERMOST])
            rows.append(cut(((" " * 21, ""), (say(f"in the kernel: {inner}"), "muted")), width))
    return rows


def _stands(thread: InspectedThread, seen: Inspection) -> str:
    """The call and what it waits at."""
    call = thread.wait.call
    if call.state == "R":
        return say("computes")
    name = call.name or call.wchan or say("not told where")
    words = [*dict.fromkeys(_end_words(end, seen) for end in thread.wait.ends if end.object.kind != "futex")]
    more = [say(f"{len(words) - MOST_ENDS} more")] if len(words) > MOST_ENDS else []
    ends = ", ".join((*words[:MOST_ENDS], *more))
    rest = say(f", for at most {text.duration(call.rest_s)}") if call.rest_s is not None else ""
    return say(f"in {name}") + (f": {ends}" if ends else "") + rest


def _end_words(end: OtherEnd, seen: Inspection) -> str:
    """What it is, and who is at its other end."""
    thing = end.object
    where = thing.path or (f"{thing.local} → {thing.remote}" if thing.tcp_state not in ("", "listen") else thing.local)
    kind = say(thing.kind)
    return " ".join(word for word in (kind, where, _holders(end, seen)) if word)


def _holders(end: OtherEnd, seen: Inspection) -> str:
    thing = end.object
    others = [f"pid {pid} {seen.others.get(pid, '')}".rstrip() for pid in end.pids if pid != seen.pid]
    if others:
        return f"⇄ {', '.join(others)}"
    if seen.pid in end.pids:
        return "⇄ " + say("itself")
    if end.elsewhere:
        return "⇄ " + say("another machine or container")
    if thing.kind in ("pipe", "fifo") and end.known and not end.hidden:
        return "⇄ " + say("nobody")
    return ""


def _files_title(seen: Inspection) -> str:
    more = f", {say(f'{seen.files_left_out} more')}" if seen.files_left_out else ""
    return say(f"Open files  {len(seen.files)}") + more


def _file_rows(seen: Inspection, width: int) -> list[Row]:
    return [cut(_file_row(file, seen), width) for file in seen.files]


def _file_row(file: HeldFile, seen: Inspection) -> Row:
    thing = file.end.object
    way = f"{'r' if thing.reads else '-'}{'w' if thing.writes else '-'}"
    where = file.target
    if thing.kind == "tcp":
        where = f"{thing.local} → {thing.remote}" if thing.tcp_state != "listen" else thing.local
    elif thing.kind == "unix" and thing.path:
        where = thing.path
    kind: Row = (align(str(file.fd), FD_CELLS, "muted", right=True), ("  ", ""), align(way, 4, "muted"))
    beside = "  ".join(_beside(file, seen.sockets.get(thing.inode or 0)))
    return (
        *kind,
        align(say(thing.kind), KIND_CELLS, "ink"),
        (f"{where}  ", "ink"),
        (f"{_holders(file.end, seen)}  ", "ink"),
        (beside, "muted"),
    )


def _beside(file: HeldFile, socket: TcpSocket | None) -> Iterator[str]:
    if file.position:
        yield say(f"at {text.size(file.position)}")
    if socket is None:
        return
    yield say(socket.state)
    if socket.state == "listen":
        return
    if socket.unread_bytes:
        yield say(f"{text.size(socket.unread_bytes)} not read yet")
    if socket.unacked_bytes:
        yield say(f"{text.size(socket.unacked_bytes)} not acknowledged")
    if socket.retransmits:
        yield say(f"sent again {text.some(socket.retransmits, 'time')}, without an answer")
    if socket.received_bytes is not None and socket.acked_bytes is not None:
        yield say(f"received {text.size(socket.received_bytes)}, sent {text.size(max(0, socket.acked_bytes - 1))}")
    if socket.segments_again:
        yield say(f"{socket.segments_again:,} segments sent more than once")
    if socket.last_received_ms is not None and socket.received_bytes:
        yield say(f"last received {text.age(socket.last_received_ms / 1000)} ago")


def _memory_rows(memory: MemoryUse | None, mapped: Iterable[MappedFile], width: int) -> list[Row]:
    rows: list[Row] = []
    if memory is not None:
        names = ("resident", "its own", "of files", "shared", "swapped out", "locked", "most ever", "addresses")
        values = (memory.rss_bytes, memory.own_bytes, memory.file_bytes, memory.shared_bytes, memory.swap_bytes)
        told = zip(names, (*values, memory.locked_bytes, memory.peak_bytes, memory.virtual_bytes), strict=True)
        words = ", ".join(f"{say(name)} {text.size(value)}" for name, value in told if value)
        rows += folded(((words, "ink"),), width, 0)
    for file in [*mapped][:MOST_MAPPED]:
        marks = (say("written") if file.writable else "", say("deleted") if file.deleted else "")
        rows.append(
            cut(
                (
                    align(text.size(file.size_bytes), 9, "muted", right=True),
                    (f"  {file.path}  ", "ink"),
                    (" ".join(filter(None, marks)), "warn"),
                ),
                width,
            )
        )
    return rows


def _limit_rows(seen: Inspection, width: int) -> list[Row]:
    rows = [row for limit in seen.limits if (row := _limit_row(limit, width)) is not None]
    return [*_group_rows(seen.group, width), *_placement_rows(seen.placement, width), *rows]


def _limit_row(limit: Limit, width: int) -> Row | None:
    """`None`: it is unlimited, or says nothing of a run."""
    if limit.soft is None or limit.name not in SPOKEN_LIMITS:
        return None
    most = _amount(limit.name, limit.soft)
    shown = most if limit.used is None else say(f"{_amount(limit.name, limit.used)} of {most}")
    near = limit.used is not None and limit.soft > 0 and limit.used >= NEARLY * limit.soft
    hard = say("unlimited") if limit.hard is None else _amount(limit.name, limit.hard)
    raise_to = "" if limit.hard == limit.soft else say(f"  (up to {hard})")
    return cut(
        (align(say(SPOKEN_LIMITS[limit.name]), LABEL_CELLS, "muted"), (shown, "bad" if near else "ink"), (raise_to, "muted")),
        width,
    )


def _limit(label: str, value: str, width: int) -> Row:
    return cut((align(say(label), LABEL_CELLS, "muted"), (value, "ink")), width)


def _amount(name: str, value: int) -> str:
    return f"{value:,}" if name in COUNTED else text.size(value)


def _group_rows(group: GroupLimits | None, width: int) -> Iterator[Row]:
    if group is None:
        return
    if group.cores is not None:
        throttled = ""
        if group.throttled_s and group.periods:
            part = (group.throttled_periods or 0) / group.periods
            throttled = say(f"; it stood still for {text.duration(group.throttled_s)}, in {part:.0%} of the periods")
        yield _limit("CPU quota", say(f"{group.cores:g} cores") + throttled, width)
    if group.most_tasks is not None:
        yield _limit("tasks", f"{group.tasks or 0:,} of {group.most_tasks:,}", width)
    if group.memory_limit_bytes is not None:
        used = text.size(group.memory_used_bytes)
        killed = say(f"; {text.some(group.oom_kills, 'process')} killed for want of memory") if group.oom_kills else ""
        yield _limit("memory", say(f"{used} of {text.size(group.memory_limit_bytes)}") + killed, width)


def _placement_rows(placed: Placement | None, width: int) -> Iterator[Row]:
    if placed is None:
        return
    nodes = say(f", NUMA node {text.rank_ranges(placed.nodes)}") if placed.nodes else ""
    yield _limit("cores", say(f"{placed.cpus}: {placed.cores} of {placed.machine_cores}") + nodes, width)


def _environment_rows(environment: Mapping[str, str], width: int) -> list[Row]:
    """Whole: a long path is broken where the line ends."""
    rows: list[Row] = []
    for name, value in environment.items():
        first, *more = wrap(f"{name}={value}", max(20, width), subsequent_indent="  ", break_on_hyphens=False) or [f"{name}="]
        shown, sign, rest = first.partition("=")
        rows += [cut(((f"{shown}{sign}", "muted"), (rest, "ink")), width), *(cut(((line, "ink"),), width) for line in more)]
    return rows


def _refused_rows(seen: Inspection, width: int) -> list[Row]:
    """Parts that were refused for one reason share a line."""
    alike = grouped(seen.refused, lambda refused: (refused.why, refused.mend))
    rows: list[Row] = []
    for (why, mend), refused in alike.items():
        parts = ", ".join(say(each.part) for each in refused)
        rows += folded(((f"{parts}: {say(why)}", "warn"),), width, 2)
        rows += [((f"  {mend}", "ink"),)] if mend else []
    return rows
