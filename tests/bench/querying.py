"""A log asked in SQL: steps a second, and the time beside that of DuckDB reading the same numbers from a CSV file."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from hangtop.logs.catalog.load import load
from hangtop.logs.extract.literal_index import LiteralIndex
from hangtop.query.database import Database, quoted
from hangtop.query.from_logs import add_steps
from tests.bench.options import Options
from tests.bench.row import Row

BYTES_A_STEP = 130
LEAST_STEPS_S = 500_000.0


def rows(options: Options) -> Iterator[Row]:
    from duckdb import connect  # an optional extra

    steps = max(100_000, options.size // BYTES_A_STEP)
    index = LiteralIndex(load())
    with TemporaryDirectory() as folder, Database(Path(folder)) as database:
        log, table = Path(folder, "train.log"), Path(folder, "steps.csv")
        _write(log, table, steps)
        began, cpu_began = time.perf_counter(), time.process_time()
        add_steps(database, log, "run", index, 0.0)
        took_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu_began
        (count,) = database.ask("SELECT count(*) FROM steps").rows[0]
        began = time.perf_counter()
        with connect() as beside:  # a question to hangtop's own reads no other file
            beside.execute(f"CREATE TABLE beside AS SELECT * FROM read_csv({quoted(str(table))})")
        beside_s = time.perf_counter() - began
    yield Row(f"query: {steps:,} step lines with 4 metrics: of these read", 100 * count / steps, "%")
    yield Row("query: steps a second", steps / took_s, "/s", LEAST_STEPS_S, at_least=True)
    yield Row("query: steps a second of one core's time", steps / cpu_s, "/s")
    yield Row("query: time over DuckDB reading the same numbers as CSV", took_s / beside_s, "×")


def _write(log: Path, table: Path, steps: int) -> None:
    at, chance = datetime(2026, 1, 11, 10), random.Random(1)
    with log.open("w") as lines, table.open("w") as cells:
        cells.write("time,rank,step,loss,lr,grad_norm,memory\n")
        for step in range(steps):
            at += timedelta(seconds=2.5)
            rank, loss, norm, memory = step % 8, chance.random(), chance.random(), chance.random() * 80
            lines.write(
                f"[{at:%Y-%m-%d %H:%M:%S},{step % 1000:03}] [rank{rank}] step {step}/{steps} loss={loss:.4f} lr=1.00e-05 "
                f"grad_norm: {norm:.3f} tok/s {step % 9999} mem={memory:.1f}GB\n"
            )
            cells.write(f"{at:%Y-%m-%d %H:%M:%S}.{step % 1000:03},{rank},{step},{loss:.4f},1.00e-05,{norm:.3f},{memory:.1f}\n")
