"""Changes to environment and command line for a restart, as data in presets.toml. Pure, but for reading that file once."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from hangtop.actions.command_line.wrapped import innermost
from hangtop.common import text
from hangtop.common.decode_toml import decode_toml
from hangtop.records.plan import NodePart, Plan, Start

FILE = Path(__file__).with_name("presets.toml")
FIRST_TWO_GPUS = "{first two GPUs}"
"""In a value: the first two GPUs that the run sees, never those of another run."""
INTERFACE, INTERFACES = "{network interface}", "{network interfaces}"
"""In a value or a text: the network interface of the default route, and all interfaces that are up."""

GIVEN_BY_RAY = frozenset(("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES"))
"""Ray gives each worker its own devices, and does not start where it sees fewer of them than its options say."""
SCRIPTS = frozenset("bash sh dash zsh ksh fish".split())
"""A script may not pass on an option that is appended to its command line."""


class Option(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`--name value` (`flag`), or `name=value` in Hydra's style. `add`: append it when the command does not have it yet.

    In the name of a flag `-` and `_` are the same, as in most launchers.
    """

    name: str
    value: str
    style: Literal["flag", "hydra"] = "flag"
    add: bool = True

    @property
    def shown(self) -> str:
        """As a person types it."""
        return f"{self.name} {self.value}" if self.style == "flag" else f"{self.name}={self.value}"


