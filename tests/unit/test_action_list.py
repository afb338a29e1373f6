"""The list of actions: every entry can be offered by its key and by its command, and brings its planner."""

from __future__ import annotations

from hangtop.actions.action import Choices, Planner
from hangtop.actions.registry import ACTIONS, action
from hangtop.tui.keys import ACT, LOOK


def test_every_action_brings_a_planner() -> None:
    assert all(isinstance(known.load_planner(), Planner) for known in ACTIONS)


def test_every_action_takes_choices_that_there_are() -> None:
    assert all(set(known.options) <= set(Choices.__struct_fields__) for known in ACTIONS)


def test_names_and_keys_are_given_once() -> None:
    names = [known.name for known in ACTIONS]
    keys = [key.shown for key in (*ACT, *LOOK)]
    assert len(set(names)) == len(names)
    assert len(set(keys)) == len(keys)
    assert [action(name) for name in names] == list(ACTIONS)


def test_every_key_of_an_action_is_gone_in_read_only_mode_and_in_a_replay() -> None:
    of_actions = [key for key in ACT if key.shown in {known.key for known in ACTIONS}]
    assert len(of_actions) == sum(bool(known.key) for known in ACTIONS)
    assert all(key.dangerous and key.live for key in of_actions)
