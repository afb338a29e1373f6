"""Trains and shows its numbers under /metrics; stays for a while at the end, so that the last ones are seen as well."""

import http.server
import os
import random
import threading
import time

LINGER_S, STEPS = 900, 90
numbers = {"train_loss": 0.0, "train_step": 0.0}


class Metrics(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        text = "".join(f"{name} {value}\n" for name, value in numbers.items())
        self.send_response(200)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


def main() -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Metrics)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"pid {os.getpid()}: metrics at http://127.0.0.1:{server.server_address[1]}/metrics", flush=True)
    rng, loss = random.Random(1), 4.0
    for step in range(1, STEPS + 1):
        time.sleep(0.2)
        loss += 0.02 * (0.7 + rng.gauss(0, 0.1) - loss)
        numbers.update(train_loss=loss, train_step=step)
        if step % 3 == 0:
            print(f"{step:5d}/{STEPS} | loss {loss:.3f} | {1 / 0.2:.1f} it/s", flush=True)
    print(f"Training completed in {STEPS * 0.2:.0f} s. Weights: model.npz", flush=True)
    print(f"Metrics stay up for {LINGER_S} s, then this exits. Ctrl-C to leave now.", flush=True)
    time.sleep(LINGER_S)
    server.shutdown()


if __name__ == "__main__":
    main()
