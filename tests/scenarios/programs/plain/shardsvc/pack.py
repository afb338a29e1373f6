"""Writes the shards and their manifest."""

import json
import random
from pathlib import Path

RANKS, PER_RANK, BYTES = 3, 40, 98_304
SHORT = {}

Path("shards").mkdir(exist_ok=True)
sizes, rng = {}, random.Random(0)
for rank in range(RANKS):
    for number in range(PER_RANK):
        name = f"shard-{rank:02d}{number:02d}"
        data = rng.randbytes(BYTES)
        Path("shards", name).write_bytes(data[: SHORT.get(name, BYTES)])
        sizes[name] = BYTES
Path("shards/manifest.json").write_text(json.dumps(sizes))
