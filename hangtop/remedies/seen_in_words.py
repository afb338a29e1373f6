"""What the last lines of a log say in words, by the names of slots: who came, what an engine has in work, what is asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from hangtop.common.text import some
from hangtop.diagnosis.facts.last_words import said_over
from hangtop.diagnosis.facts.silence_limits import FINISH
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.logs.finding_order import is_after
from hangtop.records.log import Finding, LogLine

LAST_BYTES = 4096
"""What stands in so much of the end of a log is what it said last: a screenful, with the lines of other ranks between. In the
hung logs of the corpus marks behind which a run stands lie within 3,744 bytes of the end, those long passed 7,371 and more."""
MEMBER = re.compile(r"GLOBAL_RANK: (?P<rank>\d{1,6}), MEMBER: \d{1,6}/(?P<world>\d{1,6})")
_ENGINE = re.compile(
    r"generation throughput: (?P<rate>[\d.]{1,12}) tokens/s,.{0,80}? Running: (?P<running>\d{1,9}) reqs, "
    r"(?:Swapped: \d{1,9} reqs, )?(?:Waiting|Pending): (?P<waiting>\d{1,9}) reqs"
    r"|#running-req: (?P<running2>\d{1,9}),.{0,200}gen throughput \(token/s\): (?P<rate2>[\d.]{1,12}), "
    r"#queue-req: (?P<waiting2>\d{1,9})"
)
"""vLLM's report (vllm/v1/metrics/loggers.py, vllm/engine/metrics.py) and SGLang's (srt/managers/scheduler_metrics_mixin.py)."""
_ONE_ENGINE = re.compile(r"\bEngine (?P<engine>\d{1,4}): .{0,200}Running: (?P<running>\d{1,9}) reqs")
"""Of several engines of vLLM that share a model by its data (vllm/v1/metrics/loggers.py)."""
LEAST_ENGINE = 2
"""One report tells nothing of how its numbers move."""
_ASKED = re.compile(r"\b(?P<name>\w{0,40}(?:num_gpus_per_node|n_gpus_per_node))['\"]?\s?[=:]\s?(?P<number>\d{1,4})\b")
"""OpenRLHF prints its arguments (`ref_num_gpus_per_node=8`), verl its configuration (`'n_gpus_per_node': 8`)."""
_HOST = re.compile(
    r"(?i)resolve (?:(?:host(?:name)?|address|name)\b)?[:\s]*['\"]?(?P<host>[\w-][\w.-]{0,120})"
    r"|^\S{0,20}: (?P<host2>[\w.-]{2,120}): Name or service"
    r"|\blookup (?P<host3>[\w.-]{2,120})[: ]"
)
_OF_A_CLUSTER = re.compile(r"^[\w-]+$|\.(?:svc(?:\.cluster\.local)?|local|internal|lan|localdomain)$")
"""A name that only a cluster or a network of its own gives: any other may be a server of the internet."""
_MEETS_AT_LOOPBACK = re.compile(
    r"(?:\btcp://|MASTER_ADDR['\"]?[=: ]{1,3}['\"]?|rdzv_endpoint\s*: |--dist[_-]url[= ])"
    r"(?P<address>localhost|127\.\d[\d.]{1,12})"
)
_SEVERAL_NODES = re.compile(
    r"NODELIST=\S{0,200}[\[,]|\bm(?:in|ax)_nodes\s*: (?:[2-9]|\d\d)|\bn(?:nodes|um_nodes)['\"]?[=: ]{1,3}(?:[2-9]|\d\d)\b"
    r"|\bNNODES=(?:[2-9]|\d\d)"
)
_RANKS_LISTED = re.compile(r"\b(?P<name>\w{0,30}ranks)['\"]?\s?[=:]\s?\[(?P<ranks>\d{1,5}(?:, ?\d{1,5}){1,64})\]")
_WORLD = re.compile(r"\bworld_size['\"]?\s?[=:]\s?(?P<world>\d{1,6})\b")
_OPENS = re.compile(
    r"(?i)\b(?:open(?:ed|ing|s)?|read(?:ing|s)?|load(?:ed|ing|s)?)\b[^/\r\n]{0,60}(?P<path>/[^\s'\",;)]{2,300}\.\w{2,12})\b"
)
_BAR_AT_ZERO = re.compile(r"\b0%\|[^|\r\n]{0,300}\| 0/\d")
_STAGE_OF_ENGINE = re.compile(r"\bPP(\d{1,3}) TP\d{1,3}\b")
"""SGLang's schedulers, where a model is split into stages (srt/managers/scheduler.py, configure_logger)."""
SIGTERM = "proc.sigterm"
LOCK_WAIT = "fs.lock_wait"
UNRESOLVED = ("net.dns", "dist.dns")


