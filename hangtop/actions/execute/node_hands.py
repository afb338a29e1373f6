"""The line over which a plan is carried out on one other node: `hangtop.probe.nodes.node_side.hands` there, one order at a time.

Who gives an order has written it into the action log before. Nothing there goes on by itself: when this line ends, so does it."""

from __future__ import annotations

import subprocess
import threading
import time
from collections import deque
from contextlib import suppress
from queue import Empty, Queue
from typing import IO, Any

import msgspec

from hangtop.common.clean_text import clean_text
from hangtop.probe.nodes.far_program import program
from hangtop.probe.nodes.launchers import LauncherError, command
from hangtop.records.nodes import OtherNode

OPEN_S, ORDER_S = 20.0, 10.0
"""To open a line, and to carry out one order."""
MOST_LINE_BYTES = 4 << 20
LAST_WORDS_S = 0.5


class NodeLost(Exception):
    """The node does not answer, or not as it should: one line that says why."""


class NodeHands:
    """Raises nothing when made: `begin` opens the line."""

    def __init__(self, host: str, known: OtherNode) -> None:
        self.host, self.known = host, known
        self._child: subprocess.Popen[bytes] | None = None
        self._lines: Queue[bytes] = Queue()
        self._last_words: deque[str] = deque(maxlen=20)
        self._readers: tuple[threading.Thread, ...] = ()

    @property
    def is_open(self) -> bool:
        return self._child is not None

    def begin(self) -> None:
        """Open the line. Raises `NodeLost`."""
        pipe = subprocess.PIPE
        try:
            words = command(self.known.launcher, self.host)
            child = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True)
        except (OSError, LauncherError) as error:
            raise NodeLost(f"{self.host}: {error}") from error
        self._child, self._lines = child, Queue()
        assert child.stdout is not None
        assert child.stderr is not None
        self._readers = (
            threading.Thread(target=_take, args=(child.stdout, self._lines), daemon=True),
            threading.Thread(target=_listen, args=(child.stderr, self._last_words), daemon=True),
        )
        for reader in self._readers:
            reader.start()
        who = {"boot": self.known.boot, "pids": self.known.pids, "uid": self.known.uid}
        self._send(b"%d\n" % len(program()) + program() + _line({"act": who}))
        if "hello" not in (told := self._next(OPEN_S)):
            raise NodeLost(f"{self.host}: it answers what is no line of hangtop: {str(told)[:80]}")

    def order(self, order: str, within_s: float = ORDER_S, **what: Any) -> dict[str, Any]:
        """Carry this out there, and what came of it. Raises `NodeLost`."""
        self._send(_line({"order": order, **what}))
        told = self._next(within_s)
        if told.get("done") != order:
            raise NodeLost(f"{self.host}: it answers what was not asked")
        if "error" in told:
            raise NodeLost(f"{self.host}: {clean_text(str(told['error']))}")
        return told

    def close(self) -> None:
        """End the line, and with it what acts there."""
        if self._child is None:
            return
        child, self._child = self._child, None
        with suppress(OSError):
            assert child.stdin is not None
            child.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            child.wait(LAST_WORDS_S)
        child.kill()
        child.wait()
        for reader in self._readers:  # what the launcher started may hold the pipes open
            reader.join(LAST_WORDS_S)

    def _send(self, text: bytes) -> None:
        """A pipe takes it at once, or the launcher reads it as it comes; one that never reads is ended by whoever waits."""
        child = self._child
        if child is None:
            raise NodeLost(f"{self.host}: there is no line to it")
        assert child.stdin is not None
        late = threading.Timer(OPEN_S, child.kill)
        late.daemon = True
        late.start()
        try:
            child.stdin.write(text)
            child.stdin.flush()
        except (OSError, ValueError) as error:
            raise NodeLost(self._why()) from error
        finally:
            late.cancel()

    def _next(self, within_s: float) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=within_s)
        except Empty:
            self.close()
            raise NodeLost(f"{self.host} did not answer within {within_s:g} s") from None
        if not line:
            raise NodeLost(self._why())
        try:
            return msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.DecodeError, ValueError) as error:
            said = clean_text(line[:80].decode("utf-8", "replace")).strip()
            raise NodeLost(f"{self.host}: it answers what is no line of hangtop: {said}") from error

    def _why(self) -> str:
        """Its last words, such as ssh's reason."""
        time.sleep(LAST_WORDS_S)
        said = next((word for word in reversed(self._last_words) if word), "the line to it ended")
        return f"{self.host}: {said}"


def _line(record: dict[str, Any]) -> bytes:
    return msgspec.json.encode(record) + b"\n"


def _take(output: IO[bytes], lines: Queue[bytes]) -> None:
    """Ends with an empty line."""
    with suppress(OSError, ValueError), output:
        while line := output.readline(MOST_LINE_BYTES):
            lines.put(line)
    lines.put(b"")


def _listen(errors: IO[bytes], last_words: deque[str]) -> None:
    with suppress(OSError, ValueError), errors:
        for line in errors:
            last_words.append(clean_text(line.decode("utf-8", "replace")).strip())
