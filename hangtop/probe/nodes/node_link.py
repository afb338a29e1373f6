"""The line to one node: a child of ours that runs `node_side` there, started again when it ends, and what came over it.

Nothing is stored on the node, and nothing listens. Whoever reads the link never waits for the node."""

from __future__ import annotations

import subprocess
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

import msgspec

from hangtop.common import clock
from hangtop.common.clean_text import clean_text
from hangtop.probe.nodes.far_program import program
from hangtop.probe.nodes.node_gpus import NodeGpusTold
from hangtop.probe.nodes.node_table import Look

AGAIN_S = (1.0, 2.0, 5.0, 10.0, 30.0)
"""Pauses before a line that ended is opened again."""
WELL_S = 60.0
"""After a life this long they are counted from the first again."""
PING_S = 10.0
LATE_S = 12.0
"""A node tells something every two seconds."""
ANSWERS = ("stack", "launched", "waits", "part", "leftovers", "asked")
"""What a record has that belongs to the answer of a question: its number."""
MOST_LINE_BYTES = 16 << 20
MOST_WAITING = 10_000
LAST_WORDS_S = 1.0


class Hello(msgspec.Struct, frozen=True):
    """What a node says first. `boot`, `pids`: its boot and its PID namespace, by which this machine knows itself; `net`: its
    network namespace. `uid`: of whom it looks there. `machine`: the name of its architecture, on which the numbers of calls
    depend."""

    boot: str = ""
    pids: str = ""
    net: str = ""
    uid: int = -1
    machine: str = ""
    ticks_per_s: int = 100


