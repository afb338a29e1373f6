"""A worker of the parameter server."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request

number, base = int(sys.argv[1]), sys.argv[2]


def call(path: str, thing: object = None) -> dict[str, object]:
    data = None if thing is None else json.dumps(thing).encode()
    for _ in range(100):
        try:
            with urllib.request.urlopen(f"{base}{path}", data) as answer:
                return dict(json.loads(answer.read()))
        except urllib.error.URLError:
            time.sleep(0.1)
    raise SystemExit("no server")


def kernel(round_: int) -> None:
    """Builds the kernel of the next shape."""
    body = "\n".join(f"static double f{k}(double x) {{ return x * {k}.5 + f{k - 1}(x / {k + 1}); }}" for k in range(1, 900))
    text = f"static double f0(double x) {{ return x; }}\n{body}\ndouble run(double x) {{ return f899(x); }}\n"
    with open("kernel.c", "w") as out:
        out.write(text)
    line = "for o in $(seq 1 24); do gcc -O3 -funroll-loops -DN=$o -fPIC -c kernel.c -o kernel.$o.o || exit 1; done"
    subprocess.run(["sh", "-c", line], check=True)


print(f"[worker {number}] pid {os.getpid()}", flush=True)
for version in range(200):
    weights = call(f"/weights?version={version}")["weights"]
    assert isinstance(weights, list)
    if number == 2 and version % 25 == 24:
        kernel(version)
    time.sleep(0.14 + number * 0.02)
    call("/push", {"worker": number, "grad": [w * 0.1 + (k + number) / 100 for k, w in enumerate(weights)]})
