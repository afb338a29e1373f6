"""A process of its own that matches a regex: one that never ends (`(a+)+$`) can be killed there; in a thread it could not.

Run by file name with the standard library alone, so that it starts in some 20 ms. Standard input: the pattern as a JSON line,
then lists of texts. Standard output: for each list the numbers of those that match. Ends with its standard input, and by itself
when one list takes too long and nobody is left to kill it.
"""

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
