"""A realistic training log of any size, the same bytes for the same seed: NCCL, Ray, torchrun, bars, metrics, colours, errors.

`python -m tests.fakes.genlog --size 200M --out train.log [--mix train|quiet|metrics|lone|said|storm|bars] [--nasty]`
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator
from pathlib import Path

RANKS = 16
_UNITS = {"K": 10**3, "M": 10**6, "G": 10**9}


class TrainingLog:
    """Writes blocks of one imagined run of 16 ranks on two hosts."""

    def __init__(self, seed: int = 7, mix: str = "train", nasty: bool = False) -> None:
        self._random = random.Random(seed)
        self._mix = mix
        self._nasty = nasty
        self._step = 0
        self._loss = 11.3
        self._clock_s = 0.0
        self._pids = [41_000 + 137 * rank for rank in range(RANKS)]

    def blocks(self) -> Iterator[bytes]:
        """Blocks without end."""
        parts = {
            "train": self._train,
            "quiet": self._quiet,
            "metrics": self._rank_steps,
            "lone": self._lone_steps,
            "said": self._said_steps,
            "storm": self._storm,
            "bars": self._bars,
        }
        while True:
            self._clock_s += 0.5
            block = "".join(parts[self._mix]()).encode()
            yield block + (self._odd() if self._nasty and self._random.random() < 0.05 else b"")

    def _stamp(self) -> str:
        self._clock_s += 0.013
        second = int(self._clock_s)
        return f"2026-03-{1 + second // 86_400 % 27:02d} {second // 3600 % 24:02d}:{second // 60 % 60:02d}:{second % 60:02d}"

    def _train(self) -> Iterator[str]:
        yield from self._nccl(220)
        yield from self._quiet()

    def _quiet(self) -> Iterator[str]:
        yield from self._ray(self._random.randrange(60))
        yield from self._torchrun(self._random.randrange(60))
        yield from self._metrics()
        if self._random.random() < 0.25:
            yield from self._bar(self._random.randrange(20, 90), self._random.choice(("", "(WorkerDict pid=41000) ")))
        if self._random.random() < 0.02:
            yield from self._rare()

    def _nccl(self, count: int) -> Iterator[str]:
        pick, number = self._random.random, self._random.randrange
        for _ in range(count):
            rank = number(RANKS)
            head = f"gpu-node-0{1 + rank // 8}:{self._pids[rank]}:{self._pids[rank] + 1200} [{rank % 8}] "
            if pick() < 0.5:
                yield (
                    f"{head}{pick() * 99:.6f} ncclLaunchKernel:{number(900, 1700)} NCCL TRACE Launch coll {number(65536):x} "
                    f"nchannels {number(2, 24)} nthreads 512 stream 0x7f{number(1 << 40):010x}\n"
                )
            else:
                yield (
                    f"{head}NCCL INFO AllReduce: opCount {number(1 << 20):x} sendbuff 0x7f{number(1 << 40):010x} recvbuff "
                    f"0x7f{number(1 << 40):010x} count {number(1 << 26)} datatype 9 op 0 root 0 comm 0x55{number(1 << 40):010x}\n"
                )

    def _ray(self, count: int) -> Iterator[str]:
        number = self._random.randrange
        for _ in range(count):
            rank = number(RANKS)
            prefix = f"(WorkerDict pid={self._pids[rank]}{'' if rank < 8 else ', ip=10.0.0.2'})"
            prefix = f"\x1b[36m{prefix}\x1b[0m" if number(2) else prefix
            yield self._random.choice(
                (
                    f"{prefix} INFO 03-01 12:00:{number(60):02d} [engine.py:{number(999)}] Running: {number(64)} reqs\n",
                    f"{prefix} Total model size in bytes {number(99999)}, reserved {number(80)}.50 GiB\n",
                    f"{prefix} reward_fn scored {number(999)} samples mean=0.51 用时 {number(80)}.2 秒\n",
                )
            )

    def _torchrun(self, count: int) -> Iterator[str]:
        number = self._random.randrange
        for _ in range(count):
            rank = number(RANKS)
            yield self._random.choice(
                (
                    f"[rank{rank}]:dataloader worker {number(8)} fetched shard {number(99999)} ({number(80)}.1 MB) in 0.3s\n",
                    f"[rank{rank}]:[W305 12:00:{number(60):02d}.123456789 CUDAAllocatorConfig.h:28] Warning: not supported\n",
                    f"[rank{rank}]:数据集 shard-{number(99999)} 读取完成\n",
                )
            )

    def _metrics(self) -> Iterator[str]:
        share = self._random.random()
        if share < 0.5:
            yield from self._rank_steps()
            return
        self._advance()
        rand = self._random.random
        if share < 0.7:
            yield (
                f"[rank15]: [{self._stamp()}] iteration {self._step:8d}/   50000 | "
                f"consumed samples: {self._step * 1024:12d} | elapsed time per iteration (ms): {2000 + rand() * 900:.1f} | "
                f"learning rate: 1.0E-04 | lm loss: {self._loss:.6E} | "
                f"grad norm: {rand() * 2:.3f} | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
            )
        elif share < 0.85:
            yield f"{{'loss': {self._loss:.4f}, 'grad_norm': {rand() * 3:.6f}, 'learning_rate': 1.9e-05, 'epoch': 0.05}}\n"
        else:
            yield (
                f"\x1b[36m(TaskRunner pid=40001)\x1b[0m step:{self._step} - "
                f"actor/pg_loss:{rand():.3f} - actor/grad_norm:{rand():.3f} "
                f"- perf/throughput:{rand() * 900:.1f}\n"
            )

    def _rank_steps(self) -> Iterator[str]:
        """Every rank reports; rank 5 lags more and more."""
        self._advance()
        for rank in range(RANKS):
            step = self._step if rank != 5 else self._step - self._step // 10
            yield f"[rank{rank}]:{self._stamp()} INFO train step {step}/50000 loss={self._loss:.4f} tok/s={9000 + rank}\n"

    def _lone_steps(self) -> Iterator[str]:
        """One process, no word of who it is."""
        for _ in range(RANKS):
            self._advance()
            yield f"step {self._step}/50000 loss {self._loss:.4f} grad_norm {self._random.random():.3f} lr 1.0e-04 tok/s 9000\n"

    def _said_steps(self) -> Iterator[str]:
        """Every rank reports, and names itself among the values."""
        self._advance()
        for rank in range(RANKS):
            yield f"{self._stamp()},{rank:03} INFO train: step {self._step}/50000 loss {self._loss:.4f} rank={rank}\n"

    def _advance(self) -> None:
        self._step += 1
        self._loss = max(1.2, self._loss * 0.9999 + self._random.gauss(0, 0.01))

    def _bars(self) -> Iterator[str]:
        yield from self._bar(60, "")

    def _bar(self, count: int, prefix: str) -> Iterator[str]:
        total = self._random.randrange(200, 3000)
        done = self._random.randrange(total)
        desc = self._random.choice(("Training Progress", "Epoch 1", "rollout", "Map (num_proc=16)"))
        for _ in range(count):
            done = min(total, done + 1)
            percent = 100 * done // total
            bar = "█" * (percent // 10) + " " * (10 - percent // 10)
            yield f"\r{prefix}{desc}: {percent:3d}%|{bar}| {done}/{total} [{done // 60:02d}:{done % 60:02d}<01:00,  2.50it/s]"
        yield "\n"

    def _storm(self) -> Iterator[str]:
        for _ in range(200):
            yield "RuntimeError: CUDA error: device-side assert triggered\n"

    def _rare(self) -> Iterator[str]:
        rank = self._random.randrange(8)
        yield self._random.choice(
            (
                f'[rank{rank}]: Traceback (most recent call last):\n[rank{rank}]:   File "/w/train.py", line 213, in run\n'
                f"[rank{rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.34 GiB. GPU {rank}\n",
                f"[rank{rank}]:[E305 12:00:00.1 ProcessGroupNCCL.cpp:616] [Rank {rank}] "
                "Watchdog caught collective operation timeout: "
                "WorkNCCL(SeqNum=88, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600034 milliseconds\n",
                f"[rank{rank}]:  successfully saved checkpoint from iteration {self._step} to /ckpt\n",
                "\x1b[31m[错误] 显存不足: CUDA error: an illegal memory access was encountered\x1b[0m\n",
            )
        )

    def _odd(self) -> bytes:
        return self._random.choice(
            (
                b"[rank2]:bad bytes \xff\xfe\x80 \xc3\x28 end\n",
                b"\0" * self._random.randrange(16, 4096) + b"\n",
                b"(WorkerDict pid=41000) windows line\r\n",
                b'{"config": "' + b"x" * self._random.randrange(10_000, 300_000) + b'"}\n',
            )
        )


def generate(size: int, seed: int = 7, mix: str = "train", nasty: bool = False) -> Iterator[bytes]:
    """Blocks of a log of at least `size` bytes."""
    made = 0
    for block in TrainingLog(seed, mix, nasty).blocks():
        yield block
        made += len(block)
        if made >= size:
            return


def size_of(text: str) -> int:
    """Bytes of `200M`, `1.5G` or `12345`."""
    return int(float(text[:-1]) * _UNITS[text[-1].upper()]) if text[-1].upper() in _UNITS else int(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", default="100M")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--mix", default="train", choices=("train", "quiet", "metrics", "lone", "said", "storm", "bars"))
    parser.add_argument("--nasty", action="store_true")
    args = parser.parse_args()
    with args.out.open("wb") if args.out else sys.stdout.buffer as file:
        for block in generate(size_of(args.size), args.seed, args.mix, args.nasty):
            file.write(block)


if __name__ == "__main__":
    main()