class Preset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`does`: one line on what it gives and costs. `frameworks`: only for these; empty: for all. `unless`: not beside these.

    `options`: changes to the command line. `only_where_given`: offered only where the command line gives one of them already.
    `test`: it finds out what is wrong; the run should not go on so, for it is much slower, or smaller.
    """

    id: str
    title: str
    does: str
    env: dict[str, str] = {}
    options: tuple[Option, ...] = ()
    only_where_given: bool = False
    frameworks: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    test: bool = False


class Because(msgspec.Struct, frozen=True):
    """Why a preset is in a plan that nobody put there by hand. `leave_out`: how a person leaves it out, in words."""

    preset: str
    cause: str
    leave_out: str = "--as-it-was leaves it out"


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    preset: tuple[Preset, ...]


@lru_cache(maxsize=1)
def presets() -> tuple[Preset, ...]:
    """All presets, in the order of the file."""
    return decode_toml(FILE.read_bytes(), _File).preset


def presets_for(frameworks: frozenset[str], start: Start) -> tuple[Preset, ...]:
    """The presets that fit a run of these frameworks with this command line, their placeholders filled."""
    return tuple(_filled(preset, start) for preset in presets() if _fits(preset, frameworks, start))


def named(names: Sequence[str]) -> tuple[Preset, ...]:
    """The presets with these ids. Raises `LookupError`, in one line, for an unknown id."""
    known = {preset.id: preset for preset in presets()}
    if unknown := [name for name in names if name not in known]:
        raise LookupError(f"no preset is named {unknown[0]}; there are {', '.join(known)}")
    return tuple(known[name] for name in names)


def with_presets(
    plan: Plan, chosen: Iterable[Preset], own: Mapping[str, str] | None = None, because: Because | None = None
) -> Plan:
    """The plan with these presets and a person's own variables, which override theirs. It warns of what cannot be set. `because`:
    why one of them is there, which the plan says."""
    start, warnings = plan.start, list(plan.warnings)
    if start is None:
        return plan
    for preset in (_filled(preset, start) for preset in chosen):
        if not _has_what_it_needs(preset, start):
            options = ", ".join(option.name for option in preset.options)
            warnings.append(
                f"{preset.title}: {f'the command gives none of {options}' if options else 'no network interface is known'}"
            )
            continue
        if because is not None and because.preset == preset.id:
            plan = replace(plan, advised=f"{preset.title}: {because.cause}; {because.leave_out}")
        start = replace(start, set_env=start.set_env | preset.env)
        for option in preset.options:
            changed = with_option(start.argv, option)
            if changed is not None:
                usual = start.usual_argv or start.argv
                start = replace(start, argv=changed, usual_argv=usual, changed=(*start.changed, option.shown))
            elif option.add:
                warnings.append(f"{preset.title}: the command is a script, so set {option.shown} in it yourself")
    start = replace(start, set_env=start.set_env | dict(own or {}))
    return _with_ray(_elsewhere(replace(plan, start=start, warnings=tuple(warnings)), start), start)


def _elsewhere(plan: Plan, start: Start) -> Plan:
    """The same variables, and the same options where the command there is the same, on other nodes."""
    usual, parts = start.usual_argv or start.argv, list[NodePart]()
    for part in plan.elsewhere:
        if (far := part.start) is not None:
            argv, as_before = (start.argv, far.argv) if far.argv == usual else (far.argv, ())
            far = replace(far, set_env=far.set_env | start.set_env, argv=argv, usual_argv=as_before)
        parts.append(replace(part, start=far))
    return replace(plan, elsewhere=tuple(parts))


def _with_ray(plan: Plan, start: Start) -> Plan:
    """The same variables for Ray: its raylets start the workers with their own environment, not with that of the driver."""
    variables = {name: value for name, value in start.set_env.items() if name not in GIVEN_BY_RAY}
    if not variables or not (plan.ray or start.ray):
        return plan
    names = ", ".join(sorted(variables))
    if not plan.ray:
        mend = "" if plan.action == "recover" else ": ! (hangtop recover) starts Ray with them too"
        said = f"{names}: for the driver alone, its workers are started by Ray, which goes on as it was ({start.ray}){mend}"
        return replace(plan, warnings=(*plan.warnings, said))
    away = sum(node.away for node in plan.ray)
    joined = f"{text.some(away, 'node')} elsewhere {text.are(away)} joined by hand"
    said = f"{names}: {joined}, give ray start the same variables there"
    return replace(
        plan,
        ray=tuple(replace(node, set_env=variables) for node in plan.ray),
        warnings=(*plan.warnings, *((said,) if away else ())),
    )


def with_argv(plan: Plan, argv: Sequence[str]) -> Plan:
    """The plan with another command; later starts of the run take that command too."""
    start = plan.start
    if start is None:
        return plan
    program = start.program if tuple(argv[:1]) == start.argv[:1] else ""
    return replace(plan, start=replace(start, argv=tuple(argv), program=program))


def _fits(preset: Preset, frameworks: frozenset[str], start: Start) -> bool:
    for_it = not preset.frameworks or not frameworks.isdisjoint(preset.frameworks)
    return for_it and frameworks.isdisjoint(preset.unless) and _has_what_it_needs(preset, start)


def _has_what_it_needs(preset: Preset, start: Start) -> bool:
    if not start.interfaces and any(INTERFACE in value for value in preset.env.values()):
        return False
    return not preset.only_where_given or any(has_option(start.argv, option) for option in preset.options)


def _filled(preset: Preset, start: Start) -> Preset:
    """The preset with the values of its placeholders in this start."""
    seen = [gpu for gpu in (start.visible_devices or "").split(",") if gpu]
    stands_for = {FIRST_TWO_GPUS: ",".join(seen[:2] or ("0", "1"))}
    if start.interfaces:
        stands_for |= {INTERFACES: ", ".join(start.interfaces), INTERFACE: start.interfaces[0]}

    def fill(words: str) -> str:
        for placeholder, value in stands_for.items():
            words = words.replace(placeholder, value)
        return words

    return replace(preset, does=fill(preset.does), env={name: fill(value) for name, value in preset.env.items()})


def has_option(argv: tuple[str, ...], option: Option) -> bool:
    """Whether the command line gives it."""
    return any(_is(word, option) for word in argv)


def with_option(argv: tuple[str, ...], option: Option) -> tuple[str, ...] | None:
    """The command line with this option; `None` when it cannot be added, because a shell script may not pass it on."""
    if has_option(argv, option):
        return _replaced(argv, option)
    program = innermost(argv)
    if not option.add or not program or os.path.basename(program[0]) in SCRIPTS:
        return None
    return (*argv, *((option.name, option.value) if option.style == "flag" else (f"++{option.name}={option.value}",)))


def _replaced(argv: tuple[str, ...], option: Option) -> tuple[str, ...]:
    """Replace every occurrence: programs differ in whether the first or the last one counts."""
    words, left = list[str](), iter(argv)
    for word in left:
        if not _is(word, option):
            words.append(word)
        elif option.style == "hydra" or "=" in word:
            words.append(f"{word.partition('=')[0]}={option.value}")
        else:
            words.append(word)
            if next(left, None) is not None:  # its value
                words.append(option.value)
    return tuple(words)


def _is(word: str, option: Option) -> bool:
    name = word.partition("=")[0]
    if option.style == "hydra":
        return "=" in word and re.sub(r"^\+{1,2}", "", name) == option.name
    return name.startswith("--") and name.replace("_", "-") == option.name.replace("_", "-")
