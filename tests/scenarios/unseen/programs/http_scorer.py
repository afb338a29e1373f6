"""An HTTP service on loopback that computes, and three clients that train on its answers."""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CLIENTS = 3


class Generate(BaseHTTPRequestHandler):
    """POST a prompt, have a completion."""

    def do_POST(self):
        size = int(self.headers["Content-Length"])
        prompt = json.loads(self.rfile.read(size))["prompt"]
        state = 1
        for character in prompt * 40:
            state = (state * 131 + ord(character)) % 1000003
        time.sleep(0.06)
        body = json.dumps({"completion": state % 100}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):
        pass


def serve(ready):
    """The inference server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Generate)
    ready.put(server.server_address[1])
    server.serve_forever()


def post(port, prompt):
    """One request."""
    data = json.dumps({"prompt": prompt}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/generate", data=data)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["completion"]


def client(port, name, gate, steps):
    """Ask for a few completions, then meet the others."""
    logging.basicConfig(format="%(asctime)s,%(msecs)03d %(processName)s %(message)s", level=logging.INFO, datefmt="%H:%M:%S")
    correct = 0
    for step in range(1, steps + 1):
        for question in range(2):
            completion = post(port, f"{name} asks {step}.{question}")
            correct += completion > 50
        accuracy = correct / (2 * step)
        gate.wait()
        if name == "client-0":
            logging.info("train/step %d of %d train/acc %.3f", step, steps, accuracy)
    logging.info("no more prompts")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--steps", type=int, default=3000)
    given = parser.parse_args()
    ready = multiprocessing.Queue()
    server = multiprocessing.Process(target=serve, args=(ready,), name="inference", daemon=True)
    server.start()
    port = ready.get()
    gate = multiprocessing.Barrier(CLIENTS)
    names = [f"client-{number}" for number in range(CLIENTS)]
    clients = [multiprocessing.Process(target=client, args=(port, name, gate, given.steps), name=name) for name in names]
    for process in clients:
        process.start()
    for process in clients:
        process.join()
    if any(process.exitcode for process in clients):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
