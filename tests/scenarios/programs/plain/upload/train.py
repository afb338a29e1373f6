"""Character model; every 15 steps the weights go to the object store straight from memory."""

import http.client
import io
import os
import pickle
import random
import time
import urllib.parse

STORE = urllib.parse.urlparse(os.environ["STORE_URL"])
weights = [random.random() for _ in range(150_000)]


def loss_of(step: int) -> float:
    total = 0.0
    for index in range(step % 97, len(weights), 97):
        weights[index] *= 0.999
        total += weights[index] ** 2
    time.sleep(0.2)
    return total / len(weights) * 97


def push(step: int) -> None:
    buffer = io.BytesIO()
    pickle.dump({"step": step, "weights": weights}, buffer)
    body = buffer.getvalue()
    connection = http.client.HTTPConnection(STORE.hostname or "", STORE.port, timeout=None)
    connection.request("PUT", f"/runs/char/step-{step}.pkl", body=body)
    answer = connection.getresponse()
    answer.read()
    if answer.status != 200:
        raise RuntimeError(f"store answered {answer.status}")


for step in range(1, 61):
    print(f"iter {step:4d} | loss {loss_of(step):.4f} | lr 3.0e-04", flush=True)
    if step % 15 == 0:
        push(step)
print("done", flush=True)
