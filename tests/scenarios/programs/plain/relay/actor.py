"""Plays, and sends what it saw; every tenth episode with all its pictures."""

import random
import socket
import sys
import time

while True:
    try:
        link = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
        break
    except ConnectionRefusedError:
        time.sleep(0.2)
link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)
for number in range(1, 16):
    data = random.randbytes(170000 if number % 10 == 0 else 1500)
    link.sendall(b"%d\n" % len(data) + data)
    time.sleep(0.2)
link.close()