class NodeLink:
    """For one reading thread besides its own. `node`: its number; `host`: its name as the user gave it."""

    def __init__(self, node: int, host: str, command: tuple[str, ...], look: Mapping[str, Any]) -> None:
        self.node, self.host = node, host
        self.hello = Hello()
        self.offset_s = 0.0
        """By how much its clock is ahead of ours, as the fastest answer so far tells."""
        self.heard_at: float | None = None
        """Unix time, by our clock."""
        self.problem: str | None = None
        self.generation = 0
        """How often the line was opened: a new one begins with everything."""
        self.received: deque[tuple[int, Look | NodeGpusTold | float]] = deque(maxlen=MOST_WAITING)
        """What came in which generation: when the node was booted, by its clock, then its looks and its GPUs."""
        self.wake: threading.Event = threading.Event()
        self._command, self._look = command, dict(look)
        self._best_s, self._closed = float("inf"), False
        self._child: subprocess.Popen[bytes] | None = None
        self._stdin: IO[bytes] | None = None
        self._lock = threading.Lock()
        self._answers: dict[int, deque[dict[str, Any]]] = {}

    def open(self) -> None:
        """Begin, in a thread of its own."""
        threading.Thread(target=self._run, name=f"node {self.host}", daemon=True).start()

    def close(self) -> None:
        """End the line for good."""
        self._closed = True
        if self._child is not None:
            self._child.kill()

    @property
    def is_late(self) -> bool:
        return self.heard_at is not None and clock.now() - self.heard_at > LATE_S

    def ask_stacks(self, ask: int, pids: tuple[int, ...], limit_s: float) -> None:
        """Ask for the stacks of processes there, by their pids there."""
        self._ask(ask, {"stacks": {"ask": ask, "pids": pids, "limit_s": limit_s}})

    def ask_launch(self, ask: int, processes: tuple[tuple[int, int], ...]) -> None:
        """Ask how these processes there were started, by pids there and start ticks."""
        self._ask(ask, {"launch": {"ask": ask, "processes": processes}})

    def ask_part(self, ask: int, path: str, first: int | None, most: int, from_end: bool) -> None:
        """Ask for a part of an output file of a rank there."""
        self._ask(ask, {"part": {"ask": ask, "path": path, "first": first, "most": most, "from_end": from_end}})

    def ask_waits(
        self, ask: int, ends: Sequence[str], requests: Sequence[str], samples: int, every_s: float, members: Sequence[int]
    ) -> None:
        """Ask who holds these ends of connections there, or the locks for which these members wait, and what becomes of these
        processes meanwhile."""
        what = {"ends": ends, "requests": requests, "samples": samples, "every_s": every_s, "members": members}
        self._ask(ask, {"waits": {"ask": ask, **what}})

    def ask_leftovers(self, ask: int, older_s: float, rules: Mapping[str, Any]) -> None:
        """Ask what dead runs left behind there."""
        self._ask(ask, {"leftovers": {"ask": ask, "older_s": older_s, "rules": rules}})

    def _ask(self, ask: int, record: dict[str, Any]) -> None:
        self._answers[ask] = deque()
        if not self._send(record):
            self._answers[ask].append({"asked": ask, "error": self.problem or f"{self.host} cannot be asked"})

    def answers(self, ask: int) -> list[dict[str, Any]]:
        """What came of the answer to this question since the last call; the last one is `asked`."""
        answers, found = self._answers.get(ask) or deque(), []
        while answers:
            found.append(answers.popleft())
        return found

    def forget(self, ask: int) -> None:
        """Drop what may still come of this answer."""
        self._answers.pop(ask, None)

    def _run(self) -> None:
        failures = 0
        while not self._closed:
            began = time.monotonic()
            try:
                self._follow()
            except OSError as error:
                self.problem = f"{self.host}: {self._command[0]}: {error.strerror or error}"
            failures = 0 if time.monotonic() - began > WELL_S else failures + 1
            self.wake.set()
            time.sleep(AGAIN_S[min(failures, len(AGAIN_S)) - 1])

    def _follow(self) -> None:
        """One life of the line. Raises `OSError` if its program cannot be run."""
        source, pipe, last_words = program(), subprocess.PIPE, deque[str](maxlen=20)
        child = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True)
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        listener = threading.Thread(target=_listen, args=(child.stderr, last_words), daemon=True)
        listener.start()
        self.generation += 1
        self._best_s, self._stdin, self._child = float("inf"), child.stdin, child
        try:
            child.stdin.write(b"%d\n" % len(source) + source + _line({"look": self._look}))
            child.stdin.flush()
            self._read(child.stdout)
        except BrokenPipeError:
            pass  # its last words say why
        finally:
            self._stdin = None
            code = _end(child)
        listener.join(LAST_WORDS_S)
        said = next((line for line in reversed(last_words) if line), f"{self._command[0]} ended with code {code}")
        self.problem = f"{self.host}: {said}"
        for answers in self._answers.copy().values():
            answers.append({"asked": 0, "error": self.problem})

    def _read(self, output: IO[bytes]) -> None:
        pinged = 0.0
        while line := output.readline(MOST_LINE_BYTES):
            if line.isspace():
                continue
            try:
                record: dict[str, Any] = msgspec.json.decode(line, type=dict[str, Any])
                self._take(record)
            except (msgspec.DecodeError, ValueError, TypeError, KeyError):
                said = clean_text(line[:80].decode("utf-8", "replace")).strip()
                self.problem = f"{self.host}: it answers what is no line of hangtop: {said}"
                continue
            self.heard_at, self.problem = clock.now(), None
            if time.monotonic() - pinged > PING_S and "at" in record:
                pinged = time.monotonic()
                self._send({"ping": clock.now()})

    def _take(self, record: dict[str, Any]) -> None:
        if "pong" in record:
            now = clock.now()
            if (round_trip_s := now - record["pong"]) < self._best_s:
                self._best_s, self.offset_s = round_trip_s, record["now"] - (now + record["pong"]) / 2
        elif (ask := next((record[name] for name in ANSWERS if name in record), None)) is not None:
            if (answers := self._answers.get(ask)) is not None:
                answers.append(record)
        elif "hello" in record:
            self.hello = msgspec.convert(record, Hello)
        elif "boot_at" in record:
            self.received.append((self.generation, float(record["boot_at"])))
        elif "gpus" in record:
            self.received.append((self.generation, msgspec.convert(record["gpus"], NodeGpusTold, strict=False)))
        else:
            self.received.append((self.generation, msgspec.convert(record, Look, strict=False)))
            self.wake.set()

    def _send(self, record: dict[str, Any]) -> bool:
        """Whether the line took it. A small line fits into the pipe of one that reads; one that does not read is late."""
        with self._lock:
            if self._stdin is None or self.is_late:
                return False
            try:
                self._stdin.write(_line(record))
                self._stdin.flush()
            except (OSError, ValueError):
                return False
        return True


def _line(record: dict[str, Any]) -> bytes:
    return msgspec.json.encode(record) + b"\n"


def _end(child: subprocess.Popen[bytes]) -> int:
    """Kills it, which was not waited for yet, and closes its pipes; returns its exit code."""
    code = child.poll()
    child.kill()
    for pipe in (child.stdin, child.stdout):
        with suppress(OSError):
            assert pipe is not None
            pipe.close()
    ended = child.wait()
    return ended if code is None else code


def _listen(stderr: IO[bytes], last_words: deque[str]) -> None:
    """Keeps what the launcher says, such as ssh's reason."""
    with stderr:
        for line in stderr:
            last_words.append(clean_text(line.decode("utf-8", "replace")).strip())
