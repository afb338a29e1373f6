"""Producer and consumer threads around a bounded queue; the consumer trains."""

import json
import queue
import random
import threading
import time

batches: "queue.Queue[str]" = queue.Queue(maxsize=8)
done = threading.Event()


def consume() -> None:
    total, step = 0.0, 0
    while not done.is_set() or not batches.empty():
        record = json.loads(batches.get())
        total += record["target"]
        step += 1
        time.sleep(0.2)
        print(f"update {step}: running target {total / step:.3f}", flush=True)


consumer = threading.Thread(target=consume, name="consumer")
consumer.start()
rng = random.Random(9)
for number in range(600):
    record = {"id": number, "target": rng.random()}
    if number == 37:
        record["label"] = record.pop("target")
    batches.put(json.dumps(record))
done.set()
consumer.join()
