"""Begins when all workers of all hosts have called."""

import argparse
import json
import os
import socket

parser = argparse.ArgumentParser()
parser.add_argument("port", type=int)
parser.add_argument("--hosts")
given = parser.parse_args()
wanted = {host: int(slots) for host, slots in (part.split(":") for part in given.hosts.split(","))}
print(f"[coordinator] pid {os.getpid()}, wants {sum(wanted.values())} workers: {given.hosts}", flush=True)

lines = []
with socket.create_server(("127.0.0.1", given.port)) as door:
    while len(lines) < sum(wanted.values()):
        peer, _ = door.accept()
        stream = peer.makefile("rw")
        told = json.loads(stream.readline())
        lines.append((told, stream))
        missing = {host: slots - sum(one["host"] == host for one, _ in lines) for host, slots in wanted.items()}
        late = ", ".join(f"{host} ({slots})" for host, slots in missing.items() if slots)
        print(f"[coordinator] {told['host']}/{told['slot']} registered, {len(lines)}/{sum(wanted.values())}; waiting for {late}", flush=True)
for rank, (_, stream) in enumerate(lines):
    stream.write(json.dumps({"rank": rank}) + "\n")
    stream.flush()
for step in range(100):
    total = sum(float(stream.readline()) for _, stream in lines)
    print(f"[coordinator] step {step} loss {total / len(lines):.4f}", flush=True)
