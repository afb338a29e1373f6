"""Packs shards of hidden states with gzip and files them under the hash of what came out."""

import argparse
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--shards", type=int, default=24)
parser.add_argument("--rows", type=int, default=400)
parser.add_argument("--grow", type=int, default=600, help="rows more in each shard")
given = parser.parse_args()


def packed(body):
    """What gzip makes of it."""
    tool = subprocess.Popen(["gzip", "-6", "-c"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for k in range(0, len(body), 8192):
        tool.stdin.write(body[k : k + 8192])
    tool.stdin.close()
    out = tool.stdout.read()
    if tool.wait():
        sys.exit(f"gzip: {tool.returncode}")
    return out


print(f"packing {given.shards} shards, pid {os.getpid()}", flush=True)
Path("store").mkdir(exist_ok=True)
source = np.random.default_rng(0)
for shard in range(1, given.shards + 1):
    states = source.normal(size=(given.rows + given.grow * shard, 48)).astype(np.float16)
    out = packed(states.tobytes())
    name = hashlib.sha256(out).hexdigest()[:12]
    (Path("store") / name).write_bytes(out)
    print(f"shard {shard}/{given.shards} {states.nbytes} -> {len(out)} bytes, {name}", flush=True)
print("all shards packed", flush=True)
