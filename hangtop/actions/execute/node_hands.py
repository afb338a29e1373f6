"""The line over which a plan is carried out on one other node: `hangtop.probe.nodes.node_side.hands` there, one order at a time.

Who gives an order has written it into the action log before. Nothing there goes on by itself: when this line ends, so does it."""

from __future__ import annotations

import subprocess
import threading
import time
from collections import deque
from contextlib import suppress
from queue import Empty, Full, Queue
from typing import IO, Any

import msgspec

from hangtop.common.clean_text import clean_text
from hangtop.probe.nodes.far_program import program
from hangtop.probe.nodes.launchers import LauncherError, command
from hangtop.records.nodes import OtherNode

OPEN_S, ORDER_S, LAST_WORDS_S = 20.0, 10.0, 0.5
"""To open a line, to carry out one order, and until the reason of a lost one is read."""
SEND_S = 5.0
LONGEST_S = 2 * OPEN_S + 2 * (SEND_S + ORDER_S) + 8 * LAST_WORDS_S
"""What may come together: a line is opened, the program sent and heard, it gets two orders, and its end is waited for twice."""
MOST_LINE_BYTES, MOST_LINES = 1 << 20, 64
"""Of a line, and of lines that wait to be read: who writes more waits until they are."""


class NodeLost(Exception):
    """The node does not answer, or not as it should: one line that says why."""


class NodeHands:
    """Raises nothing when made: `begin` opens the line."""

    def __init__(self, host: str, known: OtherNode) -> None:
        self.host, self.known = host, known
        self._child: subprocess.Popen[bytes] | None = None
        self._lines: Queue[bytes] = Queue(MOST_LINES)
        self._given_up = False
        self._last_words: deque[str] = deque(maxlen=20)
        self._readers: tuple[threading.Thread, ...] = ()

    @property
    def is_open(self) -> bool:
        return self._child is not None

    def begin(self) -> None:
        """Open the line. Raises `NodeLost`."""
        if self._given_up:
            raise NodeLost(f"{self.host} did not answer in time")
        pipe = subprocess.PIPE
        try:
            words = command(self.known.launcher, self.host)
            child = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True)
        except (OSError, LauncherError) as error:
            raise NodeLost(f"{self.host}: {error}") from error
        self._child, self._lines = child, Queue(MOST_LINES)
        assert child.stdout is not None
        assert child.stderr is not None
        self._readers = (
            threading.Thread(target=_take, args=(child.stdout, self._lines), daemon=True),
            threading.Thread(target=_listen, args=(child.stderr, self._last_words), daemon=True),
        )
        for reader in self._readers:
            reader.start()
        who = {"boot": self.known.boot, "pids": self.known.pids, "uid": self.known.uid}
        self._send(b"%d\n" % len(program()) + program() + _line({"act": who}), OPEN_S)
        self._await_hello(time.monotonic() + OPEN_S)

    def order(self, order: str, within_s: float = ORDER_S, **what: Any) -> dict[str, Any]:
        """Carry this out there, and what came of it. Raises `NodeLost`."""
        self._send(_line({"order": order, **what}))
        told = _record(line := self._next(within_s))
        if told is None:
            raise NodeLost(self._no_record(line))
        if told.get("done") != order:
            raise NodeLost(f"{self.host}: it answers what was not asked")
        if "error" in told:
            raise NodeLost(f"{self.host}: {clean_text(str(told['error']))}")
        return told

    def give_up(self) -> None:
        """End the line, for a thread that may still be at work on it: it opens no other."""
        self._given_up = True
        if (child := self._child) is not None:
            child.kill()

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

    def _await_hello(self, until: float) -> None:
        """The first line of the program there. What a shell there has printed before it is passed over. Raises `NodeLost`."""
        said = b""
        while (left_s := until - time.monotonic()) > 0:
            line = self._next(left_s, said)
            if "hello" in (_record(line) or {}):
                return
            said = said if line.isspace() else line
        self.close()
        raise NodeLost(self._no_record(said))

    def _send(self, text: bytes, within_s: float = SEND_S) -> None:
        """A pipe takes it at once, or the launcher reads it as it comes; one that never reads is ended by whoever waits."""
        child = self._child
        if child is None:
            raise NodeLost(f"{self.host}: there is no line to it")
        assert child.stdin is not None
        late = threading.Timer(within_s, child.kill)
        late.daemon = True
        late.start()
        try:
            child.stdin.write(text)
            child.stdin.flush()
        except (OSError, ValueError) as error:
            raise NodeLost(self._why()) from error
        finally:
            late.cancel()

    def _next(self, within_s: float, said: bytes = b"") -> bytes:
        """`said`: what came before, and was no answer. Raises `NodeLost`."""
        try:
            line = self._lines.get(timeout=within_s)
        except Empty:
            self.close()
            late = f"{self.host} did not answer within {within_s:.0f} s"
            raise NodeLost(self._no_record(said) if said else late) from None
        if not line:
            raise NodeLost(self._why())
        return line

    def _no_record(self, line: bytes) -> str:
        said = clean_text(line[:80].decode("utf-8", "replace")).strip()
        return f"{self.host}: it answers what is no line of hangtop: {said}"

    def _why(self) -> str:
        """Its last words, such as ssh's reason."""
        time.sleep(LAST_WORDS_S)
        said = next((word for word in reversed(self._last_words) if word), "the line to it ended")
        return f"{self.host}: {said}"


def _line(record: dict[str, Any]) -> bytes:
    return msgspec.json.encode(record) + b"\n"


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.DecodeError, ValueError):
        return None


def _take(output: IO[bytes], lines: Queue[bytes]) -> None:
    """Ends with an empty line, or once nobody has read for long."""
    with suppress(OSError, ValueError, Full), output:
        while line := output.readline(MOST_LINE_BYTES):
            lines.put(line, timeout=OPEN_S)
    with suppress(Full):
        lines.put(b"", timeout=OPEN_S)


def _listen(errors: IO[bytes], last_words: deque[str]) -> None:
    with suppress(OSError, ValueError), errors:
        for line in errors:
            last_words.append(clean_text(line.decode("utf-8", "replace")).strip())
