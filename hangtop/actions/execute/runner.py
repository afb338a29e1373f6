"""Keeps a run that hangtop started: its terminal, its log, its exit code. Outlives hangtop, and ends with the run.

stdin: a `Start` as JSON. stdout: one line, a `Launch` as JSON, or the reason why nothing was started. The run gets a session of
its own under a terminal, so that its output comes line by line, and no input: a program that asks gets the end of file. It gets
the limits, the umask and the like that the start names; the runner keeps those of hangtop.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import resource
import signal
import struct
import subprocess
import sys
import termios

import msgspec
from msgspec.structs import replace

from hangtop.common import clock
from hangtop.common.raw_text import bytes_of, from_os, raw_environ, to_os
from hangtop.records.launch import Launch
from hangtop.records.plan import Start
from hangtop.system.processes.limits import conditions_of, take_on
from hangtop.system.processes.linux import read_stat
from hangtop.system.stores import launch_store

CHUNK_BYTES = 65_536
ROWS, COLUMNS = 50, 200


def main() -> None:
    start = msgspec.json.decode(sys.stdin.buffer.read(), type=Start)
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    try:
        environ = environ_of(start) | start.set_env
        log = _open(start)
        environ_file = start.environ_file or launch_store.keep_environ(environ)
        master, child = _spawn(start, environ)
    except (OSError, msgspec.DecodeError) as error:
        sys.stdout.buffer.write(f"{error}\n".encode(errors="replace"))
        sys.stdout.flush()
        sys.exit(1)
    launch = _launch(start, child.pid, environ, environ_file)
    _keep(launch, log)
    signal.signal(signal.SIGTERM, lambda number, frame: _pass_on(child.pid))
    _tell(msgspec.json.encode(launch) + b"\n")
    _copy(master, log)
    code = _reap(child)
    _keep(replace(launch, exit_code=code, ended_at=clock.now(), size_bytes=os.fstat(log).st_size), log)
    _end_like(code)


def environ_of(start: Start) -> dict[str, str]:
    """The environment before what is set for this start, as raw text. Raises `OSError`, `msgspec.DecodeError`."""
    if start.environ_file:
        return launch_store.environ_of(start.environ_file)
    return {from_os(name): from_os(value) for name, value in os.environ.items()}


def _open(start: Start) -> int:
    """The log, made as the run itself would make it. Raises `OSError`."""
    ours = os.umask(0o077)
    os.umask(ours if start.conditions.umask is None else start.conditions.umask)
    try:
        return os.open(bytes_of(start.log), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    finally:
        os.umask(ours)


def _keep(launch: Launch, log: int) -> None:
    """Record the start. If that fails the run goes on all the same: it can be restarted as long as it lives."""
    try:
        launch_store.keep(launch)
    except OSError as error:
        _write(log, f"hangtop: this start could not be recorded: {error}\n".encode(errors="replace"))


def _spawn(start: Start, environ: dict[str, str]) -> tuple[int, subprocess.Popen[bytes]]:
    """(our end of the terminal, the run). Raises `OSError` when the command cannot be run."""

    def before_command() -> None:
        fcntl.ioctl(1, termios.TIOCSCTTY, 0)
        for number in (signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        take_on(start.conditions)  # what cannot be as it was has been said in the plan

    master, terminal = os.openpty()
    _plain_output(terminal)
    child = subprocess.Popen(
        [to_os(word) for word in start.argv],
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=terminal,
        cwd=to_os(start.cwd),
        env=raw_environ(environ),
        start_new_session=True,
        preexec_fn=before_command,
    )
    os.close(terminal)
    return master, child


def _plain_output(terminal: int) -> None:
    """Line ends go to the log as they are written; a width that fits progress bars."""
    modes = termios.tcgetattr(terminal)
    modes[1] &= ~termios.OPOST
    modes[3] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSANOW, modes)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))


def _launch(start: Start, pid: int, environ: dict[str, str], environ_file: str) -> Launch:
    """The record of this start, without what was set for this start alone."""
    stat = read_stat(pid)
    return Launch(
        argv=start.usual_argv or start.argv,
        cwd=start.cwd,
        environ_file=environ_file,
        pid=pid,
        start_ticks=stat.start_ticks if stat else 0,
        started_at=clock.now(),
        output=from_os(os.path.realpath(to_os(start.log))),
        visible_devices=environ.get("CUDA_VISIBLE_DEVICES") if start.visible_devices is None else start.visible_devices,
        attempt=start.attempt,
        conditions=conditions_of(pid),
        shell=environ.get("SHELL", ""),
    )


def _tell(line: bytes) -> None:
    """Answer who started us; after that, stdin, stdout and stderr are closed."""
    with contextlib.suppress(OSError):
        os.write(1, line)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)


def _copy(master: int, log: int) -> None:
    """Copy until the last process of the run has closed the terminal. A full disk loses output, but never blocks the run."""
    lost = 0
    while True:
        try:
            data = os.read(master, CHUNK_BYTES)
        except OSError as error:
            if error.errno != errno.EIO:  # EIO: nobody has the terminal open any more (pty(7))
                raise
            return
        if not data:
            return
        if lost:
            data = f"\nhangtop: {lost:,} B of output lost: the log could not be written\n".encode() + data
        left = _write(log, data)
        lost = lost + left if left else 0


def _write(log: int, data: bytes) -> int:
    """How many bytes could not be written."""
    try:
        while data:
            data = data[os.write(log, data) :]
    except OSError:
        return len(data)
    return 0


def _end_like(code: int) -> None:
    """End like the run, by exit code or signal: a watcher of the log takes our end for that of the run."""
    if code >= 0:
        sys.exit(code)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if -code not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)


def _pass_on(pid: int) -> None:
    """Forward SIGTERM. The child is ours and not reaped yet, so its pid cannot be another's."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)


def _reap(child: subprocess.Popen[bytes]) -> int:
    """Its exit code. Before its pid can be reused, forwarding of signals ends."""
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return child.wait()


if __name__ == "__main__":
    main()
