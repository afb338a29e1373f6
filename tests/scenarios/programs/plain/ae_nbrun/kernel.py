"""Runs the code of cells that come as lines of JSON, and sends what they print back as lines of JSON."""

import json
import sys
import traceback


class Stream:
    """What a cell prints, line by line."""

    def __init__(self, reply) -> None:
        self.reply, self.part = reply, ""

    def write(self, text: str) -> int:
        *lines, self.part = (self.part + text).split("\n")
        for line in lines:
            self.reply({"stream": line})
        return len(text)

    def flush(self) -> None:
        pass


def main() -> None:
    out = sys.stdout

    def reply(message: dict) -> None:
        out.write(json.dumps(message) + "\n")
        out.flush()

    sys.stdout = Stream(reply)
    space: dict = {"__name__": "__main__"}
    while line := sys.stdin.readline():
        cell = json.loads(line)
        try:
            exec(compile(cell["source"], f"<cell {cell['number']}>", "exec"), space)
            reply({"status": "ok"})
        except BaseException:
            reply({"status": "error", "traceback": traceback.format_exc()})


main()
