"""Brings a file."""

import sys
import urllib.request

with urllib.request.urlopen(sys.argv[1], timeout=10) as answer, open("numbers.txt", "wb") as file:
    file.write(answer.read())
print("fetched numbers.txt", flush=True)
