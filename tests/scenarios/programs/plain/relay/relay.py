"""A tunnel to the learner, at the pace of the line between two sites."""

import socket
import sys
import time

listen, target, pace = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
server.bind(("127.0.0.1", listen))
server.listen()
near, _ = server.accept()
far = socket.create_connection(("127.0.0.1", target))
while piece := near.recv(2048):
    far.sendall(piece)
    time.sleep(len(piece) / pace)
far.close()
