"""The wire between the hosts: a TUN device (tun(4)) in each network namespace, and this process, which carries packets from one
to the other as `tc netem` would: late, twice, not at all. netem itself is in few kernels of containers.

`python -m tests.hosts.link PID …`: of a process in each host; host N has 10.19.0.N. Orders come as JSON lines through stdin."""

from __future__ import annotations

import ctypes
import fcntl
import heapq
import json
import os
import random
import select
import struct
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from typing import Any

from tests.hosts.addresses import DEVICE, address_of

TUNSETIFF, IFF_TUN, IFF_NO_PI, CLONE_NEWNET = 0x400454CA, 0x0001, 0x1000, 0x40000000
MOST_BYTES, MOST_WAITING = 65_536, 20_000
LAST_OF_DESTINATION = 19
"""The last byte of the destination in the header of IPv4 (RFC 791)."""


@dataclass(frozen=True)
class Weather:
    """Of the wire to one host, both ways. Shares are from 0 to 1."""

    delay_ms: float = 0.0
    jitter_ms: float = 0.0
    twice: float = 0.0
    lost: float = 0.0
    cut: bool = False


def opened(pid: int, number: int) -> int:
    """A TUN device in the network namespace of this process, up, with its address."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/proc/{pid}/ns/net") as space:
        if libc.setns(space.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), IFF_TUN | IFF_NO_PI))
    for words in (f"addr add {address_of(number)}/24 dev {DEVICE}", f"link set {DEVICE} up", "link set lo up"):
        subprocess.run(("ip", *words.split()), check=True)
    return device


class Wire:
    def __init__(self, devices: dict[int, int]) -> None:
        self._devices, self._by_device = devices, {device: number for number, device in devices.items()}
        self._weather = dict.fromkeys(devices, Weather())
        self._waiting: list[tuple[float, int, int, bytes]] = []
        self._count = 0
        self.carried = dict.fromkeys(devices, 0)
        """Bytes from and to each host."""

    def carry(self) -> None:
        while True:
            left_s = max(0.0, self._waiting[0][0] - time.monotonic()) if self._waiting else 5.0
            ready, _, _ = select.select([sys.stdin.fileno(), *self._by_device], [], [], left_s)
            for each in ready:
                if each == sys.stdin.fileno():
                    if not self._obey():
                        return
                else:
                    self._take(each)
            while self._waiting and self._waiting[0][0] <= time.monotonic():
                _, _, to, packet = heapq.heappop(self._waiting)
                self._give(to, packet)

    def _obey(self) -> bool:
        line = os.read(sys.stdin.fileno(), MOST_BYTES)
        for order in line.splitlines():
            told: dict[str, Any] = json.loads(order)
            for number in told.pop("hosts", []):
                self._weather[number] = replace(Weather(), **told)
            print(json.dumps(self.carried), flush=True)
        return bool(line)

    def _take(self, device: int) -> None:
        for _ in range(64):
            try:
                packet = os.read(device, MOST_BYTES)
            except BlockingIOError:
                return
            here, to = self._by_device[device], packet[LAST_OF_DESTINATION] if packet[0] >> 4 == 4 else 0
            if to not in self._devices or len(self._waiting) > MOST_WAITING:
                continue
            ends = (self._weather[here], self._weather[to])
            if any(end.cut or random.random() < end.lost for end in ends):
                continue
            for number in (here, to):
                self.carried[number] += len(packet)
            for _ in range(1 + any(random.random() < end.twice for end in ends)):
                late_s = sum(max(0.0, end.delay_ms + random.uniform(-1, 1) * end.jitter_ms) for end in ends) / 1_000
                self._count += 1
                heapq.heappush(self._waiting, (time.monotonic() + late_s, self._count, to, packet))

    def _give(self, to: int, packet: bytes) -> None:
        if self._weather[to].cut:
            return
        try:
            os.write(self._devices[to], packet)
        except OSError:  # its queue is full, or the host has gone
            return


if __name__ == "__main__":
    pids = [int(word) for word in sys.argv[1:]]
    wire = Wire({number: opened(pid, number) for number, pid in enumerate(pids, start=1)})
    print("{}", flush=True)
    wire.carry()
