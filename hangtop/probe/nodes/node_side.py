"""What runs on another node: it tells what /proc says of a run's processes there, and has py-spy take their stacks.

Python 3.9 and its library are all that it needs, and nothing of hangtop may be imported here. It comes through the pipe by which
it is then asked, leaves nothing behind, listens nowhere, changes nothing, and ends with the pipe.

stdin: one JSON object a line; the first is a `look`, which says what to look for. stdout: one JSON object a line: `hello`, then
every `interval_s` the rows that changed (`hangtop.probe.nodes.node_table` reads them), and answers.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import queue
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

ALL_EVERY = 15
"""Every so many looks the whole table is read: parents change seldom."""
SELDOM = 5
"""Every so many looks: what is below a rank (data workers, compilers), and open files."""
YOUNG_S = 5.0
"""A fork has its parent's environment until it becomes another program."""
MOST_READERS = 8
AT_ONCE = 16
MOST_DUMP_BYTES = 4 << 20
MOST_FILES, MOST_THREADS = 4096, 512
LIBRARIES = ("/site-packages/", "/dist-packages/", "/lib/python3")
MOST_SOURCES, MOST_SOURCE_BYTES = 16, 4_000_000
Say = Callable[[dict[str, Any]], None]
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def read(path: str) -> bytes:
    """The whole file; empty where it is gone or refused."""
    try:
        with open(path, "rb", 0) as file:
            return file.read()
    except OSError:
        return b""


