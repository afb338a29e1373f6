"""Changes to environment and command line for a restart, as data in presets.toml. Pure, but for reading that file once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

import msgspec
from msgspec.structs import replace

from hangtop.actions.options import Option, has_option, with_option
from hangtop.records.plan import Plan, Start

FILE = Path(__file__).with_name("presets.toml")
FIRST_TWO_GPUS = "{first two GPUs}"
"""In a value: the first two of those that the run sees, never those of somebody else."""


class Preset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`does`: one line on what it gives and costs. `frameworks`: only for these; empty: for all. `unless`: not beside these.

    `options`: changes to the command line. `only_where_given`: offered only where the command line gives one of them already.
    """

    id: str
    title: str
    does: str
    env: dict[str, str] = {}
    options: tuple[Option, ...] = ()
    only_where_given: bool = False
    frameworks: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    preset: tuple[Preset, ...]


@lru_cache(maxsize=1)
def presets() -> tuple[Preset, ...]:
    """All of them, in the order of the file."""
    return msgspec.toml.decode(FILE.read_bytes(), type=_File).preset


def presets_for(frameworks: frozenset[str], argv: tuple[str, ...]) -> tuple[Preset, ...]:
    """Those that fit a run of these frameworks with this command line."""
    return tuple(one for one in presets() if _fits(one, frameworks, argv))


def named(names: Sequence[str]) -> tuple[Preset, ...]:
    """Those with these ids. Raises `LookupError`, in one line, for a name that none has."""
    known = {preset.id: preset for preset in presets()}
    if unknown := [name for name in names if name not in known]:
        raise LookupError(f"no preset is named {unknown[0]}; there are {', '.join(known)}")
    return tuple(known[name] for name in names)


def with_presets(plan: Plan, chosen: Iterable[Preset]) -> Plan:
    """The plan, as it was made, with these. What a command line cannot take is said in its warnings."""
    start, warnings = plan.start, list(plan.warnings)
    if start is None:
        return plan
    for preset in chosen:
        if not _has_what_it_needs(preset, start.argv):
            warnings.append(f"{preset.title}: the command gives none of {', '.join(option.name for option in preset.options)}")
            continue
        given = {name: _value(value, start) for name, value in preset.env.items()}
        start = replace(start, set_env=start.set_env | given)
        for option in preset.options:
            changed = with_option(start.argv, option)
            if changed is not None:
                usual = start.usual_argv or start.argv
                start = replace(start, argv=changed, usual_argv=usual, changed=(*start.changed, option.shown))
            elif option.add:
                warnings.append(f"{preset.title}: the command is a script, so set {option.shown} in it yourself")
    return replace(plan, start=start, warnings=tuple(warnings))


def with_argv(plan: Plan, argv: Sequence[str]) -> Plan:
    """The plan, as it was made, with a command that a person has changed; the next start takes that one too."""
    return plan if plan.start is None else replace(plan, start=replace(plan.start, argv=tuple(argv)))


def _fits(preset: Preset, frameworks: frozenset[str], argv: tuple[str, ...]) -> bool:
    if preset.frameworks and not frameworks.intersection(preset.frameworks):
        return False
    if frameworks.intersection(preset.unless):
        return False
    return _has_what_it_needs(preset, argv)


def _has_what_it_needs(preset: Preset, argv: tuple[str, ...]) -> bool:
    return not preset.only_where_given or any(has_option(argv, option) for option in preset.options)


def _value(value: str, start: Start) -> str:
    if value != FIRST_TWO_GPUS:
        return value
    seen = [gpu for gpu in (start.visible_devices or "").split(",") if gpu]
    return ",".join(seen[:2] or ("0", "1"))
