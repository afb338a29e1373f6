"""`hangtop mcp`: a server of the Model Context Protocol on stdin and stdout, so that a coding agent can ask about a run.

Its tools only read. Each is a command of hangtop in a process of its own, since stdout belongs to the protocol, and what they say
is redacted as a bundle is: it leaves this machine.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from hangtop import __version__
from hangtop.cli.commands.log_lines import LinesError, lines
from hangtop.common.secrets.redactor import Redactor
from hangtop.feeds.probe_feed import ProbeFeed
from hangtop.probe.log.discover import STDIN
from hangtop.records.log import LineKind
from hangtop.records.watch_spec import WatchSpec, as_options, no_path
from hangtop.system.hangtop_answer import printed_by

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

NOT_INSTALLED = "mcp is not installed: pip install 'hangtop[mcp]'"
LIMIT_S = 120.0
MOST_BYTES = 100_000
"""Of an answer: more fills an agent's context and tells it less."""
MOST_LINES = 500
ABOUT = "Tells of a distributed training run whether it really hangs, in which stage, which rank stays behind and what to do."


def server(spec: WatchSpec) -> MCPServer[Any]:
    """The server. `spec`: its logs are the only ones that may be asked about; without any, all. Raises `click.UsageError`."""
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp.types import ToolAnnotations
    except ImportError as error:
        raise click.UsageError(NOT_INSTALLED) from error

    def watched(log: str) -> WatchSpec:
        """What to watch for a question about this log, or about the one that the server is for."""
        if (why := _why_not(spec, log)) is not None:
            raise ToolError(why)
        return msgspec.structs.replace(spec, logs=(log,) if log else spec.logs)

    async def said(*words: str) -> str:
        try:
            return await _said(words)
        except TimeoutError:
            raise ToolError(f"no answer within {LIMIT_S:.0f} s") from None
        except ValueError:  # of an argument that no command can be given
            raise ToolError("a NUL or half a character stands in the question") from None

    async def check(log: str = "") -> str:
        """One verdict on a training run as JSON: verdict (running, slow, stalled, hung, waiting, crashed, finished, blind),
        stage, culprit ranks with reasons, evidence, known error messages with cause and fixes, advice. `slow` is alive: leave it.
        log: path of its log file, a glob or a directory of rank logs."""
        return await said("check", *as_options(watched(log)), "--json")

    async def stacks(log: str = "", rank: int | None = None) -> str:
        """The Python stacks of all ranks of a run, alike ones together and odd ones first, without stopping the run.
        rank: only this one."""
        return await said("stacks", *as_options(watched(log)), *(() if rank is None else ("--rank", str(rank))))

    async def explain(query: str) -> str:
        """What an error message of a training run means, why it comes and how to fix it. query: the message, its id, or
        FRAMEWORK:STAGE such as gkd:weight_sync."""
        return await said("explain", "--", query)

    async def doctor() -> str:
        """Whether this machine is fit to start a run, as JSON: GPUs, driver, packages, disks, memory, limits, network."""
        return await said("doctor", "--json")

    async def logs(log: str = "", text: str = "", regex: bool = False, errors_only: bool = False, count: int = 100) -> str:
        """The last lines of a run's log, of each rank's log if there are several. text: only lines with this in them, in any
        case, or that match this Python regex. errors_only: only errors and warnings. count: how many lines, at most 500."""
        kinds: tuple[LineKind, ...] = ("error", "warning") if errors_only else ()
        only_log = msgspec.structs.replace(watched(log), sources=("log", "pages", "procs"))
        try:
            found = await lines(
                ProbeFeed(only_log), pattern=text or None, regex=regex, kinds=kinds, count=max(1, min(count, MOST_LINES))
            )
        except LinesError as error:
            raise ToolError(str(error)) from error
        return _redacted("\n".join(f"{line.prefix}{line.text}" for line in found) or "no such line")

    made: MCPServer[Any] = MCPServer("hangtop", version=__version__, instructions=ABOUT, log_level="ERROR")
    for tool in (check, stacks, explain, doctor, logs):
        made.add_tool(tool, annotations=ToolAnnotations(read_only_hint=True, destructive_hint=False))
    return made


def _why_not(spec: WatchSpec, log: str) -> str | None:
    """Why a server for `spec` does not answer a question about this log; `None` if it does."""
    if spec.logs and log and os.path.realpath(log) not in map(os.path.realpath, spec.logs):
        return f"this server is for {' '.join(spec.logs)} only"
    if not spec.logs and not log:
        return "which run? give the path of its log"
    if log == STDIN:
        return "- is the input of a command, which this server has not: give the path of a log"
    if log and (why := no_path(log)):
        return f"log {log!a}: {why}"
    return None


def run(spec: WatchSpec) -> int:
    """Serve until stdin ends."""
    server(spec).run("stdio")
    return 0


async def _said(words: Sequence[str]) -> str:
    """What a command of hangtop prints, its complaints too. Raises `TimeoutError`."""
    return _redacted((await printed_by(*words, limit_s=LIMIT_S, stderr=subprocess.STDOUT)).decode(errors="replace"))


def _redacted(text: str) -> str:
    """Without secrets, JSON as JSON, and not too long."""
    redactor = Redactor()
    try:
        told = msgspec.json.encode(redactor.tree(msgspec.json.decode(text))).decode()
    except msgspec.DecodeError:
        told = redactor.text(text)
    return told if len(told) <= MOST_BYTES else f"{told[:MOST_BYTES]}\n… {len(told) - MOST_BYTES:,} more characters"
