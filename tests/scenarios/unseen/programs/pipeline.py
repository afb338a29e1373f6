"""Four pipeline stages joined by pipes; micro-batches go down and gradients come back."""

from __future__ import annotations

import argparse
import math
import multiprocessing
import time

STAGES = 4
MICRO = 3


def layer(values, weight):
    """A little arithmetic."""
    out = []
    for value in values:
        out.append(math.tanh(value * weight + 0.1))  # noqa: PERF401
    time.sleep(0.02)
    return out


def stage(index, before, after):
    """One stage in the middle or at the end."""
    weight = 0.5 + 0.1 * index
    while True:
        kind, payload = before.recv()
        if kind == "stop":
            if after is not None:
                after.send((kind, payload))
            break
        out = layer(payload, weight)
        if after is None:
            error = sum(out) / len(out)
            before.send(error)
            continue
        after.send(("micro", out))
        gradient = after.recv()
        weight -= 0.001 * gradient
        before.send(gradient * weight)


def feed(first, steps):
    """Stage 0: the data, and the log."""
    weight = 0.9
    for step in range(1, steps + 1):
        total = 0.0
        for micro in range(MICRO):
            values = [math.sin(step + micro + position) for position in range(40)]
            first.send(("micro", layer(values, weight)))
            gradient = first.recv()
            total += gradient
        weight -= 0.001 * total
        time.sleep(0.05)
        print(f"stage 0: global_step {step} of {steps}, pipeline loss {total / MICRO:+.5f}", flush=True)
    first.send(("stop", None))
    print("stage 0: all micro-batches drained, bye", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--steps", type=int, default=3000)
    given = parser.parse_args()
    pipes = [multiprocessing.Pipe() for _ in range(STAGES - 1)]
    stages = []
    for index in range(1, STAGES):
        after = pipes[index][0] if index < STAGES - 1 else None
        stages.append(multiprocessing.Process(target=stage, args=(index, pipes[index - 1][1], after), name=f"stage-{index}"))
        stages[-1].start()
    for _, end in pipes:
        end.close()
    feed(pipes[0][0], given.steps)
    for process in stages:
        process.join()


if __name__ == "__main__":
    main()
