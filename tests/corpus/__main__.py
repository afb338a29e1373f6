"""`python -m tests.corpus [--write]`: how much of the labelled logs is read right, now and when each batch was first read.

--write   puts the table into `tests/corpus/README.md`
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator

from tests.corpus.score import CORPUS, batches, held_out
from tests.tables import table, write

QUESTIONS = {
    "framework": "framework",
    "stage": "stage",
    "verdict": "verdict",
    "first": "explained right and first",
    "kind": "kind of exception",
    "forbidden": "nothing false",
    "step": "step",
    "total": "total",
    "loss": "loss",
    "step_s": "seconds a step",
    "ranks": "ranks",
}


def rows() -> Iterator[list[str]]:
    """Two for each batch: its first score, and that of today."""
    for batch in batches().batch:
        answers = list(held_out(batch.name))
        asked = Counter(answer.question for _, answer in answers)
        right = Counter(answer.question for _, answer in answers if answer.right)
        logs = str(len({file for file, _ in answers}))
        of = {question: f" of {asked[question]}" for question in QUESTIONS}
        first = [f"{batch.at_first.get(name, 0)}{of[name]}" if asked[name] else "" for name in QUESTIONS]
        yield [f"`{batch.name}`: {batch.worth}", logs, *first]
        yield ["now", "", *(str(right[name]) if asked[name] else "" for name in QUESTIONS)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    text = table(("batch, when first read", "logs", *QUESTIONS.values()), rows())
    if given.write:
        write(CORPUS / "README.md", "scores", text)
    else:
        print(text)


if __name__ == "__main__":
    main()
