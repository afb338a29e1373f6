"""The list of actions: every entry can be offered by its key and by its command, and brings its planner."""

from __future__ import annotations

from hangtop.actions.registry import ACTIONS, Choices, Planner, action
from hangtop.tui.keys import ACT, LOOK, all_keys


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
    of_actions = {known.key for known in ACTIONS if known.key}
    assert of_actions <= {key.shown for key in all_keys(read_only=False, replay=False)}
    assert not of_actions & {key.shown for key in all_keys(read_only=True, replay=False)}
    assert not of_actions & {key.shown for key in all_keys(read_only=False, replay=True)}
