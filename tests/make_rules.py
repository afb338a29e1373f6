"""Writes hangtop/diagnosis/RULES.md from the docstrings of the rules, in their order: `python -m tests.make_rules`."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from hangtop.diagnosis import judge

PAGE = Path(judge.__file__).with_name("RULES.md")
HEAD = """# The rules, in their order

The first rule that holds names the state of the run; where none does, it is running. The list is `RULES` in `judge.py`. A new
rule is a function from a snapshot to a verdict or `None`, in a file of `rules/`, and one entry in that list. Its docstring says
what it looks for and ends with a sentence "Stands before `other_rule`: …", which says why the two are not the other way round.

Made by `python -m tests.make_rules` from those docstrings. Never edited by hand.
"""
STANDS = re.compile(r"Stands (?:before `(?P<other>\w+)`|last): (?P<why>.+)", re.DOTALL)


def page() -> str:
    """The whole of RULES.md."""
    return "\n".join([HEAD, *(_entry(number, rule) for number, rule in enumerate(judge.RULES, 1)), ""])


def _entry(number: int, rule: judge.Rule) -> str:
    said = " ".join((inspect.getdoc(rule) or "").split())
    where = rule.__module__.rpartition(".")[2]
    what, _, stands = said.partition("Stands ")
    return f"{number}. **`{rule.__name__}`** (`{where}.py`). {what.strip()}\n   *Stands {stands.strip()}*"


if __name__ == "__main__":
    PAGE.write_text(page())
