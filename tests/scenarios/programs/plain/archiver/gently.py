"""Copies a file at no more than so many bytes a second."""

import argparse
import shutil
import time
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("file", type=Path)
parser.add_argument("folder", type=Path)
parser.add_argument("--rate", type=float, default=1e6)
given = parser.parse_args()
part = given.folder / (given.file.name + ".part")
began, done = time.monotonic(), 0
with given.file.open("rb") as source, part.open("wb", buffering=0) as target:
    while piece := source.read(32768):
        done += target.write(piece)
        time.sleep(max(0.0, done / given.rate - (time.monotonic() - began)))
shutil.move(part, given.folder / given.file.name)
