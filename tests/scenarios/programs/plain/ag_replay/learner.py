"""Asks the buffer for a batch, moves its value, says so."""

import os
import socket
import sys
import time

import numpy as np
import wire

line = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
print(f"learner pid {os.getpid()}", flush=True)
wire.send(line, b"learner")
value = 0.0
for update in range(1, 121):
    wire.send(line, b"more")
    body = wire.receive(line)
    if body is None:
        sys.exit("the buffer is gone")
    batch = np.frombuffer(body, np.float64)
    value += 0.05 * (batch.mean() + 1 - value)
    print(f"{time.strftime('%H:%M:%S')} update {update}/120 value {value:.4f} batch {batch.size}", flush=True)
