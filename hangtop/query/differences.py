"""Two runs, as tables, compared: pace, stages, metrics, memory, GPUs, findings, frames, commands and how each ended."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterator

from hangtop.query.compare import Difference, by_weight, course, growth, level, shares, told
from hangtop.query.database import Database

STAGE_LEAST_S = 5.0
STAGE_TIMES = 1.5
"""A stage took longer than in the good run by half of that, and by so many seconds."""
MOST_POINTS = 20_000
"""Of a course; a longer one is thinned."""

HEADINGS = {
    "end": "How they ended",
    "command": "How they were started",
    "finding": "Messages that only the bad run has",
    "pace": "Pace",
    "stage": "Stages",
    "metric": "Numbers of the training",
    "memory": "Memory",
    "gpu": "GPUs",
    "frame": "Where the ranks were",
}
"""What a difference is about, and the head of its section, in the order of sections."""


class Runs:
    """A database with two runs. `good`, `bad`: their names in it."""

    def __init__(self, database: Database, good: str, bad: str) -> None:
        self._ask, self.good, self.bad = database.ask, good, bad

    def differences(self) -> list[Difference]:
        """All, the greatest first; how each ended, and what is asked of it, before all numbers."""
        numbers = (*self._pace(), *self._stages(), *self._metrics(), *self._memory(), *self._gpus(), *self._frames())
        return [*self._ends(), *self._commands(), *self._findings(), *by_weight(numbers)]

    def _both(self, sql: str, *columns: str) -> dict[tuple[object, ...], dict[str, list[tuple[float, ...]]]]:
        """The rows of both runs: by the first columns, which name what is compared, then by run. `sql` selects run, these, and
        numbers."""
        found: dict[tuple[object, ...], dict[str, list[tuple[float, ...]]]] = defaultdict(lambda: {self.good: [], self.bad: []})
        for run, *row in self._ask(sql).rows:
            found[tuple(row[: len(columns)])][str(run)].append(tuple(row[len(columns) :]))
        return found

    def _pace(self) -> Iterator[Difference | None]:
        sql = """
            SELECT run, took_s FROM (
              SELECT run, step, time_s - lag(time_s) OVER one AS took_s, step - lag(step) OVER one AS steps
              FROM (SELECT run, counter, step, min(time_s) AS time_s FROM steps WHERE time_s IS NOT NULL GROUP BY ALL)
              WINDOW one AS (PARTITION BY run, counter ORDER BY step)
            ) WHERE steps = 1 AND took_s >= 0 ORDER BY run, step"""
        for runs in self._both(sql).values():
            good, bad = ([took for (took,) in runs[run]] for run in (self.good, self.bad))
            yield level("pace", "time of a step", good, bad, "s")

    def _stages(self) -> Iterator[Difference]:
        sql = "SELECT run, id, sum(took_s), count(*) FROM stages WHERE took_s IS NOT NULL GROUP BY run, id"
        for (name,), runs in self._both(sql, "id").items():
            if not (runs[self.good] and runs[self.bad]):
                continue
            (usual, _), (now, _) = ((total / count, count) for (total, count) in (runs[self.good][0], runs[self.bad][0]))
            if abs(now - usual) > STAGE_LEAST_S and (now > STAGE_TIMES * usual or usual > STAGE_TIMES * now):
                weight = max(now, usual) / max(1.0, min(now, usual))
                yield Difference("stage", f"stage {name}", told(usual, "s"), told(now, "s"), weight=weight)

    def _metrics(self) -> Iterator[Difference | None]:
        sql = f"""
            SELECT run, name, step, value FROM (
              SELECT run, name, step, avg(value) AS value FROM metrics
              WHERE step IS NOT NULL AND value IS NOT NULL GROUP BY run, name, step
            ) QUALIFY hash(step) % greatest(1, count(*) OVER (PARTITION BY run, name) // {MOST_POINTS}) = 0
            ORDER BY run, name, step"""
        for (name,), runs in self._both(sql, "name").items():
            yield course(str(name), *([(row[0], row[1]) for row in runs[run]] for run in (self.good, self.bad)))
        sql = "SELECT run, name, min(step), count(*) FROM metrics WHERE value IS NULL GROUP BY run, name"
        for (name,), runs in self._both(sql, "name").items():
            if runs[self.bad] and not runs[self.good]:
                yield Difference(
                    "metric", str(name), "a number at each step", "NaN or infinite", step=int(runs[self.bad][0][0]), weight=1e6
                )

    def _memory(self) -> Iterator[Difference | None]:
        sql = """
            SELECT run, coalesce('rank ' || rank, role) AS who, time_s, sum(rss_bytes) FROM processes
            WHERE rss_bytes IS NOT NULL GROUP BY ALL ORDER BY run, who, time_s"""
        for (who,), runs in self._both(sql, "who").items():
            yield growth(f"memory of {who}", *([(row[0], row[1]) for row in runs[run]] for run in (self.good, self.bad)))

    def _gpus(self) -> Iterator[Difference | None]:
        sql = """
            SELECT run, gpu, power_w, util_percent FROM gpus
            WHERE power_w IS NOT NULL AND util_percent IS NOT NULL ORDER BY run, time_s"""
        for (gpu,), runs in self._both(sql, "gpu").items():
            for column, what, unit in ((0, "power", "W"), (1, "utilisation", "%")):
                good, bad = ([row[column] for row in runs[run]] for run in (self.good, self.bad))
                yield level("gpu", f"{what} of GPU {gpu}", good, bad, unit)

    def _frames(self) -> Iterator[Difference]:
        sql = """
            SELECT run, function || ' (' || file || ':' || line || ')', count(*) FROM stacks
            WHERE main AND depth = 0 GROUP BY ALL"""
        counts: dict[str, dict[str, int]] = {self.good: {}, self.bad: {}}
        for (frame,), runs in self._both(sql, "frame").items():
            for run, rows in runs.items():
                counts[run][str(frame)] = int(rows[0][0]) if rows else 0
        yield from shares("frame", counts[self.good], counts[self.bad])

    def _findings(self) -> Iterator[Difference]:
        sql = "SELECT run, id, any_value(text) FROM findings WHERE severity <> 'hint' GROUP BY run, id ORDER BY min(byte)"
        found = self._ask(sql).rows
        there = {name for run, name, _ in found if run == self.good}
        for run, name, text in found:
            if run == self.bad and name not in there:
                yield Difference("finding", str(name), "no such message", str(text))

    def _ends(self) -> Iterator[Difference]:
        sql = "SELECT run, arg_max(word, time_s), arg_max(headline, time_s) FROM verdicts GROUP BY run"
        ends = {str(run): (str(word), str(headline)) for run, word, headline in self._ask(sql).rows}
        good, bad = ends.get(self.good), ends.get(self.bad)
        if good is not None and bad is not None and good[0] != bad[0]:
            yield Difference("end", "last verdict", good[0], f"{bad[0]}: {bad[1]}")

    def _commands(self) -> Iterator[Difference]:
        sql = """
            SELECT run, role, arg_min(command, time_s) FROM processes
            WHERE role IN ('launcher', 'rank') AND (rank IS NULL OR rank = 0) AND NOT starts_with(command, 'ray::')
            GROUP BY run, role"""
        for (role,), runs in self._both(sql, "role").items():
            if runs[self.good] and runs[self.bad]:
                good, bad = (_words(str(runs[run][0][0])) for run in (self.good, self.bad))
                only_good, only_bad = ([word for word in one if word not in other] for one, other in ((good, bad), (bad, good)))
                if only_good or only_bad:
                    yield Difference("command", f"command of {role}", shlex.join(only_good) or "-", shlex.join(only_bad) or "-")


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # quotes without their end: a command line that was cut
        return command.split()
