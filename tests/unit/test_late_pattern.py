"""Regexes that are compiled at their first use."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import hangtop
from hangtop.common.late_pattern import late_pattern

PACKAGE = Path(hangtop.__file__).parent


def test_it_is_used_as_a_pattern_is() -> None:
    word = late_pattern(r"(?P<word>[a-z]+)\d", re.IGNORECASE)
    found = word.search("7 Ab1")
    assert found is not None
    assert found["word"] == "Ab"
    assert word.sub("-", "a1 b2") == "- -"
    assert word.groupindex == {"word": 1}
    assert late_pattern(rb"\d").findall(b"1a2") == [b"1", b"2"]


def test_each_that_stands_in_a_module_compiles() -> None:
    """What is wrong in one would show no sooner than at its first use."""
    users = [path for path in PACKAGE.rglob("*.py") if "import late_pattern" in path.read_text("utf-8")]
    modules = [import_module(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)) for path in users]
    late = [value for module in modules for value in vars(module).values() if type(value) is type(late_pattern(""))]
    assert len(late) > len(users) / 2
    for each in late:
        assert each.groups >= 0
