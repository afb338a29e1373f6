"""A client that only copies the log of a run elsewhere is not taken for the run, however it is called."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.probe.processes.copying import copies, only_copy
from hangtop.records.log import LogFile, LogReading, Progress
from hangtop.records.process import Process, ProcessReading, Writer
from hangtop.records.reading import Reading
from hangtop.records.verdict import Verdict
from hangtop.records.watch_spec import WatchSpec
from hangtop.remedies.advise import advice
from hangtop.state.run_state import RunState, fold
from hangtop.system.processes.table import Details, OpenFile, Stat

LOG = OpenFile(1, "/data/train.log", writable=True)
SOCKET = OpenFile(3, "socket:[4711]", writable=True)
CLIENT = Stat(7, "kubectl", "S", 1, 7, 7, 100, cpu_ticks=5)
KB, MB = 1_000, 1_000_000


def io(read: int, wrote: int) -> Details:
    return Details(passed_bytes=read + wrote, written_bytes=wrote)


@pytest.mark.parametrize(
    ("read", "wrote", "ticks"),
    [(3_449, 4_801, 5), (1_431_807, 1_313_207, 6), (38_994, 4_473, 7), (1_380_726, 1_273_291, 8), (2_636, 1_000, 1)],
    ids=["kubectl", "kubectl, much", "ssh", "ssh, much", "docker"],
)
def test_what_was_measured_of_clients_copies(read: int, wrote: int, ticks: int) -> None:
    assert copies(replace(CLIENT, cpu_ticks=ticks), io(read, wrote), (LOG, SOCKET), 100)


@pytest.mark.parametrize(
    ("details", "files", "ticks"),
    [
        (io(1_353 * KB, 4 * KB), (LOG, SOCKET), 5),
        (io(10 * KB, 3 * MB), (LOG, SOCKET), 5),
        (io(4 * KB, 4 * KB), (LOG, SOCKET), 500),
        (io(4 * KB, 4 * KB), (LOG,), 5),
        (io(4 * KB, 4 * KB), (LOG, replace(SOCKET, fd=0)), 5),
        (io(4 * KB, 4 * KB), (LOG, SOCKET, OpenFile(9, "/dev/nvidia0", writable=True)), 5),
        (Details(), (LOG, SOCKET), 5),
    ],
    ids=["a Python program", "writes its own", "computes", "no socket", "an inherited socket", "a GPU", "unknown"],
)
def test_a_run_does_not_copy(details: Details, files: tuple[OpenFile, ...], ticks: int) -> None:
    assert not copies(replace(CLIENT, cpu_ticks=ticks), details, files, 100)


def test_a_shell_that_starts_a_client_again_and_again_only_waits() -> None:
    shell = Stat(6, "bash", "S", 1, 6, 6, 90, cpu_ticks=2)
    below = replace(CLIENT, ppid=6)
    assert only_copy([shell, below], {7}, 100)
    assert not only_copy([shell, below, replace(below, pid=8)], {7}, 100)
    assert not only_copy([replace(shell, cpu_ticks=9_000), below], {7}, 100)
    assert not only_copy([], set(), 100)


def test_what_its_parent_forked_off_is_no_client_also_where_the_parent_writes_elsewhere() -> None:
    assert only_copy([CLIENT], {7}, 100, parent="bash")
    assert not only_copy([CLIENT], {7}, 100, parent=CLIENT.name)


def judged(writer: Writer, state: str = "S", now: float = 1_500.0) -> tuple[RunState, Verdict]:
    log = LogReading((LogFile("/data/train.log", size_bytes=9),), last_output_at=1_000.0, progress=Progress(step=3, total=9))
    process = Process(7, 900.0, 100, 1, "kubectl", "kubectl logs -f trainer-0", state)
    procs = ProcessReading(writers=(writer,), processes=(process,) if writer.alive else (), sought=True)
    known = RunState()
    for value in (log, procs):
        known = fold(known, Reading("", "here", now, value))
    return known, diagnose(known, WatchSpec(logs=("/data/train.log",)), now)


CLIENT_WRITER = Writer(7, 900.0, "kubectl", "kubectl logs -f trainer-0", 100, ("/data/train.log",), copies=True)


def test_a_silent_copy_accuses_nobody_and_says_where_the_run_is() -> None:
    state, verdict = judged(CLIENT_WRITER)
    assert (verdict.word, verdict.culprits) == ("stalled", ())
    assert "kubectl writes this log: the run itself is elsewhere, in its pod" in verdict.headline
    first = advice(take_snapshot(state, WatchSpec(), 1_500.0), verdict)[0]
    assert "Run hangtop where the run runs" in first.remedy


def test_a_client_that_ended_is_no_crash_of_the_run() -> None:
    _, verdict = judged(replace(CLIENT_WRITER, alive=False, gone_at=1_400.0, exit_code=255))
    assert verdict.word == "blind"
    assert "nobody copies it: pid 7 kubectl ended, exit code 255" in verdict.headline


def test_a_client_that_is_stopped_is_no_hang_of_the_run_and_may_go_on() -> None:
    state, verdict = judged(CLIENT_WRITER, "T")
    assert verdict.word == "blind"
    assert "kill -CONT 7" in advice(take_snapshot(state, WatchSpec(), 1_500.0), verdict)[0].paste


def test_beside_another_writer_a_client_is_none() -> None:
    _, verdict = judged(replace(CLIENT_WRITER, copies=False))
    assert "elsewhere" not in verdict.headline
