"""`python -m tests.corpus [--write | --first BATCH]`: how much of the labelled logs is read right, now and at first sight.

--write         puts the table into `tests/corpus/README.md`
--first BATCH   scores a batch of `holdout/` that `batches.toml` does not know yet: what it is to say of it, and the misses
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
    "line": "the line to look at",
    "advice": "the cause advised on first",
    "kind": "kind of exception",
    "extra": "no consequence as a cause",
    "forbidden": "nothing false",
    "culprits": "culprits, exactly",
    "alarm": "live, and no alarm",
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


def first_score(name: str) -> None:
    """Prints the score of a batch as `batches.toml` wants it, what was asked, and the answers that are wrong."""
    answers = list(held_out(name))
    asked = Counter(answer.question for _, answer in answers)
    right = Counter(answer.question for _, answer in answers if answer.right)
    print(f'[[batch]]\nname = "{name}"\nat_first = {{ {", ".join(f"{question} = {right[question]}" for question in asked)} }}')
    print(f"# of {', '.join(f'{question} {count}' for question, count in asked.items())}")
    for file, answer in answers:
        if not answer.right:
            print(f'"{answer.question} {file}" = "{answer.instead}"')


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--first", metavar="BATCH")
    given = parser.parse_args()
    if given.first:
        first_score(given.first)
        return
    text = table(("batch, when first read", "logs", *QUESTIONS.values()), rows())
    if given.write:
        write(CORPUS / "README.md", "scores", text)
    else:
        print(text)


if __name__ == "__main__":
    main()
