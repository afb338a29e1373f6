"""What the servers of PyTorch print: stacks as faulthandler does, and the addresses of the ranks."""

from __future__ import annotations

from hangtop.probe.torch_debug.worker_servers import Address, addresses
from hangtop.stacks.printed_stacks import dumped_threads
from tests.fakes.debug_server import SLEEPS


def test_the_last_thread_of_a_dump_is_the_main_one_and_threads_without_frames_are_left_out() -> None:
    first, main = dumped_threads(SLEEPS.splitlines())
    assert (first.name, first.frames[0].function) == ("", "wait")
    assert (main.name, [frame.line for frame in main.frames], main.state) == ("MainThread", [7, 20], None)


def test_what_is_no_dump_has_no_threads() -> None:
    assert dumped_threads(["<html>", '  File "/x.py", line 7 in f', "Thread 0x1 (most recent call first):"]) == ()


def test_only_addresses_of_plain_hosts_and_ports_are_taken() -> None:
    page = (
        b"debug_server/rank0: b'http://n1:35509'\n debug_server/rank1: b'http://n1:99999'\n debug_server/rank2: b'file:///etc'\n"
        b"debug_server/rank3: b'http://n1:80/../@evil:80'\n debug_server/rank999999: b'http://n1:80'"
    )
    assert addresses(page) == {0: Address("n1", 35509)}
