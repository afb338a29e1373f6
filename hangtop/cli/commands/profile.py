"""`hangtop profile`: what all ranks are in over a while, side by side, the odd ones first."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

import msgspec
from msgspec import Struct

from hangtop.cli.config import config_dir
from hangtop.common.text import some
from hangtop.diagnosis.members.rank_table import join_ranks
from hangtop.feeds.probe_feed import Feed
from hangtop.monitor.headless import processes_of
from hangtop.probe.stacks import pyspy
from hangtop.probe.stacks.sampling import sample
from hangtop.records.nodes import node_of
from hangtop.render.flame_svg import flame_svg
from hangtop.stacks.folded import Profile, odd_first, parse, speedscope
from hangtop.state.run_state import RunState
from hangtop.translations import say
from hangtop.tui.picture import FONTS
from hangtop.tui.themes import load_palettes

FRAMES = 3
LEAST_SHARE = 0.02
SAMPLE_PERCENT = 0.03
"""Of a core, for one sample a second of one process: 16 of them, 17 frames deep, took 0.63 % each at 20 samples a second."""


class ProfileOptions(Struct, frozen=True):
    """`output`: a file for speedscope (`.json`) or a flame graph (`.svg`)."""

    seconds: float
    rate: int
    output: Path | None
    theme: str


def run(feed: Feed, wanted: ProfileOptions, out: TextIO, notices: TextIO) -> int:
    """Sample, print and write. Exit codes: 0 some process was sampled, 2 wrong usage, 4 none."""
    palette = load_palettes(config_dir()).get(wanted.theme)
    if wanted.output is not None and wanted.output.suffix not in (".json", ".svg"):
        return _refuse(f"{wanted.output}: give FILE.json for speedscope, or FILE.svg for a flame graph", 2)
    if palette is None or palette.ansi:
        return _refuse(f"no theme {wanted.theme!r} for pictures", 2)
    if (tool := pyspy.find()) is None:
        return _refuse(f"py-spy not found: {sys.executable} -m pip install py-spy", 4)
    names = _names(asyncio.run(processes_of(feed)))
    if not names:
        return _refuse("no process of this run is known on this machine: give --pid, or run hangtop where it runs", 4)
    told = (
        f"samples {some(len(names), 'process')} {wanted.rate} times a second for {wanted.seconds:g} s, "
        f"at about {SAMPLE_PERCENT * wanted.rate:.1g} % of a core each; stops none of them"
    )
    notices.write(f"{say(told)}\n")
    notices.flush()
    sampled = sample(names, tool, wanted.seconds, wanted.rate)
    profiles = [parse(name, pid, sampled.texts.get(pid, "")) for pid, name in names.items()]
    seen = odd_first([profile for profile in profiles if profile.samples])
    _print(seen, {names[pid]: why for pid, why in sampled.problems.items()}, out)
    share = 100 * sampled.cpu_s / wanted.seconds
    took = f"py-spy took {share:.1f} % of a core, {share / len(names):.2f} % a process"
    notices.write(f"{say(took)}\n")
    if wanted.output is not None and seen:
        colours = {name: str(value) for name, value in msgspec.to_builtins(palette).items()}
        _write(wanted.output, seen, 1 / wanted.rate, colours)
    return 0 if seen else 4


def _names(state: RunState) -> dict[int, str]:
    """The processes of the run here by pid: its ranks, else its processes that are no launchers."""
    processes = () if state.procs is None else tuple(each for each in state.procs.processes if not node_of(each.pid))
    here = {process.pid for process in processes if not process.exited}
    ranks = {rank.pid: f"rank {rank.rank}" for rank in join_ranks(state) if rank.pid is not None and rank.pid in here}
    return ranks or {each.pid: f"pid {each.pid}" for each in processes if each.pid in here and each.role != "launcher"}


def _print(profiles: Sequence[Profile], problems: Mapping[str, str], out: TextIO) -> None:
    for profile in profiles:
        for nth, (frame, share) in enumerate(profile.innermost()[:FRAMES]):
            if nth == 0 or share >= LEAST_SHARE:
                out.write(f"{profile.name if nth == 0 else '':10} {share:5.0%}  {frame}\n")
    for name, why in problems.items():
        out.write(f"{name:10}     -  {say(why)}\n")


def _write(output: Path, profiles: Sequence[Profile], interval_s: float, colours: Mapping[str, str]) -> None:
    title = f"{some(len(profiles), 'process')}, the odd ones first"
    if output.suffix == ".svg":
        output.write_text(flame_svg(profiles, title, colours, FONTS))
    else:
        output.write_bytes(msgspec.json.encode(speedscope(profiles, interval_s, title)))


def _refuse(why: str, code: int) -> int:
    sys.stderr.write(f"hangtop profile: {say(why)}\n")
    return code