def link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def listed(folder: str) -> list[str]:
    """The names in it; none where it is gone or refused."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def as_text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode()


def stat_of(pid: int) -> tuple[list[Any], list[Any]] | None:
    """[name, ppid, group, session, terminal, kernel thread, start] and [state, cpu, reaped, threads, rss, exit], as proc(5) has
    them; `None` when it is gone."""
    head, _, tail = read(f"/proc/{pid}/stat").rpartition(b")")
    field = tail.split()
    if len(field) < 40:
        return None
    name = as_text(head.partition(b"(")[2])
    who = [name, int(field[1]), int(field[2]), int(field[3]), int(field[4]), int(field[6]) >> 21 & 1, int(field[19])]
    code = int(field[49]) if field[0] in b"ZX" and len(field) > 49 else None
    cpu, reaped = int(field[11]) + int(field[12]), int(field[13]) + int(field[14])
    return who, [field[0].decode(), cpu, reaped, int(field[17]), int(field[21]) * PAGE_BYTES >> 20, code]


def fields(text: bytes) -> dict[str, str]:
    pairs = (line.partition(":") for line in text.decode("utf-8", "replace").splitlines())
    return {key: value.strip() for key, _, value in pairs}


def number_of(known: dict[str, str], key: str) -> int | None:
    return int(known[key]) if key in known else None


def details_of(pid: int) -> list[Any] | None:
    """Counters and where it waits, in the order of `hangtop.system.processes.table.Details`."""
    status, counters = fields(read(f"/proc/{pid}/status")), fields(read(f"/proc/{pid}/io"))
    if "Uid" not in status:
        return None
    alone = fields(read(f"/proc/{pid}/task/{pid}/io")) if status.get("Threads") == "1" else {}
    schedule = read(f"/proc/{pid}/schedstat").split()
    wchan = as_text(read(f"/proc/{pid}/wchan"))
    return [
        int(status["Uid"].split()[1]),
        int(status.get("TracerPid", "0")) or None,
        None if wchan in ("", "0") else wchan,
        number_of(counters, "read_bytes"),
        number_of(counters, "write_bytes"),
        int(counters["rchar"]) + int(counters["wchar"]) if "rchar" in counters else None,
        number_of(counters, "wchar"),
        number_of(alone, "wchar"),
        number_of(status, "voluntary_ctxt_switches"),
        int(schedule[0]) if schedule else None,
        int(schedule[1]) if len(schedule) > 1 else None,
        not counters,
        int(status["SigIgn"], 16) if "SigIgn" in status else None,
    ]


def facts_of(pid: int, kept: list[str]) -> dict[str, Any]:
    """Command line and those variables of the environment. May wait for the process."""
    words = read(f"/proc/{pid}/cmdline").rstrip(b"\0").split(b"\0")
    environ = read(f"/proc/{pid}/environ")
    pairs = (entry.partition(b"=") for entry in environ.split(b"\0"))
    known = {as_text(key): as_text(value) for key, _, value in pairs}
    return {
        "command": [as_text(word) for word in words] if words != [b""] else [],
        "environ": {key: known[key] for key in kept if key in known},
        "denied": not os.access(f"/proc/{pid}/environ", os.R_OK),
    }


def files_of(pid: int, logs: frozenset[str]) -> list[list[Any]]:
    """The GPUs and logs that it holds open: [descriptor, path, may write]."""
    folder = f"/proc/{pid}/fd"
    found: list[list[Any]] = []
    for name in listed(folder)[:MOST_FILES]:
        target = link(f"{folder}/{name}")
        if target.startswith("/dev/nvidia") or target in logs:
            try:
                found.append([int(name), target, bool(os.lstat(f"{folder}/{name}").st_mode & 0o200)])
            except OSError:
                continue
    return sorted(found)


def boot_at() -> float:
    return next(float(line.split()[1]) for line in read("/proc/stat").splitlines() if line.startswith(b"btime"))


class Reader:
    """Reads what may wait for a process, in threads that are left behind where one does."""

    def __init__(self, read_one: Callable[[int], Any]) -> None:
        self.read_one = read_one
        self.answers: dict[int, Any] = {}
        self.todo: queue.Queue[int] = queue.Queue()
        self.asked: set[int] = set()
        self.busy_since: dict[int, float] = {}

    def want(self, pid: int) -> None:
        if pid not in self.asked:
            self.asked.add(pid)
            self.todo.put(pid)
        late = [since for since in list(self.busy_since.values()) if time.monotonic() - since > 1.0]
        if len(self.busy_since) <= len(late) < MOST_READERS:
            threading.Thread(target=self.work, daemon=True).start()

    def forget_but(self, pids: set[int]) -> None:
        """Drop the answers of processes that are gone."""
        for pid in set(self.answers) - pids:
            self.answers.pop(pid, None)

    def work(self) -> None:
        me = threading.get_ident()
        while True:
            self.busy_since[me] = float("inf")
            pid = self.todo.get()
            self.busy_since[me] = time.monotonic()
            self.answers[pid] = self.read_one(pid)
            self.asked.discard(pid)


class Node:
    """The processes of this node, and what of them was told already."""

    def __init__(self, look: dict[str, Any], say: Say) -> None:
        self.ranks, self.kept = look["ranks"], look["kept"]
        self.logs, self.say = frozenset(look["logs"]), say
        self.stats: dict[int, tuple[list[Any], list[Any]]] = {}
        self.told: dict[int, dict[str, Any]] = {}
        self.looks = 0
        self.facts = Reader(self.read_slowly)
        self.boot_at = boot_at()
        self.own = set(self.above(os.getpid())) | {os.getpid()}

    def read_slowly(self, pid: int) -> tuple[int | None, dict[str, Any], list[list[Any]]]:
        """Its start ticks, its facts and its open files. A process shows neither arguments nor environment while it is being
        started or ends (proc(5)), nor do we read any without descriptors: it keeps those that it had."""
        known = stat_of(pid)
        start, facts = known[0][6] if known else None, facts_of(pid, self.kept)
        before = self.facts.answers.get(pid)
        if not facts["command"] and before is not None and before[0] == start:
            facts = before[1]
        return start, facts, files_of(pid, self.logs)

    def above(self, pid: int) -> list[int]:
        line: list[int] = []
        while pid > 0 and pid not in line:
            line.append(pid)
            known = self.stats.get(pid) or stat_of(pid)
            pid = known[0][1] if known else 0
        return line[1:]

    def look(self) -> None:
        now, everything, seldom = time.time(), self.looks % ALL_EVERY == 0, self.looks % SELDOM == 0
        self.looks += 1
        pids = {int(name) for name in os.listdir("/proc") if name.isdigit()}
        due = {pid for pid in pids if everything or pid not in self.stats or pid in self.told}
        self.facts.forget_but(pids)
        fresh = {pid: known for pid in due for known in [stat_of(pid)] if known is not None}
        self.stats = {pid: known for pid, known in self.stats.items() if pid in pids and pid not in due}
        self.stats.update(fresh)
        for pid, (who, _) in self.stats.items():
            known = self.facts.answers.get(pid)
            young = now - self.boot_at - who[6] / TICKS_PER_S < YOUNG_S
            if not who[5] and (known is None or known[0] != who[6] or young or (seldom and pid in self.told)):
                self.facts.want(pid)
        followed = self.followed()
        rows = {}
        for pid in followed:
            below = followed[pid] and not seldom and self.stats[pid][1][0] not in "DTt" and pid in self.told
            row = self.told[pid] if below else self.row(pid)
            changed = {key: value for key, value in row.items() if self.told.get(pid, {}).get(key) != value}
            if changed:
                rows[pid] = changed
            self.told[pid] = row
        gone = [pid for pid in self.told if pid not in followed]
        self.told = {pid: row for pid, row in self.told.items() if pid in followed}
        self.say({"at": now, "rows": rows, "gone": gone})

    def known(self, pid: int) -> Any:
        """Its facts, if they are of this process and not of an earlier one of that pid."""
        answer = self.facts.answers.get(pid)
        return answer if answer is not None and answer[0] == self.stats[pid][0][6] else None

    def followed(self) -> dict[int, bool]:
        """Pids by whether each is below a rank: processes that have a rank's number, hold a log, are below or above of such."""
        children: dict[int, list[int]] = {}
        for pid, (who, _) in self.stats.items():
            children.setdefault(who[1], []).append(pid)
        numbered = {pid for pid in self.stats if self.is_rank(pid)}
        tops = {pid for pid in numbered if self.stats[pid][0][1] not in numbered}
        roots = numbered | {pid for pid in self.stats if (known := self.known(pid)) and any(f[1] in self.logs for f in known[2])}
        found: dict[int, bool] = {}
        stack = sorted(roots)
        while stack:
            pid = stack.pop()
            if pid not in found:
                found[pid] = pid not in tops and pid in numbered
                stack.extend(children.get(pid, ()))
        for pid in sorted(roots):
            for parent in self.above(pid):
                found.setdefault(parent, False)
        return {pid: found[pid] for pid in found if pid in self.stats and (pid not in self.own or pid in numbered)}

    def is_rank(self, pid: int) -> bool:
        known = self.known(pid)
        return known is not None and any(name in known[1]["environ"] for name in self.ranks)

    def row(self, pid: int) -> dict[str, Any]:
        who, now = self.stats[pid]
        known = self.known(pid)
        row = {"who": who, "now": now, "details": details_of(pid) if now[0] not in "ZX" else None}
        return row if known is None else dict(row, facts=known[1], files=known[2])


