"""Takes weights, and says how many bytes it has."""

import os
import socket
import struct
import sys
import zlib

print(f"replica {sys.argv[1]}: pid {os.getpid()}", flush=True)
with socket.create_server(("127.0.0.1", int(sys.argv[2]))) as door:
    peer, _ = door.accept()
    with peer, peer.makefile("rb") as source:
        while head := source.read(4):
            data = source.read(struct.unpack("!I", head)[0])
            peer.sendall(struct.pack("!I", zlib.crc32(data)))
