"""Executes a notebook from top to bottom, as the nightly report does: python nbrun.py finetune.ipynb"""

import json
import subprocess
import sys
import time


def say(text: str) -> None:
    print(f"{time.strftime('%y-%m-%d %H:%M:%S')} {text}", flush=True)


def main() -> int:
    with open(sys.argv[1], encoding="utf-8") as file:
        cells = [cell for cell in json.load(file)["cells"] if cell["cell_type"] == "code"]
    kernel = subprocess.Popen([sys.executable, "-u", "kernel.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    say(f"nbrun: {sys.argv[1]}: {len(cells)} cells, kernel {kernel.pid}")
    for number, cell in enumerate(cells, 1):
        title = cell["source"][0].lstrip("# ").strip()
        say(f"nbrun: Executing cell {number}/{len(cells)}: {title}")
        began = time.monotonic()
        kernel.stdin.write(json.dumps({"number": number, "source": "".join(cell["source"])}) + "\n")
        kernel.stdin.flush()
        for line in kernel.stdout:
            message = json.loads(line)
            if "stream" in message:
                say(f"    {message['stream']}")
                continue
            if message["status"] == "error":
                say(f"nbrun: cell {number} raised\n{message['traceback']}")
                return 1
            break
        say(f"nbrun: Ended cell {number} ({time.monotonic() - began:.1f}s)")
    say("nbrun: notebook finished, writing finetune.out.ipynb")
    return 0


sys.exit(main())
