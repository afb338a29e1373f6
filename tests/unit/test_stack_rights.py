"""A missing right is named, with the exact command that grants it; and a thread's wait is told by the kernel's words."""

from __future__ import annotations

import pytest

from hangtop.system.processes.kernel_threads import wait_of
from hangtop.system.ptrace_permission import PtracePermission, refusal

DUMP = ("/opt/bin/py-spy", "dump", "--pid", "42")
FREE = PtracePermission(user=1000, owner=1000, may_trace=False, scope=0, container=False)


@pytest.mark.parametrize(
    ("at", "problem", "mend"),
    [
        (
            PtracePermission(1000, 1000, False, 1, False),
            "not permitted: ptrace_scope is 1",
            "sudo sysctl kernel.yama.ptrace_scope=0   (or only this once: sudo /opt/bin/py-spy dump --pid 42)",
        ),
        (
            PtracePermission(1000, 0, False, 1, False),
            "not permitted: it belongs to user 0, hangtop runs as 1000",
            "sudo /opt/bin/py-spy dump --pid 42",
        ),
        (
            PtracePermission(1000, 0, False, None, True),
            "not permitted: it belongs to user 0, hangtop runs as 1000",
            "sudo /opt/bin/py-spy dump --pid 42",
        ),
        (
            PtracePermission(0, 0, False, None, True),
            "not permitted: this container lacks CAP_SYS_PTRACE",
            "docker run --cap-add SYS_PTRACE …   (Kubernetes: securityContext.capabilities.add: [SYS_PTRACE])",
        ),
        (
            PtracePermission(0, 0, True, 3, False),
            "not permitted: ptrace_scope is 3, which holds until the next boot",
            "remove kernel.yama.ptrace_scope=3 and boot again",
        ),
        (FREE, "not permitted by the system", "sudo /opt/bin/py-spy dump --pid 42"),
    ],
)
def test_the_missing_right_and_its_mend(at: PtracePermission, problem: str, mend: str) -> None:
    assert refusal(at, DUMP) == (problem, mend)


@pytest.mark.parametrize(
    ("wchan", "syscall", "machine", "wait"),
    [
        ("futex_do_wait", "202", "x86_64", "lock"),
        ("futex_wait_queue_me", "", "x86_64", "lock"),
        ("hrtimer_nanosleep", "230", "x86_64", "sleep"),
        ("poll_schedule_timeout.constprop.0", "7", "x86_64", "poll"),
        ("wait_woken", "45", "x86_64", "socket"),
        ("do_wait", "61", "x86_64", "child"),
        ("percpu_rwsem_wait", "257", "x86_64", "file"),
        ("folio_wait_bit_common", "0", "x86_64", "file"),
        ("rpc_wait_bit_killable", "0", "x86_64", "file"),
        ("do_signal_stop", "", "x86_64", "stopped"),
        ("0", "202", "x86_64", "lock"),
        ("0", "230", "x86_64", "sleep"),
        ("", "98", "aarch64", "lock"),
        ("0", "98", "x86_64", None),
        ("0", "", "x86_64", None),
        ("0", "running", "x86_64", None),
        ("something_new", "", "riscv64", None),
    ],
)
def test_the_kind_of_a_wait(wchan: str, syscall: str, machine: str, wait: str | None) -> None:
    assert wait_of(wchan, syscall, machine) == wait
