"""A thousand secrets of all kinds in log lines, words of commands, environments and trees: none is left, and evidence is."""

from __future__ import annotations

import json

from hangtop.common.secrets.redactor import Redactor
from tests.planted.plant import Planted, harmless, planted

SEEDS = (7, 8)


def cleaned(each: Planted) -> str:
    """As a text or, of the environment, by name."""
    if not each.kind.startswith("environment"):
        return Redactor().text(each.text)
    name, _, value = each.text.partition("=")
    return Redactor().environ({name: value})[name]


def test_of_a_thousand_secrets_of_all_kinds_none_is_left() -> None:
    all_planted = [each for seed in SEEDS for each in planted(2, seed)]
    assert len({each.kind for each in all_planted}) >= 250
    assert sum(len(each.secrets) for each in all_planted) >= 1_000
    left = {each.kind for each in all_planted if any(secret in cleaned(each) for secret in each.secrets)}
    assert not left


def test_in_a_whole_log_none_is_left_whatever_stands_beside_it() -> None:
    """Line after line, as in the head and tail of a bundle: what one secret begins must not hide or save the next."""
    all_planted = [each for each in planted(1, 3) if not each.kind.startswith(("environment", "files: *", "files: db"))]
    text = Redactor().text("\n".join(f"{each.text}\nstep 3/9 loss 2.1" for each in all_planted))
    assert not {each.kind for each in all_planted if any(secret in text for secret in each.secrets)}
    assert text.count("step 3/9 loss 2.1") == len(all_planted)


def test_json_with_them_stays_json_without_them() -> None:
    all_planted = [each for each in planted(1, 4) if not each.kind.startswith("environment")]
    tree = json.dumps(Redactor().tree({"lines": [each.text for each in all_planted]}))
    assert len(json.loads(tree)["lines"]) == len(all_planted)
    assert not {each.kind for each in all_planted if any(secret in tree for secret in each.secrets)}


def test_evidence_stays() -> None:
    lines = harmless(7)
    assert len(lines) >= 300
    assert [Redactor().text(line) for line in lines] == lines
