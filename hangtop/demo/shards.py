"""The data of the demo run: shard files of one rank, read in the training loop."""

from __future__ import annotations

import os
import threading
from pathlib import Path

SHARDS = 4
SHARD_BYTES = 65_536


class ShardError(ValueError):
    """A shard that does not hold what it should."""


class Shards:
    """Shard files of one rank in `folder`. A lock guards the index of shards, another the cache of what was read."""

    def __init__(self, folder: Path, rank: int) -> None:
        self._paths = [folder / f"rank{rank}_shard{number:04d}.bin" for number in range(SHARDS)]
        self._index_lock = threading.Lock()
        self._cache_lock = threading.Lock()
        self._cache: dict[Path, bytes] = {}

    def build(self) -> int:
        """Write the shards. Returns the number of samples in them, 16 bytes each."""
        for path in self._paths:
            path.write_bytes(os.urandom(SHARD_BYTES))
        return SHARDS * SHARD_BYTES // 16

    def load_shard(self, step: int, *, prefetch: bool = False, broken: bool = False) -> bytes:
        """The data of this step. `prefetch` dead-locks: the prefetching thread takes the two locks in the other order."""
        path = self._paths[step % SHARDS]
        with self._cache_lock:
            if prefetch:
                self._start_prefetch(path)
            with self._index_lock:
                shard = self._cache[path] = path.read_bytes()
        if broken:
            raise ShardError(f"{path.name}: checksum mismatch at sample {step * 16}")
        return shard

    def _start_prefetch(self, path: Path) -> None:
        has_index = threading.Event()
        threading.Thread(target=self._prefetch, args=(path, has_index), name="prefetch", daemon=True).start()
        has_index.wait()

    def _prefetch(self, path: Path, has_index: threading.Event) -> None:
        with self._index_lock:
            has_index.set()
            with self._cache_lock:
                self._cache[path] = path.read_bytes()
