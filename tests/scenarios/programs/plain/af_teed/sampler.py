"""Negative samples on request, over a socket that the trainer hands over as file descriptor."""

import random
import socket
import sys

listener = socket.socket(fileno=int(sys.argv[1]))
rng = random.Random(6)
print("sampler: ready", flush=True)
while True:
    line, _ = listener.accept()
    with line, line.makefile("rw") as words:
        for request in words:
            print(*(rng.randrange(20_000) for _ in range(int(request))), file=words, flush=True)
