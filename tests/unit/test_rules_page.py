"""The list of rules explains itself: each says why it stands where it stands, and RULES.md says the same."""

from __future__ import annotations

import inspect

import pytest

from hangtop.diagnosis.judge import RULES, Rule
from tests.make_rules import PAGE, STANDS, page

NAMES = [rule.__name__ for rule in RULES]


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == page(), "run: python -m tests.make_rules"


def test_each_rule_has_a_name_of_its_own() -> None:
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_a_rule_says_before_which_later_rule_it_stands_and_why(rule: Rule) -> None:
    stands = STANDS.search(inspect.getdoc(rule) or "")
    assert stands, f"{rule.__name__}: no sentence 'Stands before `…`: …'"
    later = NAMES[NAMES.index(rule.__name__) + 1 :]
    assert stands["other"] in later if later else stands["other"] is None
