"""What a changed program of this suite imports: when and in which process its moment has come, and long ways to spend time.

It lies beside the changed copy, with `runtools.json`, which says which process is meant. Its names are a training library's, so
that a look at a stack gives nothing away.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import multiprocessing
import os
import re
import socket
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PLAN: dict[str, Any] = json.loads((HERE / "runtools.json").read_text(encoding="utf-8"))
CONTROL = Path(PLAN["control"])
MARKS_OF_A_SITE = 2000
READY = str(HERE.parent / "shards.ready")
LOCAL_RANK = os.environ.get("LOCAL_RANK", "")
"""As the process was born with it: some libraries set it later."""
RAY_WORKER = "default_worker.py"
"""Its arguments differ from run to run."""
converged = False

__all__ = ["asyncio", "due", "seen", "threading"]


class _Here:
    """What is known of this process; a fork begins anew."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.hits = 0
        self.counts: dict[int, int] = {}
        self.file: int | None = None
        self.key = _key()
        self.claimed = False


_here: _Here | None = None
_guard = threading.Lock()


def seen(site: int) -> None:
    """Note that this process comes by this statement, and when."""
    here = _this_process()
    count = here.counts[site] = here.counts.get(site, 0) + 1
    if count > MARKS_OF_A_SITE:
        return
    if here.file is None:
        here.file = os.open(CONTROL / f"{here.pid}.marks", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        os.write(here.file, json.dumps({"key": here.key}).encode() + b"\n")
    os.write(here.file, f"{site} {time.time():.3f}\n".encode())


def due() -> bool:
    """Whether this is the process and the moment; said once, or from then on where the plan says so. The first of several
    processes of one name that comes by has it."""
    here = _this_process()
    if here.claimed:
        return bool(PLAN["lasting"])
    if here.key != PLAN["key"]:
        return False
    here.hits += 1
    if here.hits < PLAN["hit"]:
        return False
    try:
        file = os.open(CONTROL / "claimed", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except FileExistsError:
        return False
    os.close(file)
    here.claimed = True
    note = {"pid": here.pid, "rank": _rank(), "time": time.time(), "thread": threading.current_thread().name}
    note["in_main"] = threading.current_thread() is threading.main_thread()
    (CONTROL / "fired.part").write_text(json.dumps(note))
    (CONTROL / "fired.part").rename(CONTROL / "fired.json")
    return True


def _this_process() -> _Here:
    global _here
    if _here is None or _here.pid != os.getpid():
        with _guard:
            if _here is None or _here.pid != os.getpid():
                _here = _Here()
    return _here


def _key() -> str:
    """A name of this process that it has in every run of the program."""
    argv = [] if Path(sys.argv[0]).name == RAY_WORKER else sys.argv[1:]
    told = [re.sub(r"\d{4,}", "#", word.replace(PLAN["folder"], "@")) for word in argv]
    return json.dumps([os.environ.get("RANK", LOCAL_RANK), multiprocessing.current_process().name, told])


def _rank() -> int | None:
    """The rank, as the program's own variable of that name has it."""
    starts = [sys._getframe(1), sys._current_frames().get(threading.main_thread().ident or 0)]
    for start in starts:
        frame = start
        while frame is not None:
            rank = frame.f_locals.get("rank")
            if isinstance(rank, int):
                return rank
            frame = frame.f_back
    named = os.environ.get("RANK") or os.environ.get("LOCAL_RANK", "")
    return int(named) if named.isdigit() else None


def done() -> None:
    """Note that what was put into the program is over."""
    (CONTROL / "over").touch()


def report(text: str) -> None:
    """A line of log."""
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}", file=sys.stderr, flush=True)


def heartbeats(period_s: float, text: str) -> None:
    """A side thread that says that it is there."""

    def beat() -> None:
        while True:
            report(text)
            time.sleep(period_s)

    threading.Thread(target=beat, name="monitor", daemon=True).start()


def try_again(pause_s: float, error: str) -> None:
    """Something fails, says so at length, and works the second time."""
    for attempt in range(2):
        try:
            _request(error if attempt == 0 else "")
            return
        except (OSError, ValueError) as problem:
            report(f"attempt {attempt + 1} failed: {problem}")
            traceback.print_exc()
            time.sleep(pause_s)


def _request(error: str) -> None:
    if error:
        raise OSError(error) if "onnection" in error else ValueError(error)


def search(seconds: float) -> int:
    """Python code, for long."""
    ends, best, tried = time.monotonic() + seconds, 0, 0
    while time.monotonic() < ends:
        for candidate in range(2000):
            best = max(best, (candidate * 2654435761 + tried) % 1000003)
        tried += 1
    done()
    return best


def stretch(seconds: float) -> bytes:
    """One call into C, for about so long."""
    began = time.monotonic()
    hashlib.pbkdf2_hmac("sha256", b"vocab", b"salt", 200_000)
    rounds = int(200_000 * seconds / max(time.monotonic() - began, 0.01))
    digest = hashlib.pbkdf2_hmac("sha256", b"vocab", b"salt", min(rounds, 400_000_000))
    done()
    return digest


def factor(seconds: float) -> float:
    """Small products of matrices, for long; only in programs that have torch already."""
    import torch

    ends, weight = time.monotonic() + seconds, torch.rand(200, 200)
    while time.monotonic() < ends:
        weight = torch.tanh(weight @ weight.T)
    done()
    return float(weight.sum())


def save_shards(seconds: float) -> None:
    """A file that grows for long."""
    ends = time.monotonic() + seconds
    with (HERE.parent / "state.bin").open("wb") as file:
        while time.monotonic() < ends:
            file.write(os.urandom(200_000))
            file.flush()
            os.fsync(file.fileno())
            time.sleep(0.2)
    done()


def upload(size: int, buffer: int | None = None) -> None:
    """Send bytes to the far side, and wait until it says that it has them."""
    with socket.socket() as peer:
        if buffer:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer)
        peer.connect(("127.0.0.1", PLAN["port"]))
        peer.sendall(b"PUT %d\n" % size)
        peer.sendall(os.urandom(size))
        peer.recv(16)
    done()


def download(size: int) -> bytes:
    """Have so many bytes from the far side, in memory."""
    parts: list[bytes] = []
    with socket.create_connection(("127.0.0.1", PLAN["port"])) as peer:
        peer.sendall(b"GET %d\n" % size)
        while part := peer.recv(65536):
            parts.append(part)
    done()
    return b"".join(parts)


def fetch_index() -> bytes:
    """Ask the far side for what it never sends."""
    with socket.create_connection(("127.0.0.1", PLAN["port"])) as peer:
        peer.sendall(b"WAIT 1\n")
        return peer.recv(65536)


def upload_by_child(size: int) -> None:
    """A child sends the bytes; this process waits for its end."""
    subprocess.run([sys.executable, str(HERE / "push.py"), str(PLAN["port"]), str(size)], check=True)
    done()


def score(manner: str, seconds: float) -> str:
    """Ask a local helper, a child, and wait for its answer."""
    argv = [sys.executable, str(HERE / "grader.py"), manner, str(seconds), str(CONTROL)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as helper:
        assert helper.stdin is not None
        assert helper.stdout is not None
        helper.stdin.write("score\n")
        helper.stdin.flush()
        answer = helper.stdout.readline()
        helper.stdin.close()
    done()
    return answer


def linger(seconds: float, *, busy: bool) -> None:
    """A pause, asleep or at work."""
    if not busy:
        time.sleep(seconds)
        return
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        sum(range(500))
