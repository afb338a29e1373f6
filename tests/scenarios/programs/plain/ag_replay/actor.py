"""Plays episodes and sends them to the buffer, one after the other."""

import os
import socket
import sys
import time

import numpy as np
import wire

number, port = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(number)
line = socket.create_connection(("127.0.0.1", port))
print(f"actor {number} pid {os.getpid()} connected", flush=True)
wire.send(line, b"actor")
wire.receive(line)
for episode in range(1, 200):
    time.sleep(0.3)
    body = rng.normal(size=(400, 128)).astype(np.float64).tobytes()
    wire.send(line, body)
    if wire.receive(line) != b"ok":
        break
    if episode % 50 == 0:
        print(f"actor {number}: {episode} episodes", flush=True)
