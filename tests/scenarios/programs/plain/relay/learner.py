"""Takes episodes from the actor at the other site."""

import socket
import sys

server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("learner: waiting for the actor", flush=True)
link = server.accept()[0].makefile("rb")
seen = 0
while head := link.readline():
    data = link.read(int(head))
    seen += 1
    print(f"learner: episode {seen} {len(data)} bytes mean {sum(data) / len(data):.2f}", flush=True)
print("learner: done", flush=True)
