"""The texts and tables of the kernel that tell what a thread waits for."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

from hangtop.records.waiting import AwaitedFile, TcpSocket, WaitObject
from hangtop.system.waits.calls import (
    _table,
    awaited_child,
    files_of,
    int_of,
    is_shared,
    is_timed,
    kind_of,
    parse_call,
    polled,
    selected,
    watched,
)
from hangtop.system.waits.locks import held_through, parse_locks
from hangtop.system.waits.sock_diag import attributes
from hangtop.system.waits.socket_ends import SocketEnd, socket_end
from hangtop.system.waits.sockets import INET_MESSAGE, TCP_INFO, Sockets, UnixSocket, parse_tcp

NULL, POINTER = "0x0", "0x7f588987e058"


def call_of(*words: str, machine: str = "x86_64") -> str | None:
    """Kind of the call, empty words as zeros."""
    call = parse_call(" ".join((*words, *[NULL] * (9 - len(words)))), machine)
    return None if call is None else kind_of(call)


@pytest.mark.parametrize(
    ("line", "machine", "kind"),
    [
        (("0", "0x3"), "x86_64", "read"),
        (("63", "0x3"), "aarch64", "read"),
        (("45", "0x3"), "x86_64", "receive"),
        (("202", "0x3"), "aarch64", "accept"),
        (("202", POINTER, "0x80"), "x86_64", "futex"),
        (("202", POINTER, "0x81"), "x86_64", "other"),  # FUTEX_WAKE
        (("72", "0x3", "0x7"), "x86_64", "file lock"),
        (("72", "0x3", "0x4"), "x86_64", "other"),  # F_SETFL
        (("9999",), "x86_64", None),
        (("0", "0x3"), "riscv64", None),
    ],
)
def test_the_number_of_a_call_tells_its_kind(line: tuple[str, ...], machine: str, kind: str | None) -> None:
    assert call_of(*line, machine=machine) == kind


@pytest.mark.parametrize("line", ["running", "-1 0x7ffcc07ddf68 0x7f5889b16897", ""])
def test_outside_of_a_call_there_is_none(line: str) -> None:
    assert parse_call(line) is None


@pytest.mark.parametrize(
    ("line", "timed"),
    [
        ("7 0x1 0x2 0xffffffff 0 0 0", False),
        ("7 0x1 0x2 0xffffffffffffffff 0 0 0", False),
        ("7 0x1 0x2 0x1388 0 0 0", True),
        ("232 0x4 0x1 0x8 0xffffffff 0 0", False),
        ("202 0x1 0x80 0x2 0x0 0 0", False),
        ("202 0x1 0x80 0x2 0x7f00 0 0", True),
        ("45 0x3 0x1 0x1 0 0 0", None),
        ("230 0 0 0x1 0 0 0", True),
        ("61 0xffffffff 0 0 0 0 0", False),
    ],
)
def test_a_limit_of_time_stands_in_the_arguments(line: str, timed: bool | None) -> None:
    call = parse_call(line, "x86_64")
    assert call is not None
    assert is_timed(call) is timed


def test_arguments_of_type_int_have_a_sign() -> None:
    assert [int_of(argument) for argument in (3, 0xFFFF_FFFF, 0xFFFF_FFFF_FFFF_FFFF, 0x1_0000_0002)] == [3, -1, -1, 2]


def test_splice_reads_from_one_and_writes_to_another() -> None:
    call = parse_call("275 0x3 0 0x5 0 0 0", "x86_64")
    assert call is not None
    assert files_of(call) == (AwaitedFile(3, reads=True), AwaitedFile(5, writes=True))


@pytest.mark.parametrize(
    ("line", "child"),
    [("61 0xffffffff 0 0 0 0 0", -1), ("61 0x1188 0 0 0 0 0", 4488), ("247 0 0 0 4 0 0", -1), ("247 2 0x7 0 4 0 0", -7)],
)
def test_the_child_that_is_waited_for(line: str, child: int) -> None:
    call = parse_call(line, "x86_64")
    assert call is not None
    assert awaited_child(call) == child


@pytest.mark.parametrize(("operation", "shared"), [("0x80", False), ("0x189", False), ("0x0", True), ("0x109", True)])
def test_a_futex_is_shared_unless_it_says_that_it_is_not(operation: str, shared: bool) -> None:
    call = parse_call(f"202 {POINTER} {operation} 0x2 0x0 0 0", "x86_64")
    assert call is not None
    assert (kind_of(call), is_shared(call)) == ("futex", shared)


@pytest.mark.parametrize(
    ("machine", "header"),
    [("x86_64", "x86_64-linux-gnu/asm/unistd_64.h"), ("x86_64", "asm/unistd_64.h"), ("aarch64", "asm-generic/unistd.h")],
)
def test_the_numbers_are_those_of_the_kernel_s_headers(machine: str, header: str) -> None:
    path = Path("/usr/include") / header
    if not path.exists():
        pytest.skip("the kernel's headers are not installed")
    told: dict[str, int] = {}
    for name, number in re.findall(r"#define\s+__NR(?:3264)?_(\w+)\s+(\d+)", path.read_text()):
        told.setdefault(name, int(number))
    ours = {name: getattr(spec, machine) for name, spec in _table().items()}
    assert {name: number for name, number in ours.items() if name in told} == {name: told[name] for name in ours if name in told}
    assert {name for name, number in ours.items() if number is not None} - told.keys() <= {"futex_wait", "futex_waitv"}  # younger


def test_poll_leaves_out_what_is_switched_off() -> None:
    raw = b"".join(struct.pack("=ihh", *row) for row in ((5, 1, 0), (-1, 1, 0), (6, 4, 0), (7, 5, 0)))
    assert polled(raw) == (AwaitedFile(5, reads=True), AwaitedFile(6, writes=True), AwaitedFile(7, reads=True, writes=True))


def test_select_has_a_bit_for_each_descriptor() -> None:
    readable, writable = bytes((0b1000, 0, 0b1, 0, 0, 0, 0, 0)), bytes((0b1000, 0, 0, 0b10, 0, 0, 0, 0))
    assert selected(readable, writable, b"", 20) == (AwaitedFile(3, reads=True, writes=True), AwaitedFile(16, reads=True))


def test_epoll_tells_its_set_with_and_without_inodes() -> None:
    fdinfo = (
        "pos:\t0\nflags:\t02\n"
        "tfd:        5 events:       19 data:                5  pos:0 ino:8b sdev:10\n"
        "tfd:       12 events:        4 data:                c\n"
        "tfd:       13 events: 40000000 data:                d\n"
    )
    assert watched(fdinfo) == (AwaitedFile(5, reads=True, inode=0x8B), AwaitedFile(12, writes=True))


LOCKS = """\
1: OFDLCK ADVISORY  WRITE -1 fe:00:2859753 0 EOF
2: POSIX  ADVISORY  WRITE 4482 fe:00:2859407 5 14
2: -> POSIX  ADVISORY  WRITE 4488 fe:00:2859407 0 EOF
3: FLOCK  ADVISORY  READ 4482 fe:00:2859391 0 EOF
3: -> FLOCK  ADVISORY  WRITE 4486 fe:00:2859391 0 EOF
3:  -> FLOCK  ADVISORY  WRITE 4487 fe:00:2859391 0 EOF
4: FLOCK  ADVISORY  READ 4483 fe:00:2859391 0 EOF
5: LEASE  ACTIVE    READ  4990 fe:00:2859391 0 EOF
6: POSIX  ADVISORY  WRITE 4499 fe:00:2859407 100 EOF
7: POSIX  ADVISORY  WRITE 4498 fe:00:2859407 20 30
"""


def test_who_waits_for_a_lock_is_told_with_all_that_are_in_the_way() -> None:
    table = parse_locks(LOCKS)
    assert [(wanted.pid, [lock.pid for lock in in_way]) for wanted, in_way in table.awaited] == [
        (4488, [4482, 4499, 4498]),
        (4486, [4482, 4483]),
        (4487, [4482, 4483]),
    ]
    assert len(table.held) == 6


def test_ranges_that_do_not_touch_are_not_in_the_way() -> None:
    text = LOCKS.replace("4488 fe:00:2859407 0 EOF", "4488 fe:00:2859407 15 25")
    ((_, in_way),) = parse_locks(text).wanted_by(4488)
    assert [lock.pid for lock in in_way] == [4498]


def test_a_descriptor_shows_the_locks_that_it_holds() -> None:
    fdinfo = "pos:\t0\nflags:\t02100001\nmnt_id:\t27\nino:\t2859391\nlock:\t1: FLOCK  ADVISORY  WRITE 4482 fe:00:2859391 0 EOF\n"
    assert [(lock.kind, lock.pid, lock.end) for lock in held_through(fdinfo)] == [("FLOCK", 4482, None)]


def message(state: int, info: bytes) -> bytes:
    """A record of inet_diag: 10.0.0.1:80 from 10.0.0.2:9000, in network order as the kernel has it."""
    ports = (int.from_bytes(number.to_bytes(2, "big"), "little") for number in (80, 9000))
    fixed = INET_MESSAGE.pack(2, state, 0, 0, *ports, b"\n\0\0\1", b"\n\0\0\2", 0, 0, 7, 9, 1000, 55)
    return fixed + struct.pack("=HH", 4 + len(info), 2) + info


def test_an_older_kernel_tells_less_of_a_connection() -> None:
    assert parse_tcp(message(1, bytes(104))) == TcpSocket(55, "10.0.0.1:80", "10.0.0.2:9000", "established", 1000, 7, 9)


def test_a_younger_kernel_may_tell_more() -> None:
    row = parse_tcp(message(1, bytes(TCP_INFO.size + 88)))
    assert (row.acked_bytes, row.received_bytes) == (0, 0)


def test_a_state_that_we_do_not_know_is_said_to_be_unknown() -> None:
    assert parse_tcp(message(99, b"")).state == "unknown"


def test_attributes_that_are_cut_off_end_the_message() -> None:
    assert attributes(struct.pack("=HH", 0, 7) + bytes(8), 0) == {}
    assert attributes(struct.pack("=HHI", 8, 7, 1) + b"\1", 0) == {7: b"\1\0\0\0"}


def tcp(inode: int, local: str, remote: str, state: str = "established") -> TcpSocket:
    return TcpSocket(inode, local, remote, state, 1000)


def end(inode: int, *rows: TcpSocket) -> SocketEnd:
    return socket_end(inode, Sockets({"net": rows}))


def test_a_server_on_another_machine_is_told_by_its_address() -> None:
    found = end(1, tcp(1, "10.0.0.1:4000", "10.0.0.2:80"))
    assert (found.object.remote, found.elsewhere, found.inodes, found.known) == ("10.0.0.2:80", True, (), True)


def test_an_own_listener_on_the_port_of_another_machine_is_not_taken_for_it() -> None:
    found = end(1, tcp(1, "10.0.0.1:4000", "10.0.0.2:80", "syn-sent"), tcp(2, "0.0.0.0:80", "0.0.0.0:0", "listen"))
    assert (found.elsewhere, found.inodes) == (True, ())


@pytest.mark.parametrize("remote", ["127.0.0.1:80", "10.0.0.1:80"])
def test_a_listener_whose_queue_is_full_is_told_if_the_address_is_ours(remote: str) -> None:
    found = end(1, tcp(1, f"{remote[:-3]}:4000", remote, "syn-sent"), tcp(2, "0.0.0.0:80", "0.0.0.0:0", "listen"))
    assert (found.inodes, found.not_accepted, found.uid) == ((2,), True, 1000)


def test_a_connection_that_its_process_has_closed_has_nobody_there() -> None:
    found = end(1, tcp(1, "127.0.0.1:4000", "127.0.0.1:80", "fin-wait-2"), tcp(0, "127.0.0.1:80", "127.0.0.1:4000", "close-wait"))
    assert found.inodes == ()  # no listener, so nobody accepts it any more
    assert not found.elsewhere


def test_a_client_in_the_queue_of_a_unix_server_waits_for_its_listener() -> None:
    server = UnixSocket(7, "listen", name="/run/s", waiting=(8,))
    found = socket_end(8, Sockets(unix=(server, UnixSocket(8, "established", peer=0))), reads=True)
    assert (found.object, found.inodes) == (WaitObject("unix", reads=True, inode=8, path="/run/s"), (7,))
    assert found.not_accepted


def test_a_socket_of_another_kind_has_no_end_that_is_known() -> None:
    assert not socket_end(9, Sockets()).known
