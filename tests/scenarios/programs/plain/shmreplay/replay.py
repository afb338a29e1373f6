"""A ring of transitions in shared memory, one lock for all."""

import struct
from multiprocessing.shared_memory import SharedMemory
from multiprocessing.synchronize import Lock

ROW = struct.Struct("ffifq")
HEAD = struct.Struct("q")


class Replay:
    """Writers add rows at the head; the reader samples anywhere below it."""

    def __init__(self, name: str, capacity: int, lock: Lock) -> None:
        self.memory, self.capacity, self.lock = SharedMemory(name), capacity, lock
        assert self.memory.buf is not None
        self.buffer = self.memory.buf

    def added(self) -> int:
        return int(HEAD.unpack_from(self.buffer, 0)[0])

    def add(self, rows: list[tuple[float, float, int, float, int]]) -> int:
        """Returns how many were ever added."""
        with self.lock:
            head = self.added()
            for row in rows:
                ROW.pack_into(self.buffer, HEAD.size + (head % self.capacity) * ROW.size, *row)
                head += 1
            HEAD.pack_into(self.buffer, 0, head)
        return head

    def sample(self, places: list[int]) -> list[tuple[float, float, int, float, int]]:
        with self.lock:
            return [ROW.unpack_from(self.buffer, HEAD.size + place * ROW.size) for place in places]


def size(capacity: int) -> int:
    return HEAD.size + capacity * ROW.size