def tasks_of(pid: int) -> dict[str, list[str]]:
    """By thread: state, kernel function and system call in which it waits."""
    found: dict[str, list[str]] = {}
    for name in listed(f"/proc/{pid}/task")[:MOST_THREADS]:
        folder = f"/proc/{pid}/task/{name}"
        state = read(folder + "/stat").rpartition(b")")[2].split()[:1]
        if state:
            found[name] = [state[0].decode(), as_text(read(folder + "/wchan")), as_text(read(folder + "/syscall")).strip()]
    return found


def spy_for(pid: int) -> str | None:
    """The py-spy beside the Python of this process, else that of the PATH. What another user's process runs is not run as us."""
    ours = fields(read(f"/proc/{pid}/status")).get("Uid", "").split()[1:2] == [str(os.geteuid())]
    programs = (read(f"/proc/{pid}/cmdline").split(b"\0")[0].decode("utf-8", "replace"), link(f"/proc/{pid}/exe"))
    tools = [os.path.join(os.path.dirname(program), "py-spy") for program in programs if ours and program.startswith("/")]
    return next((tool for tool in tools if os.access(tool, os.X_OK)), None) or shutil.which("py-spy")


def dump(pid: int, limit_s: float) -> tuple[str | None, str | None]:
    """What py-spy says of one process: (its JSON, or `None`, and why not)."""
    tool = spy_for(pid)
    if tool is None:
        return None, "py-spy not found"
    argv = [tool, "dump", "--json", "--nonblocking", "--pid", str(pid)]
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit_s, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        return None, f"no answer within {limit_s:g} s" if isinstance(error, subprocess.TimeoutExpired) else str(error)
    if done.returncode == 0 and len(done.stdout) <= MOST_DUMP_BYTES:
        return as_text(done.stdout), None
    said = [line.strip() for line in as_text(done.stderr).splitlines() if line.strip()]
    return None, said[0] if said else "py-spy failed and said nothing"


