"""Asks for work over a unix socket, does it, brings the gradient."""

import os
import random
import socket
import sys
import time

link = socket.socket(socket.AF_UNIX)
while True:
    try:
        link.connect("work.sock")
        break
    except (FileNotFoundError, ConnectionRefusedError):
        time.sleep(0.2)
print(f"worker {sys.argv[1]} pid {os.getpid()}", flush=True)
lines = link.makefile("rw")
for task in lines:
    time.sleep(0.15)
    value = random.random() / (int(task) + 1)
    lines.write(f"{task.strip()} {'nan' if int(task) == 180 else value}\n")
    lines.flush()
