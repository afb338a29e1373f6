"""Reads data files as a run would, in the run's interpreter: `python read_data.py SECONDS FILE…`. Its last line is
JSON.

It imports nothing of hangtop. When the time is over it prints where it stands, and ends.
"""

import faulthandler
import json
import os
import sys
import time

KINDS = {".parquet": "parquet", ".jsonl": "json", ".json": "json", ".csv": "csv", ".arrow": "arrow"}
ENDS_BYTES = 1 << 20


def main(bound_s: float, files: list[str]) -> None:
    faulthandler.dump_traceback_later(bound_s, exit=True)
    began = time.monotonic()
    try:
        from datasets import load_dataset  # type: ignore[import-not-found]
    except ImportError:
        how, rows = "its ends read as bytes, for this interpreter has no package datasets", None
        for name in files:
            read_ends(name)
    else:
        how, rows = "load_dataset", 0
        for kind in sorted({kind_of(name) for name in files}):
            of_kind = [name for name in files if kind_of(name) == kind]
            rows += len(load_dataset(kind, data_files=of_kind, split="train"))
    sys.stdout.write(json.dumps({"how": how, "rows": rows, "took_s": time.monotonic() - began}) + "\n")


def kind_of(name: str) -> str:
    return KINDS[os.path.splitext(name)[1]]


def read_ends(name: str) -> None:
    """Begin and end of a file: a slow or dead disk shows, and a parquet file that was cut."""
    with open(name, "rb") as file:
        first = file.read(ENDS_BYTES)
        file.seek(-min(os.fstat(file.fileno()).st_size, ENDS_BYTES), os.SEEK_END)
        last = file.read()
    if kind_of(name) == "parquet" and not (first.startswith(b"PAR1") and last.endswith(b"PAR1")):
        raise ValueError(f"{name} is no whole parquet file")


main(float(sys.argv[1]), sys.argv[2:])
