"""Goes through a crawl and leaves out what the index of the group knows already."""

import json
import os
import random
import socket

BATCHES, SIZE = 400, 64
source = random.Random(3)
words = "the of and to in is that for it as was with be by on not he his but at are this have from or had an they which one".split()
line = socket.create_connection(("127.0.0.1", int(os.environ["INDEX_PORT"])))
answers = line.makefile("r")
print(f"dedup pid {os.getpid()}: index at 127.0.0.1:{os.environ['INDEX_PORT']}, {BATCHES} batches of {SIZE}", flush=True)
kept = 0
for batch in range(1, BATCHES + 1):
    texts = [" ".join(source.choices(words, k=3)) for _ in range(SIZE)]
    line.sendall(json.dumps(texts).encode() + b"\n")
    known = json.loads(answers.readline())
    kept += SIZE - known
    checksum = 0
    for text in texts * 120:
        checksum = (checksum * 31 + hash(text)) & 0xFFFFFFFF
    print(f"batch {batch}/{BATCHES}: {known} known, {kept} kept so far", flush=True)
print(f"kept {kept}", flush=True)
