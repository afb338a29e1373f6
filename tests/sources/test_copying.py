"""A real client that only copies what comes over its socket is seen as one; a Python program with a socket is not."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hangtop.probe.context import ProbeContext
from hangtop.probe.processes.process_source import ProcessSource
from hangtop.records.process import ProcessReading, Writer
from hangtop.records.watch_spec import WatchSpec
from tests.fakes.processes import eventually, python, running

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only")

CLIENT = r"""
#include <arpa/inet.h>
#include <stdlib.h>
#include <unistd.h>
int main(int count, char **words) {
  struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons(atoi(words[1]))};
  there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int end = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(end, (void *)&there, sizeof there)) return 1;
  char bytes[4096];
  for (ssize_t got; (got = read(end, bytes, sizeof bytes)) > 0;) if (write(1, bytes, got) < 0) return 1;
}
"""
TRAINER = """
import socket, sys, time
there = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
print("step 1/9", flush=True)
time.sleep(600)
"""


FORKS = """
import multiprocessing, socket, time
def work(there):
    time.sleep(600)
if __name__ == "__main__":
    ours, there = socket.socketpair()
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=work, args=(there,)) for _ in range(2)]
    for worker in workers:
        worker.start()
    print("step 1/9", flush=True)
    for worker in workers:
        worker.join()
"""


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


@pytest.fixture
def client(tmp_path: Path) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    source = tmp_path / "client.c"
    source.write_text(CLIENT)
    subprocess.run((compiler, "-o", str(tmp_path / "client"), str(source)), check=True)
    return tmp_path / "client"


def writer_of(log: Path) -> Writer:
    source = ProcessSource(ProbeContext(WatchSpec(logs=(str(log),), sources=("procs",))))

    def seen() -> Writer | None:
        readings = [value for value in source.read(time.time()) if isinstance(value, ProcessReading)]
        return next((writer for reading in readings for writer in reading.writers if reading.sought), None)

    return eventually(seen, "a writer")


def test_a_client_copies_whether_started_by_a_shell_or_not(client: Path, server: socket.socket, tmp_path: Path) -> None:
    port, log = str(server.getsockname()[1]), tmp_path / "train.log"
    for command in ((str(client), port), ("bash", "-c", f"while true; do {client} {port}; done")):
        with log.open("wb") as out, running(*command, stdout=out):
            there, _ = server.accept()
            with there:
                there.sendall(b"step 1/9 loss 2.1\n" * 100)
                eventually(lambda: log.stat().st_size == 1_800, "its lines")
                assert writer_of(log).copies


def test_a_program_that_writes_its_own_lines_does_not_copy(server: socket.socket, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    with log.open("wb") as out, python(TRAINER, str(server.getsockname()[1]), stdout=out):
        eventually(lambda: log.stat().st_size > 0, "its line")
        assert not writer_of(log).copies


def test_a_program_that_waits_for_what_it_has_forked_off_does_not_copy(tmp_path: Path) -> None:
    """Its children have a socket, and have hardly read, written or computed anything."""
    log = tmp_path / "train.log"
    with log.open("wb") as out, python(FORKS, stdout=out):
        eventually(lambda: log.stat().st_size > 0, "its line")
        assert not writer_of(log).copies