def sources_of(pid: int, spied: str, started_at: float) -> dict[str, list[Any]]:
    """By name, of the program's own source files in a dump: SHA-1, whether it is newer than the process, and its whole path."""
    names = {frame["filename"] for thread in json.loads(spied) for frame in thread["frames"]}
    found: dict[str, list[Any]] = {}
    folder = link(f"/proc/{pid}/cwd")
    for name in sorted(name for name in names if name.endswith(".py") and not any(part in name for part in LIBRARIES)):
        path = os.path.join(folder, name)
        root = f"/proc/{pid}/root{path}"
        try:
            about = os.stat(root)
        except OSError:
            continue
        if len(found) < MOST_SOURCES and about.st_size <= MOST_SOURCE_BYTES:
            found[name] = [hashlib.sha1(read(root), usedforsecurity=False).hexdigest(), about.st_mtime > started_at + 2.0, path]
    return found


def take_stacks(ask: dict[str, Any], say: Say) -> None:
    """Answers one question: each stack as it comes, then the end."""
    todo: queue.Queue[int] = queue.Queue()
    for pid in ask["pids"]:
        todo.put(pid)

    def work() -> None:
        while True:
            try:
                pid = todo.get_nowait()
            except queue.Empty:
                return
            known = stat_of(pid)
            if known is None:
                say({"stack": ask["ask"], "pid": pid, "error": "the process is gone"})
                continue
            found, error = dump(pid, ask["limit_s"])
            if found is None and "stack trace" in (error or "").lower():  # it read while the stack changed
                found, error = dump(pid, ask["limit_s"])
            row = {"stack": ask["ask"], "pid": pid, "at": time.time(), "start": known[0][6], "state": known[1][0]}
            started_at = boot_at() + known[0][6] / TICKS_PER_S
            sources = sources_of(pid, found, started_at) if found else {}
            say(dict(row, dump=found, error=error, tasks=tasks_of(pid), sources=sources))

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(AT_ONCE, len(ask["pids"])))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(3 * ask["limit_s"])
    say({"asked": ask["ask"]})


def main() -> None:
    lock, out = threading.Lock(), sys.stdout.buffer

    def say(record: dict[str, Any]) -> None:
        line = json.dumps(record, separators=(",", ":")).encode("utf-8", "backslashreplace") + b"\n"
        with lock:
            try:
                out.write(line)
                out.flush()
            except OSError:
                os._exit(0)

    boot, pids = as_text(read("/proc/sys/kernel/random/boot_id").strip()), link("/proc/self/ns/pid")
    say({"hello": True, "boot": boot, "pids": pids, "ticks_per_s": TICKS_PER_S, "machine": platform.machine()})
    asks: queue.Queue[dict[str, Any]] = queue.Queue()

    def listen() -> None:
        for line in iter(sys.stdin.buffer.readline, b""):
            asks.put(json.loads(line))
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    look = asks.get()["look"]
    node = Node(look, say)
    say({"boot_at": node.boot_at})
    while True:
        due = time.monotonic() + (0.3 if node.looks < SELDOM else look["interval_s"])
        node.look()
        while (left := due - time.monotonic()) > 0:
            try:
                ask = asks.get(timeout=left)
            except queue.Empty:
                break
            if "ping" in ask:
                say({"pong": ask["ping"], "now": time.time()})
            elif "stacks" in ask:
                threading.Thread(target=take_stacks, args=(ask["stacks"], say), daemon=True).start()


if __name__ == "__main__":
    main()
