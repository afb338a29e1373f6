"""Reward model over gRPC. Short answers get a score at once; long ones are judged passage by passage, through the same service."""

import argparse
import json
import os
import sys
from concurrent import futures

import grpc


def distance(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def log(**what: object) -> None:
    sys.stdout.write(json.dumps({"who": "reward", **what}) + "\n")
    sys.stdout.flush()


class Rewards:
    def __init__(self) -> None:
        self.channel = None

    def score(self, request: dict, _context) -> dict:
        answer, reference = request["answer"], request["reference"]
        if len(answer) > 2000:
            whole = self.channel.unary_unary("/rm.Rewards/Passages", json_out, json_in)
            return whole(request)
        return {"reward": 1 - distance(answer, reference) / max(len(answer), len(reference))}

    def passages(self, request: dict, _context) -> dict:
        answer, reference, size = request["answer"], request["reference"], 1500
        parts = [answer[n : n + size] for n in range(0, len(answer), size)]
        best = [min(distance(part, reference[n : n + size]) for n in range(0, len(reference), size)) for part in parts]
        return {"reward": 1 - sum(best) / len(answer)}


def json_out(message: dict) -> bytes:
    return json.dumps(message).encode()


def json_in(data: bytes) -> dict:
    return json.loads(data)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--handlers", type=int, default=6)
    given = parser.parse_args()
    rewards = Rewards()
    server = grpc.server(futures.ThreadPoolExecutor(given.handlers))
    handlers = {
        name: grpc.unary_unary_rpc_method_handler(call, json_in, json_out)
        for name, call in (("Score", rewards.score), ("Passages", rewards.passages))
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("rm.Rewards", handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    rewards.channel = grpc.insecure_channel(f"127.0.0.1:{port}")
    server.start()
    log(event="up", pid=os.getpid(), handlers=given.handlers)
    with open("port.txt", "w") as file:
        file.write(str(port))
    server.wait_for_termination()


main()
