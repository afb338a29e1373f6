"""The plan of a first start: a command whose output goes to one file."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from hangtop.actions.command_line.typed import with_variables
from hangtop.common.clean_words import clean_words
from hangtop.common.raw_text import from_os
from hangtop.records.plan import Plan, Start


def run_plan(words: Sequence[str], folder: str, log: str) -> Plan:
    """Start the command in this folder with this environment; `log`: the absolute path of the file for its output."""
    argv = tuple(from_os(word) for word in with_variables(words))
    return Plan("run", f"Run {clean_words(shlex.join(argv))}", start=Start(argv, from_os(folder), from_os(log)))
