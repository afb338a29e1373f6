"""Trains adapters; each fourth epoch the whole model goes to the archive, gently, so that others can use the disk as well."""

import os
import subprocess
import sys
import time
from pathlib import Path


def say(text: str) -> None:
    print(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {text}", flush=True)


def archive(path: Path) -> None:
    command = [sys.executable, "gently.py", str(path), "archive", "--rate", "200000"]
    subprocess.run(command, check=True)


def main() -> None:
    Path("archive").mkdir(exist_ok=True)
    say(f"pid={os.getpid()} event=start")
    loss = 3.1
    for epoch in range(1, 41):
        for batch in range(1, 11):
            time.sleep(0.2)
            loss -= 0.01 * (loss - 1.2)
            if batch % 5 == 0:
                say(f"event=train epoch={epoch} batch={batch}/10 loss={loss:.4f}")
        whole = epoch % 4 == 0
        path = Path("model.bin" if whole else f"adapter-{epoch}.bin")
        path.write_bytes(os.urandom(11_000_000 if whole else 60_000))
        archive(path)
        say(f"event=archived epoch={epoch} file={path} bytes={path.stat().st_size}")


if __name__ == "__main__":
    main()