def of_words(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Slots, and what stands for itself (`yes`). `behind mark.…`: that was said right before the run fell silent or broke."""
    tail = snapshot.state.tail
    yield from _came_alone(tail)
    yield from _engine(tail)
    yield from _idle_engine(tail)
    yield from _asked(tail)
    yield from ((f"behind {finding.id}", "yes") for finding in snapshot.findings if _right_before(snapshot, finding))
    yield from _unknown_name(snapshot.findings)
    yield from _loopback(tail)
    yield from _stages_of_engine(tail)
    yield from _rank_beyond(tail)
    if not snapshot.log.progress.step:
        yield from _read_again(tail)
    if _asked_to_stop(snapshot):
        yield "asked_to_stop", "yes"
    if said_over(snapshot):
        yield "end_said", "yes"
    yield from _exit_lock(snapshot)


def _loopback(lines: Iterable[LogLine]) -> Iterator[tuple[str, str]]:
    """The loopback address at which the ranks of several nodes are told to meet."""
    meeting = next((found["address"] for line in lines if (found := _MEETS_AT_LOOPBACK.search(line.text)) is not None), "")
    if meeting and any(_SEVERAL_NODES.search(f"{line.prefix}{line.text}") for line in lines):
        yield "loopback", meeting


def loop_begun_since(lines: Iterable[LogLine], finding: Finding) -> bool:
    """Whether the bar of a loop was drawn, at zero, after this was said last."""
    later = (line for line in lines if line.file == finding.file and line.offset > finding.last_offset)
    return any(_BAR_AT_ZERO.search(line.text) for line in later)


def _rank_beyond(lines: Iterable[LogLine]) -> Iterator[tuple[str, str]]:
    """A list of ranks, in the line that tells the size of the world, with a rank that this world does not have."""
    for line in lines:
        listed, world = _RANKS_LISTED.search(line.text), _WORLD.search(line.text)
        if listed is not None and world is not None and max(map(int, listed["ranks"].split(","))) >= int(world["world"]):
            yield from (("rank_beyond", f"{listed['name']}=[{listed['ranks']}]"), ("world_told", world["world"]))
            return


def _read_again(lines: Iterable[LogLine]) -> Iterator[tuple[str, str]]:
    """The file that was opened twice, by lines of one form and writer."""
    opened: set[tuple[str, str, int | None]] = set()
    for line in lines:
        for found in _OPENS.finditer(line.text):
            one = (found["path"], line.text[: found.start()], line.rank)
            if one in opened:
                yield "read_again", found["path"]
                return
            opened.add(one)


def _stages_of_engine(lines: Iterable[LogLine]) -> Iterator[tuple[str, str]]:
    """How many stages of a pipeline an engine's schedulers name themselves by."""
    stages = {found[1] for line in lines if (found := _STAGE_OF_ENGINE.search(f"{line.prefix}{line.text}")) is not None}
    if len(stages) > 1:
        yield "engine_stages", some(len(stages), "stage")


def _came_alone(lines: Iterable[LogLine]) -> Iterator[tuple[str, str]]:
    """Of how many ranks one has told that it joins the group, once, and no other has."""
    told = [(found["rank"], int(found["world"])) for line in lines for found in MEMBER.finditer(line.text)]
    if len(told) == 1 and told[0][1] > 1:
        yield "alone_of", f"{told[0][1]:,}"


def _engine(lines: Iterable[LogLine]) -> Iterator[tuple[str, str]]:
    """What the engine told of its requests: all are answered but the last, or they stand and no token comes."""
    told = [found for line in lines if (found := _ENGINE.search(line.text)) is not None]
    if len(told) < LEAST_ENGINE:
        return
    running = [int(each["running"] or each["running2"]) for each in told]
    rate, waiting = (float(told[-1][name] or told[-1][f"{name}2"]) for name in ("rate", "waiting"))
    if rate == 0 and running[-1]:
        yield "engine_stands", some(running[-1], "request")
    elif running[-1] <= 1 < max(running) and not waiting:
        yield "engine_drained", "yes"


def _idle_engine(lines: Iterable[LogLine]) -> Iterator[tuple[str, str]]:
    """The engine that had no request by its last report, while another had some."""
    last = {found["engine"]: int(found["running"]) for line in lines for found in _ONE_ENGINE.finditer(line.text)}
    idle = [engine for engine, running in sorted(last.items()) if not running]
    if idle and any(last.values()):
        yield "idle_engine", idle[0]


def _asked(lines: Iterable[LogLine]) -> Iterator[tuple[str, str]]:
    """The most GPUs on one node that the run's own settings ask for."""
    told = {found["name"]: int(found["number"]) for line in lines for found in _ASKED.finditer(line.text)}
    if told and (most := max(told, key=lambda name: told[name])) and told[most]:
        yield "asked_gpus", f"{some(told[most], 'GPU')} on a node ({most})"


def _exit_lock(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """The file whose lock is waited for since the run was over."""
    stage = snapshot.stage
    for finding in snapshot.findings:
        path = next((value for name, value in finding.groups.items() if name.startswith("path")), None)
        if finding.id == LOCK_WAIT and path and stage is not None and stage.id == FINISH and is_after(finding, stage):
            yield "exit_lock", path.rstrip(",")


def _asked_to_stop(snapshot: Snapshot) -> bool:
    """Whether the last thing of note is that somebody asked the run to stop (SIGTERM), and no error came before it."""
    log, told = snapshot.log, snapshot.findings
    asked = next((finding for finding in told if finding.id == SIGTERM and not finding.survived), None)
    if asked is None or asked.file >= len(log.files) or any(each.severity == "fatal" for each in told):
        return False
    return 0 <= log.files[asked.file].size_bytes - asked.last_offset < LAST_BYTES


def _right_before(snapshot: Snapshot, finding: Finding) -> bool:
    """Whether this hint is the last thing of note before the first fatal message, or else before the end of its file."""
    if finding.severity != "hint" or finding.survived or finding.file >= len(snapshot.log.files):
        return False
    fatal = (each.offset for each in snapshot.findings if each.severity == "fatal" and each.file == finding.file)
    end = min(fatal, default=snapshot.log.files[finding.file].size_bytes)
    return 0 <= end - finding.last_offset < LAST_BYTES


def _unknown_name(findings: Iterable[Finding]) -> Iterator[tuple[str, str]]:
    """The name that had no address, where only a cluster gives such a name."""
    for finding in findings:
        found = _HOST.search(finding.text) if finding.id in UNRESOLVED else None
        if found is not None:
            host = next(host for host in found.groups() if host).strip(".")
            if _OF_A_CLUSTER.search(host):
                yield "unknown_name", host
                return
