"""Federated rounds over a shared folder. Who makes shared/leader first leads: plans a round, and merges the parts of all."""

import argparse
import json
import os
import random
import time
from pathlib import Path

SHARED = Path("shared")
ROUNDS, REBALANCE_EVERY = 200, 15
CLIENTS = 3000


def say(text: str) -> None:
    print(time.strftime("%Y-%m-%dT%H:%M:%S"), text, flush=True)


def publish(path: Path, thing: object) -> None:
    """There at once or not at all."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_text(json.dumps(thing))
    part.rename(path)


def publish_rows(path: Path, rows: list[list[float]]) -> None:
    """Row by row: rows are many on big models."""
    part = path.with_name(f".{path.name}")
    with part.open("w", buffering=1) as out:
        out.write('{"rows": [')
        for number, row in enumerate(rows):
            out.write((",\n" if number else "\n") + json.dumps(row))
            time.sleep(0.001)
        out.write("\n]}\n")
    part.rename(path)


def wait_for(path: Path) -> str:
    while not path.exists():
        time.sleep(0.1)
    return path.read_text()


def elected(node: int) -> bool:
    try:
        with (SHARED / "leader").open("x") as file:
            file.write(f"{node} {os.getpid()}")
        return True
    except FileExistsError:
        return False


def rebalance(rng: random.Random, nodes: int) -> list[int]:
    """Clients to nodes, by how long each took; every client's history is a file."""
    say(f"rebalancing {CLIENTS} clients")
    load = [0.0] * nodes
    histories = SHARED / "clients"
    histories.mkdir(exist_ok=True)
    for client in range(CLIENTS):
        path = histories / f"{client:05d}"
        path.write_text(f"{rng.random():.4f}")
        load[load.index(min(load))] += float(path.read_text())
        time.sleep(0.014)
    return [int(1000 * value / sum(load)) for value in load]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--id", type=int, required=True)
    parser.add_argument("--nodes", type=int, required=True)
    args = parser.parse_args()
    rng = random.Random(args.id)
    leads = elected(args.id)
    say(f"node {args.id} pid {os.getpid()} {'is leader' if leads else 'follows ' + wait_for(SHARED / 'leader').split()[0]}")
    weights, share = [0.0] * 12, [1000 // args.nodes] * args.nodes
    for number in range(1, ROUNDS + 1):
        if leads:
            if number % REBALANCE_EVERY == 0:
                share = rebalance(rng, args.nodes)
            publish(SHARED / f"plan-{number}.json", {"share": share, "weights": weights})
        plan = json.loads(wait_for(SHARED / f"plan-{number}.json"))
        time.sleep(plan["share"][args.id] / 1000 * rng.uniform(0.5, 2))
        rows = [[0.8 * w + 0.2 * rng.gauss(1, 0.1) for w in plan["weights"]] for _ in range(10)]
        publish_rows(SHARED / f"part-{number}-{args.id}.json", rows)
        if leads:
            parts = [json.loads(wait_for(SHARED / f"part-{number}-{node}.json"))["rows"] for node in range(args.nodes)]
            table = [row for part in parts for row in part]
            weights = [sum(column) / len(table) for column in zip(*table, strict=True)]
            say(f"round {number}/{ROUNDS} merged {args.nodes} parts, mean weight {sum(weights) / 12:.5f}")


if __name__ == "__main__":
    main()
