"""Trains; after each iteration what has changed goes to the replicas, and each 17th time all weights."""

import os
import random
import socket
import struct
import sys
import threading
import time
import zlib

FULL = 800_000
DELTA = 1_500


def connect(port: str) -> socket.socket:
    while True:
        try:
            return socket.create_connection(("127.0.0.1", int(port)))
        except OSError:
            time.sleep(0.2)


def give(line: socket.socket, data: bytes) -> None:
    line.sendall(struct.pack("!I", len(data)) + data)
    told = struct.unpack("!I", line.recv(4, socket.MSG_WAITALL))[0]
    if told != zlib.crc32(data):
        raise SystemExit("a replica has other bytes")


print(f"trainer: pid {os.getpid()}", flush=True)
lines = [connect(port) for port in sys.argv[1:]]
for iteration in range(1, 30):
    time.sleep(0.4)
    whole = iteration % 17 == 16
    print(f"iteration {iteration}: {'full' if whole else 'delta'} weights to {len(lines)} replicas", flush=True)
    data = random.Random(iteration).randbytes(FULL if whole else DELTA)
    threads = [threading.Thread(target=give, args=(line, data)) for line in lines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
