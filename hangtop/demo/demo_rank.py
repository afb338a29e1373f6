"""One rank of the demo run: `python -m hangtop.demo.demo_rank SCENARIO FOLDER`, started by the launcher, RANK and the like set.

It prints what a torchrun job prints, and does on a small scale what it says: reads shards, computes, meets its peers in a
collective at every step, writes checkpoints. Only the model is missing, and the GPU: a sleep stands for its time.
"""

from __future__ import annotations

import logging
import math
import os
import random
import sys
import threading
import time
import traceback
import zlib
from pathlib import Path
from types import TracebackType

from hangtop.demo import lifeline
from hangtop.demo.collective import ProcessGroup
from hangtop.demo.scenario import Scenario, scenario

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


class Rank:
    """One process of the run, from its config to its last step."""

    def __init__(self, plan: Scenario, folder: Path, rank: int, world: int, port: int) -> None:
        self.plan, self.folder, self.rank, self.world, self.port = plan, folder, rank, world, port
        self.log = logging.getLogger("train")
        self.at_fault = plan.fault is not None and plan.rank == rank and _is_first_start(folder)

    def run(self) -> None:
        """All stages, in order."""
        if self.rank == 0:
            self.log.info("config loaded: %d steps on %d ranks, seed 17", self.plan.steps, self.world)
        time.sleep(0.3)
        self.build_dataset()
        self.init_process_group()
        self.load_model()
        self.train()
        self.group.barrier()
        self.log.info("training finished")

    def build_dataset(self) -> None:
        self.log.info("building dataset from %d shards", SHARDS)
        self.shards = Shards(self.folder, self.rank)
        samples = self.shards.build()
        time.sleep(0.6)
        self.log.info("dataset ready: %s samples", f"{samples:,}")

    def init_process_group(self) -> None:
        self.log.info("initializing process group backend=gloo rank=%d world_size=%d", self.rank, self.world)
        self.group = ProcessGroup(self.port, self.rank, self.world)
        self.log.info("process group ready")

    def load_model(self) -> None:
        for shard in range(1, 5):
            self.log.info("loading model: checkpoint shard %d/4", shard)
            time.sleep(0.3)
        self.group.barrier()
        self.log.info("model loaded: 12.6M parameters")

    def train(self) -> None:
        self.log.info("starting training loop for %d steps", self.plan.steps)
        for step in range(1, self.plan.steps + 1):
            started = time.monotonic()
            loss, grad_norm = self.train_step(step)
            took_ms = 1e3 * (time.monotonic() - started)
            text = "step %d/%d loss %.4f grad_norm %.3f lr 1.00e-04 (%.0f ms)"
            self.log.info(text, step, self.plan.steps, loss, grad_norm, took_ms)
            if step == self.plan.step and self.plan.fault == "checkpoint":
                self.save_checkpoint(step)

    def train_step(self, step: int) -> tuple[float, float]:
        """Loss and gradient norm, the same on all ranks when they meet."""
        here = self.at_fault and step == self.plan.step
        shard = self.shards.load_shard(
            step, prefetch=here and self.plan.fault == "deadlock", broken=here and self.plan.fault == "crash"
        )
        gradient = self.forward_backward(shard, step)
        mean = self.group.all_reduce(gradient) / self.world if step % self.plan.meet_every == 0 else gradient
        return 0.3 + 2.4 * math.exp(-step / 25) + 0.05 * mean, 1.2 + 0.4 * mean

    def forward_backward(self, shard: bytes, step: int) -> float:
        lag_s = self.plan.fault_s if self.at_fault and self.plan.fault == "lag" else 0.0
        time.sleep(self.plan.step_s * random.uniform(0.9, 1.1) + lag_s)
        return sum(shard[step : step + 32]) / 32 / 64 - 2.0

    def save_checkpoint(self, step: int) -> None:
        """Rank `plan.rank` packs and writes for `fault_s` seconds and says nothing meanwhile; its peers wait."""
        if self.at_fault:
            path = self.folder / f"checkpoint-{step}" / "model.bin"
            path.parent.mkdir(exist_ok=True)
            self.log.info("saving checkpoint to %s", path.parent)
            self.write_checkpoint(path, self.plan.fault_s)
            self.log.info("checkpoint saved to %s", path.parent)
        self.group.barrier()

    def write_checkpoint(self, path: Path, seconds: float) -> None:
        ends = time.monotonic() + seconds
        with path.open("wb") as file:
            while time.monotonic() < ends:
                weights = os.urandom(1 << 14) * 256 + os.urandom(1 << 16)  # 4 MB to pack, about 0.1 MB to write
                file.write(zlib.compress(weights, level=6))
                file.flush()
                os.fsync(file.fileno())


def _is_first_start(folder: Path) -> bool:
    """Whether the run is started for the first time in this folder. Only the rank at fault asks, once."""
    try:
        (folder / "started").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def main() -> None:
    lifeline.hold(leader=False)
    rank, world, port = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "MASTER_PORT"))
    form = f"[rank{rank}]: %(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format=form)

    def say(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        text = "".join(traceback.format_exception(kind, error, trace))
        sys.stdout.write("".join(f"[rank{rank}]: {line}\n" for line in text.splitlines()))  # as torch's own hook does
        sys.stdout.flush()

    sys.excepthook = say
    random.seed(rank)
    Rank(scenario(sys.argv[1]), Path(sys.argv[2]), rank, world, port).run()


if __name__ == "__main__":
    main()
