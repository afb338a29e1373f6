"""教师：对学生自己采样的序列逐位打分（GKD）。一个连接，两个线程。"""

import argparse
import os
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection, Listener

import numpy as np

LAYERS, WIDTH = 72, 64


class Teacher:
    def __init__(self, context: int) -> None:
        rng = np.random.default_rng(3)
        self.embed = rng.normal(size=(512, WIDTH)).astype(np.float32)
        self.position = rng.normal(size=(context, WIDTH)).astype(np.float32)
        self.mix = rng.normal(size=(LAYERS, WIDTH, WIDTH)).astype(np.float32) / WIDTH

    def score(self, tokens: list[int]) -> np.ndarray:
        """每个位置的对数概率；键值缓存逐个位置增长。"""
        x = self.embed[np.array(tokens)] + self.position[np.arange(len(tokens))]
        for mix in self.mix:
            keys = x @ mix
            out = np.empty_like(x)
            for at in range(len(tokens)):
                weight = keys[: at + 1] @ x[at]
                weight = np.exp(weight - weight.max())
                out[at] = weight @ keys[: at + 1] / weight.sum()
            x = np.tanh(x + out)
        return x @ self.embed.T


def reply(teacher: Teacher, line: Connection, tokens: list[int]) -> None:
    line.send(teacher.score(tokens).mean(axis=1))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sock", required=True)
    parser.add_argument("--ctx", type=int, required=True)
    given = parser.parse_args()
    teacher = Teacher(given.ctx)
    print(f"[教师] 权重就绪，位置表 {given.ctx}，进程号 {os.getpid()}", flush=True)
    with Listener(given.sock, "AF_UNIX") as listener, ThreadPoolExecutor(2) as pool:
        line = listener.accept()
        while True:
            try:
                tokens = line.recv()
            except EOFError:
                break
            pool.submit(reply, teacher, line, tokens)
    print("[教师] 学生已断开，退出", flush=True)


main()
