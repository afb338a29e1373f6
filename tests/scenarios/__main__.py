"""`python -m tests.scenarios [NAME …]`: plays the scenarios, and prints what hangtop said of each and the scores.

    --write        puts the scores into `tests/scenarios/README.md`
    --from FILE    plays the runs of a batch instead: see batches/README.md

Exit code 1 when a live run was called hung, when something is missed that was not known to be, or a known miss is right by now.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from statistics import median

from tests.scenarios.case import HERE, Result, Scenario, play_in_time, scenarios
from tests.tables import share, table, write

HEAD = (
    "runs",
    "verdict right",
    "culprit ranks right",
    "kind right",
    "live runs called hung, stalled or crashed",
    "seconds to the answer",
)


def main() -> int:
    if "--from" in sys.argv:
        from tests.scenarios.batches.__main__ import main as batch

        return batch()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    known = scenarios()
    if unknown := sorted(set(given.names) - {scenario.name for scenario in known}):
        parser.error(f"no scenario is named {', '.join(unknown)}; there are: {', '.join(scenario.name for scenario in known)}")
    print(f"{'scenario':<28}{'verdict':<10}{'kind':<16}{'culprits':<12}{'s':>5}  judged")
    results: list[Result] = []
    for scenario in known:
        if given.names and scenario.name not in given.names:
            continue
        if why := missing(scenario):
            print(f"{scenario.name:<28}skipped: {why}")
            continue
        results.append(play_in_time(scenario))
        print(line(results[-1]), flush=True)
    parts = {
        "all": results,
        "tuned on": [result for result in results if result.scenario.tuned],
        "only scored": [result for result in results if not result.scenario.tuned],
    }
    text = table(("", *HEAD), [(title, *scores(part)) for title, part in parts.items() if part])
    print(f"\n{text}")
    if given.write:
        write(HERE / "README.md", "scores", text)
    return 1 if any(result.false_hung or result.surprise for result in results) else 0


def missing(scenario: Scenario) -> str | None:
    """Why it cannot be played here."""
    if scenario.needs and find_spec(scenario.needs) is None:
        return f"needs {scenario.needs}"
    return "needs root, for a mount of its own" if scenario.root and os.geteuid() != 0 else None


def line(result: Result) -> str:
    """One row of the table: what was said, and where it is wrong."""
    first, wants = result.answers[0], result.scenario
    wrong = []
    if not result.verdict_right:
        wrong.append(
            f"verdict should be {' or '.join(wants.verdict)}, was {', '.join(answer.verdict for answer in result.answers)}"
        )
    if result.kind_right is False:
        wrong.append(f"kind should be {wants.kind}")
    if result.culprit_right is False:
        wrong.append(f"culprits should be {list(wants.culprits)}")
    culprits = ",".join(map(str, first.culprits))
    judged = "; ".join(wrong) or "right"
    judged += f" ({surprise})" if (surprise := result.surprise) else ""
    said = f"{wants.name:<28}{first.verdict:<10}{first.kind or '-':<16}{culprits:<12}{result.seconds:>5.1f}"
    return f"{said}  {judged}  | {first.headline}"


def scores(results: Sequence[Result]) -> tuple[str, ...]:
    """Accuracies, false alarms and times of these results, as `HEAD` names them."""
    seconds = [result.seconds for result in results]
    live = [result for result in results if result.scenario.lives]
    return (
        str(len(results)),
        share(result.verdict_right for result in results),
        share(result.culprit_right for result in results),
        share(result.kind_right for result in results),
        share(result.false_hung for result in live),
        f"median {median(seconds):.1f}, worst {max(seconds):.1f}",
    )


if __name__ == "__main__":
    sys.exit(main())
