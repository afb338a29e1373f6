"""A plan and its steps as rows, for dialogs and commands. Pure, and without Textual."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby

from hangtop.actions.plans.presets import Preset
from hangtop.common import text
from hangtop.common.clean_words import clean_words
from hangtop.records.nodes import pid_there
from hangtop.records.plan import EvidenceCommand, Fit, NodePart, Plan, RayStart, Removal, Start, Step, Target, Watch
from hangtop.render.spans import BLANK, Row, align
from hangtop.render.wrap import hanging
from hangtop.translations import say

ALIKE = frozenset({"data worker", "compiler"})
"""Roles with many processes: neighbours in the order of signals share a line that lists all pids."""
RANK_LIKE = frozenset({"rank", "ray worker"})
LABEL_CELLS = 9
STEPS = {
    "doing": ("·", "muted"),
    "done": ("✓", "ink"),
    "skipped": ("−", "warn"),
    "survived": ("✗", "bad bold"),
    "failed": ("✗", "bad bold"),
    "proof": ("✓", "ok bold"),
}
"""Sign and role of each kind of step."""


def rows(plan: Plan, width: int, odd: Collection[int] = ()) -> list[Row]:
    """The plan word for word, in lines of about `width` cells; the caller cuts longer ones. `odd`: ranks that stand out."""
    beware = list(_labelled("beware", list(plan.warnings), width, "warn"))
    long = len({target.wave for target in plan.targets}) > 1  # then nobody scrolls down to see what they should know
    parts: tuple[Iterable[Row], ...] = (
        _labelled("advised", [plan.advised], width, "warn") if plan.advised else (),
        beware if long else (),
        _evidence_rows(plan.evidence) if plan.evidence else (),
        (_how(plan), BLANK) if plan.everywhere else (),
        _target_rows(plan.targets, width, odd) if plan.targets else (),
        *(_node_rows(part, width, odd) for part in plan.elsewhere),
        _removal_rows(plan.removals) if plan.removals else (),
        _ray_rows(plan.ray, width),
        _start_rows(plan.start, width) if plan.start is not None else (),
        *(_far_start_rows(part.host, part.start, width) for part in plan.elsewhere if part.start is not None),
        _watch_rows(plan.watch) if plan.watch is not None else (),
    )
    found = [row for part in map(tuple, parts) if part for row in (*part, *((BLANK,) if part[-1] != BLANK else ()))]
    if plan.frees:
        found += _labelled("frees", [plan.frees], width, "ink")
    if plan.saving is not None:
        found += _labelled(
            "offers", [say("to save the weights first: Ctrl-S on the screen, --save DIR with the command")], width, "accent"
        )
    found += _labelled("leaves", [f"{say(spared.what)}: {say(spared.why)}" for spared in plan.spared], width, "ink")
    found += _labelled("then", list(_proof(plan)), width, "ink")
    return found if long else [*found, *beware]


def step_rows(steps: Iterable[Step], width: int) -> list[Row]:
    """The steps, one line each, the proof in its own colour."""
    found: list[Row] = []
    for step in steps:
        sign, role = STEPS[step.kind]
        found += hanging(((f"{text.clock(step.at)}  ", "muted"), (f"{sign} ", role)), say(step.text), width, role)
    return found


def _how(plan: Plan) -> Row:
    if plan.signal:
        return ((plan.signal.removeprefix("SIG"), "ink bold"), (say(", once. It ends nothing by itself."), "muted"))
    order = say("Children first, in the order shown." if len(plan.everywhere) > 1 else "")
    if len({target.wave for target in plan.targets}) > 1:
        order = say("Group by group: the next gets no signal before the one before is gone.")
    return (
        ("TERM", "ink bold"),
        (say(f", up to {plan.grace_s:.0f} s, then "), "muted"),
        ("KILL", "ink bold"),
        (f". {order}".rstrip(), "muted"),
    )


def _target_rows(targets: Sequence[Target], width: int, odd: Collection[int]) -> Iterator[Row]:
    users = max(4, *(len(target.user or "?") for target in targets))
    heads = (("pid", 9, True), ("started", 8, False), ("user", users, False), ("rank", 5, True), ("gpu", 4, True))
    yield (*_heads(heads), ("s  ", "muted"), (say("command"), "muted"))
    parts = _waves(targets)
    for number, (kinds, wave) in enumerate(parts, 1):
        if len(parts) > 1:
            yield ((f"{number}  {kinds}", "accent"),)
        for _, group in groupby(wave, key=_line):
            yield from _group_rows(tuple(group), users, width, odd)


def _node_rows(part: NodePart, width: int, odd: Collection[int]) -> Iterator[Row]:
    yield ((say(f"On {part.host}, at the same time"), "ink bold"), (f"  {part.known.launcher}", "muted"))
    if part.targets:
        yield from _target_rows(part.targets, width, odd)
    if part.removals:
        yield from _removal_rows(part.removals)


def _far_start_rows(host: str, start: Start, width: int) -> Iterator[Row]:
    yield ((say(f"Started on {host}"), "ink bold"), (say(", in a session of its own, with the environment that it had"), "muted"))
    yield from _command_rows(start, width, start.changed)
    yield from _labelled("in", [clean_words(start.cwd)], width, "muted")
    yield from _labelled("log", [clean_words(start.log)], width, "muted")


def _heads(titles: Iterable[tuple[str, int, bool]]) -> Row:
    """Column titles, each with its cells and whether it stands at the right."""
    return tuple(span for title, width, right in titles for span in (align(say(title), width, "muted", right=right), ("  ", "")))


def _line(target: Target) -> object:
    """What neighbours that share a line have in common."""
    return (target.role, target.state, target.user, target.command) if target.role in ALIKE else target.pid


def _group_rows(group: Sequence[Target], users: int, width: int, odd: Collection[int]) -> Iterator[Row]:
    first = group[0]
    ranks = text.rank_ranges(target.rank for target in group if target.rank is not None) or "–"
    gpus = text.rank_ranges(gpu for target in group for gpu in target.gpus) or "–"
    pid = str(pid_there(first.pid)) if len(group) == 1 else say(text.some(len(group), "pid"))
    state = "bad" if first.state in ("D", "Z") else "ink"
    named = "bad" if first.rank in odd and first.role in RANK_LIKE else "ink"
    yield (
        align(pid, 9, "ink", right=True),
        ("  ", ""),
        (f"{text.clock(first.started_at):<8}  ", "muted"),
        (f"{first.user or '?':<{users}}  ", "ink"),
        (f"{ranks:>5}  ", f"{named} bold" if named == "bad" else named),
        (f"{gpus:>4}  ", "ink"),
        (f"{first.state}  ", state),
        (_command(first.command, width - users - 42), named),
    )
    if len(group) > 1:
        yield from hanging(((" " * 11, ""),), text.rank_ranges(pid_there(target.pid) for target in group), width, "muted")


def _command(command: str, room: int) -> str:
    """A command that is too long loses the folder of its program."""
    program, blank, rest = command.partition(" ")
    return command if len(command) <= room else program.rpartition("/")[2] + blank + rest


def _removal_rows(removals: Sequence[Removal]) -> Iterator[Row]:
    total = sum(removal.allocated_bytes for removal in removals)
    yield (
        (say("Moved aside, looked at again, then deleted"), "ink bold"),
        (f": {say(text.some(len(removals), 'path'))}, {text.size(total)}", "muted"),
    )
    yield (*_heads((("size", 9, True), ("last used", 9, False), ("what", 14, False))), (say("path"), "muted"))
    for removal in removals:
        number = f"  ({say(text.some(removal.files, 'file'))})" if removal.folder else ""
        yield (
            (f"{text.size(removal.allocated_bytes):>9}  ", "ink"),
            (f"{text.clock(removal.newest_at):<9}  {removal.kind:<14}  ", "muted"),
            (removal.path, "ink"),
            (number, "muted"),
        )


def _start_rows(start: Start, width: int) -> Iterator[Row]:
    yield ((say("Started"), "ink bold"), (say(f": attempt {start.attempt}, in a session of its own"), "muted"))
    yield from _command_rows(start, width, start.changed)
    yield from _labelled("in", [clean_words(start.cwd)], width, "muted")
    yield from _labelled("log", [clean_words(start.log)], width, "muted")
    environ = say("hangtop's own" if start.environ_file is None else f"as it was, kept in {start.environ_file}")
    yield from _labelled("environ", [environ], width, "muted")


def _command_rows(start: Start | RayStart, width: int, changed: Sequence[str] = ()) -> Iterator[Row]:
    """What is set in the environment, what was changed of the command, and the command."""
    for name, value in sorted(start.set_env.items()):
        yield (("  ", ""), (clean_words(f"{name}={shlex.quote(value)}"), "accent"))
    yield from _labelled("changed", changed, width, "accent")
    for number, line in enumerate(text.wrap(clean_words(shlex.join(start.argv)), max(20, width - 4))):
        yield (("    " if number else "  ", ""), (line, "ink"))


def _proof(plan: Plan) -> Iterator[str]:
    if plan.signal:
        yield say("says of each whether it lives on")
    elif plan.everywhere:
        yield say("what they start meanwhile ends too where it is proven to be theirs; what only may be theirs is named")
        gpus = " and GPU memory" if any(target.gpus for target in plan.targets) else ""
        some = ", ".join(map(str, plan.ports))
        ports = f", that {text.plural(len(plan.ports), 'port')} {some} {text.are(len(plan.ports))} free," if some else ""
        yield say(f"reads the process table{gpus} again{ports} and names what is left and why")
    if plan.elsewhere or plan.unseen:
        yield say("asks each node again: one that does not answer is named, and nothing there is taken to be gone")
    if plan.removals or any(part.removals for part in plan.elsewhere):
        yield say("names what was left in place and why")
    if plan.ray:
        yield say("looks whether its port answers, the GCS is healthy, and nodes and resources are as before")


def _evidence_rows(commands: Sequence[EvidenceCommand]) -> Iterator[Row]:
    optional = not all(command.needed for command in commands)
    about = (
        ": evidence, while the run still hangs; what fails here holds nothing up" if optional else ": while the run still lives"
    )
    yield ((say("First"), "ink bold"), (say(about), "muted"))
    for command in commands:
        into = f" > {command.output}" if command.output else ""
        last = say("; if this fails, nothing is ended" if command.needed else "")
        yield (
            ("  ", ""),
            align(say(command.title), 9, "ink"),
            (f"hangtop {shlex.join(command.words)}{into}", "ink"),
            (say(f"  within {command.deadline_s:.0f} s"), "muted"),
            (last, "warn"),
        )


def _waves(targets: Sequence[Target]) -> list[tuple[str, tuple[Target, ...]]]:
    """(roles, targets) for each wave of signals."""
    found = [tuple(wave) for _, wave in groupby(targets, key=lambda target: target.wave)]
    roles = [dict.fromkeys("driver" if each.role.startswith("driver ") else each.role for each in wave) for wave in found]
    return [(", ".join(names), wave) for names, wave in zip(roles, found, strict=True)]


def _ray_rows(starts: Iterable[RayStart], width: int) -> Iterator[Row]:
    for start in starts:
        what = say("Ray is started" if start.head else "Ray joins")
        yield (
            (what, "ink bold"),
            (
                say(f": in {start.cwd}, within {start.deadline_s:.0f} s; environment as it was, kept in {start.environ_file}"),
                "muted",
            ),
        )
        yield from _command_rows(start, width)


def _watch_rows(watch: Watch) -> Iterator[Row]:
    where = f"stage {watch.title}" if watch.title else "its first stage"
    step = f" (it hung at step {watch.step})" if watch.step is not None else ""
    yield (
        (say("Watched"), "ink bold"),
        (say(f": until the new run has passed {where}{step}, for at most {text.duration(watch.deadline_s)}"), "muted"),
    )


def fit_rows(fit: Fit | None, width: int) -> list[Row]:
    """Whether the run would start: why not, or what will differ. `None`: still being checked."""
    if fit is None:
        return [((say("checking whether it can start …"), "muted"),), BLANK]
    found = list(_labelled("cannot", fit.problems, width, "bad bold"))
    found += _labelled("beware", fit.warnings, width, "warn")
    return [*found, BLANK] if found else []


def preset_rows(presets: Sequence[Preset], chosen: Collection[str], width: int, others: int = 0) -> list[Row]:
    """The presets: digit, title, effect. `chosen`: ids. `others`: how many more there are."""
    found: list[Row] = [BLANK] if presets else []
    column = max((text.cells(say(preset.title)) for preset in presets), default=0)
    for number, preset in enumerate(presets, 1):
        sign, role = ("✓", "accent bold") if preset.id in chosen else ("·", "ink")
        head: Row = ((f"{number} ", "accent bold"), (f"{sign} ", role), align(say(preset.title), column + 2, role))
        found += hanging(head, say(preset.does), width, "muted")
    return [*found, (("0 ", "accent bold"), (say(f"· {others} more"), "ink"))] if others else found


def _labelled(label: str, sentences: Sequence[str], width: int, role: str) -> Iterator[Row]:
    for number, sentence in enumerate(sentences):
        yield from hanging((align("" if number else say(label), LABEL_CELLS, "muted"),), say(sentence), width, role)
