"""Matches a regex in a process of its own, where one that never ends (`(a+)+$`) can be killed; in a thread it could not.

Run by file name with the standard library alone, so that it starts in some 20 ms. Stdin: the pattern as a JSON line, then lists
of texts. Stdout: for each list the indices of the matching texts. Ends with its stdin, or when a list takes too long."""

import json
import re
import signal
import sys

LIMIT_S = 5.0


def main() -> None:
    search = re.compile(json.loads(sys.stdin.readline())).search
    for line in sys.stdin:
        signal.setitimer(signal.ITIMER_REAL, LIMIT_S)  # the default action of SIGALRM ends even a match in progress
        found = [number for number, text in enumerate(json.loads(line)) if search(text)]
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
