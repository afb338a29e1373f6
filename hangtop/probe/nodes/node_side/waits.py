"""Who holds the other ends of some connections, or the locks for which members of the run here wait, what these processes wait
for in turn, and what moves there meanwhile: what the kernel says. The other side reads it (`hangtop.probe.nodes.node_waits`)."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from hangtop.probe.nodes.node_side.births import all_stats, commands_of
from hangtop.probe.nodes.node_side.locks import chain
from hangtop.probe.nodes.node_side.proc import fields, link, listed, read, stat_of
from hangtop.system.waits.sock_diag import dump

MOST_HOLDERS, MOST_THREADS, MOST_FILES = 32, 256, 4096
ENDS, INODE = slice(4, 40), slice(68, 72)
"""Ports and addresses, and the inode, in the bytes of a struct inet_diag_msg (linux/inet_diag.h)."""
MOST_POLLED = 64
POLLFD_BYTES, TIME_BYTES = 8, 16
LEAST_ADDRESS = 1 << 16
"""Nothing lies below (vm.mmap_min_addr, proc_sys_vm(5))."""
CLOCKS = (time.CLOCK_REALTIME, time.CLOCK_MONOTONIC, time.CLOCK_BOOTTIME)
"""Of which a moment may be set until which a thread sleeps."""
Say = Callable[[dict[str, Any]], None]


def tell_waits(ask: dict[str, Any], say: Say) -> None:
    """`requests`: what to ask of sock_diag(7); `ends`: of the wanted sockets, as it tells them; `members`: pids of those that may
    wait for a lock; `samples` every `every_s`."""
    locks = chain(ask.get("members", []))
    if not ask["ends"] and not locks:
        say({"asked": ask["ask"]})
        return
    try:
        rows = sockets(ask["requests"])
    except OSError as error:
        say({"asked": ask["ask"], "error": f"sock_diag: {error.strerror}"})
        return
    wanted = set(ask["ends"])
    inodes = {inode_of(row) for row in rows if row[ENDS].hex() in wanted} - {0}
    held = holders(inodes) if inodes else {}
    pids = sorted(locks) + sorted(set(held) - set(locks))[:MOST_HOLDERS]
    held.update({pid: sockets_of(pid) for pid in locks})
    threads = {pid: threads_of(pid) for pid in pids}
    clocks = {str(clock): time.clock_gettime(clock) for clock in CLOCKS}
    moments = []
    for number in range(ask["samples"] if pids else 0):
        if number:
            time.sleep(ask["every_s"])
            rows = sockets(ask["requests"])
        mine = {pid: [row.hex() for row in rows if inode_of(row) in held[pid]] for pid in pids}
        moments.append((time.monotonic(), {pid: sample_of(pid) for pid in pids}, mine))
    commands = commands_of(pids)
    for pid in pids:
        seen = [[at, samples[pid], mine[pid]] for at, samples, mine in moments if samples[pid] is not None]
        say(
            {
                "waits": ask["ask"],
                "pid": pid,
                "command": commands.get(pid, ""),
                "threads": threads[pid],
                "clocks": clocks,
                "files": {str(inode): fds for inode, fds in held[pid].items()},
                "epolls": epolls_of(pid),
                "others": others_of(pid),
                "locks": locks.get(pid, {}),
                "moments": seen,
            }
        )
    say({"asked": ask["ask"]})


def sockets(requests: Iterable[str]) -> list[bytes]:
    """Raises `OSError`."""
    return [row for request in requests for row in dump(bytes.fromhex(request))]


def inode_of(row: bytes) -> int:
    return int.from_bytes(row[INODE], sys.byteorder)


def holders(inodes: set[int]) -> dict[int, dict[int, list[int]]]:
    """By pid of those that hold one of these sockets, as far as we may see it: all sockets of each, with their descriptors."""
    found: dict[int, dict[int, list[int]]] = {}
    for pid, who in all_stats().items():
        if who[5] or pid == os.getpid():
            continue
        mine = sockets_of(pid)
        if not inodes.isdisjoint(mine):
            found[pid] = mine
    return found


def sockets_of(pid: int) -> dict[int, list[int]]:
    """By inode, its descriptors."""
    mine: dict[int, list[int]] = {}
    for name in listed(f"/proc/{pid}/fd")[:MOST_FILES]:
        target = link(f"/proc/{pid}/fd/{name}")
        if target.startswith("socket:["):
            mine.setdefault(int(target[8:-1]), []).append(int(name))
    return mine


def threads_of(pid: int) -> list[list[Any]]:
    """[thread, state, kernel function, system call, memory] of each, the first one first."""
    names = sorted(map(int, listed(f"/proc/{pid}/task")), key=lambda tid: (tid != pid, tid))[:MOST_THREADS]
    return [[tid, *known] for tid in names for known in [thread_of(pid, tid)] if known is not None]


def thread_of(pid: int, tid: int) -> list[Any] | None:
    """`memory`: what the arguments of the call point to, in hex by address: a short list of descriptors (poll(2)), a time."""
    folder = f"/proc/{pid}/task/{tid}"
    state = read(folder + "/stat").rpartition(b")")[2].split()[:1]
    if not state:
        return None
    line = read(folder + "/syscall").decode("ascii", "replace").strip()
    words = line.split()
    arguments = [int(word, 16) for word in words[1:7]] if len(words) > 6 else []
    listed_bytes = arguments[1] * POLLFD_BYTES if arguments and 0 < arguments[1] <= MOST_POLLED else TIME_BYTES
    sizes = {address: TIME_BYTES for address in arguments if address >= LEAST_ADDRESS}
    sizes.update({address: listed_bytes for address in arguments[:1] if address in sizes})
    memory = {str(address): read_memory(pid, address, size).hex() for address, size in sizes.items()}
    return [state[0].decode(), read(folder + "/wchan").decode("ascii", "replace"), line, memory]


def read_memory(pid: int, address: int, size: int) -> bytes:
    """Empty where that is refused, or is no address."""
    with suppress(OSError, OverflowError), open(f"/proc/{pid}/mem", "rb", 0) as file:
        return os.pread(file.fileno(), size, address)
    return b""


def epolls_of(pid: int) -> dict[str, str]:
    """The sets of descriptors in which it may wait (proc_pid_fdinfo(5)), by their descriptor."""
    folder = f"/proc/{pid}/fd"
    names = [name for name in listed(folder)[:MOST_FILES] if link(f"{folder}/{name}") == "anon_inode:[eventpoll]"]
    return {name: read(f"/proc/{pid}/fdinfo/{name}").decode("ascii", "replace")[:65_536] for name in names[:16]}


def others_of(pid: int) -> dict[str, str]:
    """Descriptors by which its own threads, clocks and signals wake it."""
    folder = f"/proc/{pid}/fd"
    links = ((name, link(f"{folder}/{name}")) for name in listed(folder)[:MOST_FILES])
    return {name: target for name, target in links if target.startswith("anon_inode:")}


def sample_of(pid: int) -> list[Any] | None:
    """[who, now, user, of its first thread: nanoseconds, bytes, sleeps, where it stands]; the first two as `stat_of` has them."""
    known = stat_of(pid)
    first = thread_of(pid, pid)
    if known is None or first is None:
        return None
    folder = f"/proc/{pid}/task/{pid}"
    status, io = fields(read(folder + "/status")), fields(read(folder + "/io"))
    ran = read(folder + "/schedstat").split()
    main_ns = int(ran[0]) + int(ran[1]) if len(ran) > 1 else None
    moved = sum(int(io[name]) for name in ("rchar", "wchar", "read_bytes")) if "rchar" in io else None
    uid = int(status["Uid"].split()[1]) if "Uid" in status else -1
    wakes = int(status["voluntary_ctxt_switches"]) if "voluntary_ctxt_switches" in status else None
    return [known[0], known[1], uid, main_ns, moved, wakes, first]
