"""`python -m tests.scenarios [NAME …]`: plays the scenarios and prints a table of what hangtop said of each, and the scores."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from statistics import median

from tests.scenarios.case import Result, play_in_time, scenarios


def main(names: Sequence[str]) -> int:
    known = scenarios()
    unknown = sorted(set(names) - {one.name for one in known})
    if unknown:
        print(f"no scenario is named {', '.join(unknown)}; there are: {', '.join(one.name for one in known)}", file=sys.stderr)
        return 2
    wanted = [one for one in known if not names or one.name in names]
    print(f"{'scenario':<28}{'verdict':<10}{'kind':<16}{'culprits':<12}{'s':>5}  judged")
    results: list[Result] = []
    for scenario in wanted:
        if scenario.needs and find_spec(scenario.needs) is None:
            print(f"{scenario.name:<28}skipped: needs {scenario.needs}")
            continue
        if scenario.root and os.geteuid() != 0:
            print(f"{scenario.name:<28}skipped: needs root, for a mount of its own")
            continue
        results.append(play_in_time(scenario))
        print(line(results[-1]), flush=True)
    print()
    for title, chosen in (
        ("all", results),
        ("tuned on", [one for one in results if one.scenario.tuned]),
        ("only scored", [one for one in results if not one.scenario.tuned]),
    ):
        print(scores(title, chosen))
    return 0 if all(not one.false_hung for one in results) else 1


def line(result: Result) -> str:
    """One row of the table: what was said, and where it is wrong."""
    first, wants = result.answers[0], result.scenario
    wrong = []
    if not result.verdict_right:
        wrong.append(f"verdict should be {' or '.join(wants.verdict)}, was {', '.join(one.verdict for one in result.answers)}")
    if result.kind_right is False:
        wrong.append(f"kind should be {wants.kind}")
    if result.culprit_right is False:
        wrong.append(f"culprits should be {list(wants.culprits)}")
    culprits = ",".join(str(one) for one in first.culprits)
    judged = "; ".join(wrong) or "right"
    said = f"{wants.name:<28}{first.verdict:<10}{first.kind or '-':<16}{culprits:<12}{result.seconds:>5.1f}"
    return f"{said}  {judged}  | {first.headline}"


def scores(title: str, results: Sequence[Result]) -> str:
    """Accuracies, false alarms and times of these results."""
    if not results:
        return f"{title}: none"
    seconds = [one.seconds for one in results]
    return (
        f"{title}: verdict {share(one.verdict_right for one in results)}, culprit {share(one.culprit_right for one in results)}, "
        f"kind {share(one.kind_right for one in results)}, false hung {sum(one.false_hung for one in results)}, "
        f"time to verdict after the limit: median {median(seconds):.1f} s, worst {max(seconds):.1f} s"
    )


def share(marks: Iterable[bool | None]) -> str:
    """`19 of 20`, of those that were judged."""
    judged = [mark for mark in marks if mark is not None]
    return f"{sum(judged)} of {len(judged)}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
