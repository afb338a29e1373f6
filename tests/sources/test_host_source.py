"""The machine's signals, provoked: a kill for want of memory, a fault in C code, a CPU quota that is used up."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hangtop.probe.context import ProbeContext
from hangtop.probe.host.host_source import HostSource
from hangtop.records.host_signals import HostSignals, KernelEvent
from hangtop.records.watch_spec import WatchSpec
from hangtop.system.host_signals.kernel_log import KernelLog
from hangtop.system.host_signals.rates import RateReader
from hangtop.system.processes.proc_files import FIRST_PID_NAMESPACE, namespace

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells this")
GROUPS = Path("/sys/fs/cgroup")
LEAST_WAIT_S = 60.0


@pytest.fixture
def log() -> KernelLog:
    log = KernelLog()
    if log.unread is not None or namespace("self", "pid") != FIRST_PID_NAMESPACE:
        pytest.skip("the kernel's log, with our pids, may not be read here")
    return log


@pytest.fixture
def group(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A control group of our own below this controller."""
    place = GROUPS / request.param if (GROUPS / request.param).is_dir() else GROUPS
    own = place / f"hangtop-test-{os.getpid()}"
    try:
        own.mkdir()
    except OSError:
        pytest.skip("no control group can be made here")
    yield own
    for _ in range(100):
        try:
            own.rmdir()
            break
        except OSError:  # its last process is on its way out
            time.sleep(0.05)


def limit(group: Path, **settings: str) -> None:
    """Version 1 or 2, whichever is there."""
    for name, value in settings.items():
        if (place := group / name.replace("__", ".")).exists():
            place.write_text(value)
            return
    pytest.skip("this control group has no such limit")


def begin(group: Path, code: str) -> subprocess.Popen[str]:
    enter = f"import os; open({str(group / 'cgroup.procs')!r}, 'w').write(str(os.getpid())); "
    return subprocess.Popen(
        [sys.executable, "-c", f"{enter}print('there', flush=True)\n{code}"], stdout=subprocess.PIPE, text=True
    )


def told_of(pid: int, log: KernelLog) -> KernelEvent:
    ends_at = time.monotonic() + LEAST_WAIT_S
    while time.monotonic() < ends_at:
        if found := [event for event in log.read() if event.pid == pid]:
            return found[-1]
        time.sleep(0.05)
    raise AssertionError(f"the kernel said nothing of pid {pid}")


@pytest.mark.parametrize("group", ["memory"], indirect=True)
def test_the_kernel_says_whom_it_killed_for_want_of_memory(group: Path, log: KernelLog):
    limit(group, memory__limit_in_bytes="30000000", memory__max="30000000")
    with begin(group, "held = bytearray(300_000_000)") as process:
        if process.wait() != -9:
            pytest.skip("this machine swaps it out instead")
    event = told_of(process.pid, log)
    assert (event.kind, event.what) == ("oom", "python")
    assert abs(event.at - time.time()) < LEAST_WAIT_S


def test_the_kernel_says_where_a_program_failed_in_c_code(log: KernelLog):
    if Path("/proc/sys/debug/exception-trace").read_text().strip() != "1":
        pytest.skip("this kernel does not tell of faults")
    with subprocess.Popen([sys.executable, "-c", "import ctypes; ctypes.string_at(1)"]) as process:
        assert process.wait() == -11
    assert told_of(process.pid, log).kind == "fault"


@pytest.mark.parametrize("group", ["cpu"], indirect=True)
def test_a_quota_that_is_used_up_is_told_by_the_part_of_the_periods(group: Path):
    limit(group, cpu__cfs_quota_us="10000", cpu__max="10000 100000")
    reader = RateReader()
    with begin(group, "while True: pass") as process:
        assert process.stdout is not None
        process.stdout.readline()
        reader.read(process.pid, time.time())
        ends_at = time.monotonic() + LEAST_WAIT_S
        while not (rates := reader.read(process.pid, time.time())).quota_part and time.monotonic() < ends_at:
            time.sleep(0.1)  # on a crowded machine a period may pass in which it hardly ran
        process.kill()
    assert rates.quota_cores == 0.1
    assert rates.quota_part


def test_the_source_tells_what_changed_and_no_more():
    source = HostSource(ProbeContext(WatchSpec()))
    (first,) = source.read(time.time())
    assert isinstance(first, HostSignals)
    assert len(list(source.read(time.time()))) <= 1
