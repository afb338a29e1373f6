"""What an exception tells beyond its page, by the names of slots: where in whose code it was raised, which name, key, argument or
check it is about, and what the log says around it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from hangtop.diagnosis.facts.message_evidence import short
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.logs.extract.open_traceback import package_of
from hangtop.records.log import TRACEBACK, Finding, LogLine

_REMOVES = re.compile(
    r"(?i)\b(?:remov|delet|unlink|clean(?:ed|ing|s)? ?up|purg|evict|prun)\w{0,4}\b[^\r\n]{0,120}?(?P<path>/[^\s'\",;)]{2,300})"
)
_PATH = re.compile(r"(?P<path>/[^\s'\",;)]{2,400})")
_FUNCTION = re.compile(r" in (?P<name>[\w<>.]{1,80})$")
LONGEST = 120
CONDITION = 70
ILLEGAL = "cuda.illegal_access"
OF_NAMES = (TRACEBACK, "cfg.args", "env.module_missing")
"""Exceptions that are about a name: what the traceback around it tells is of them, too."""
_NAMED = re.compile(
    r"(?:\bmodule '(?P<module>\w{1,60})[\w.]{0,80}' )?has no attribute '(?P<attribute>[\w.]{1,80})'"
    r"|cannot import name '(?P<name>\w{1,80})'(?: from (?:partially initialized module )?'(?P<package>\w{1,60}))?"
    r"|unexpected keyword argument '(?P<argument>\w{1,80})'"
    r"|missing \d{1,3} required (?:positional|keyword-only) arguments?: '(?P<missing>\w{1,80})'"
)
_KEY = re.compile(r"^KeyError: (?P<key>.{1,80}?)\s*$")
_CHECK = re.compile(r"AssertionError: assert (?P<condition>.+)")
_TREE = re.compile(r"(?i)\bpy ?tree|\btree ?def\b|\btree structure|\bstructures? (?:do|does|did) not match")
REMOTE_CODE = "/transformers_modules/"
"""The code that came with a model (transformers dynamic_module_utils.py)."""
_OF_CHECKPOINT = re.compile(r"(?i)checkpoint|ckpt|state_dict|\bin (?:load|resume|restore)")
_OF_INDEX = re.compile(r"(?i)indexed_dataset|\bdocument_indices|sequence_pointers")
_OF_ZERO3 = re.compile(r"/deepspeed/runtime/zero/(?:partition|parameter_offload|stage3)")
_IN_LAYOUT = "/megatron/core/dist_checkpointing/"
_OF_LAYOUT = re.compile(r"(?i)not supported|unsupported|flattened_range|sharding")
_OF_ENGINE = re.compile(r"/(?:vllm|sglang)/")
_NO_ROOM = re.compile(
    r"(?i)\bmax_?(?:new_?)?tokens\b[^\r\n]{0,60}\b(?:at least 1|positive|greater than 0|>= ?1)\b.{0,20}?(?:got|:) ?(?:0|-\d+)\b"
)
_NO_ELEMENTS = re.compile(
    r"(?i)\btensor of 0 elements|\b(?:size|shape|dimension)s? \[?\(?0,|\bgot (?:an )?empty (?:tensor|input)|with no elements"
)
_TWO_PATHS = re.compile(r"^OSError: \[Errno (?P<errno>95|38|45|524)\] .{0,80}?: '[^']{1,300}' -> '(?P<path>[^']{1,300})'")
"""EOPNOTSUPP, ENOSYS, ENOTSUP and Linux's own ENOTSUPP, of a call that takes two paths: a link or another name (os.symlink)."""
_BYTES = re.compile(r"^(?:_pickle\.|pickle\.)?(?:UnpicklingError|EOFError|UnicodeDecodeError)\b")
CLEAN_UP = frozenset(
    {"__del__", "__exit__", "shutdown", "close", "cleanup", "_cleanup", "destroy", "stop", "terminate", "finish", "teardown"}
)


def of_exception(snapshot: Snapshot, finding: Finding) -> Iterator[tuple[str, str]]:
    """Slots of a message: what it names, and what only holds for it (`why time limit`)."""
    told = finding.groups
    yield from ((f"its_{name}", value) for name, value in told.items())
    if "why" in told:
        yield f"why {told['why'].lower()}", "yes"
    if finding.id == ILLEGAL and _OF_ENGINE.search(_traceback(snapshot, finding).get("frame", "")):
        yield "of_engine", "yes"
    if finding.id in OF_NAMES:
        yield from _of_traceback(_traceback(snapshot, finding), finding.text)
    if finding.id != TRACEBACK:
        return
    progress = snapshot.log.progress
    done = progress.step is not None and progress.total is not None and progress.step >= progress.total > 1
    function = _FUNCTION.search(told.get("own") or told.get("frame") or "")
    if done and not progress.partial and function is not None and finding.attempt == snapshot.log.attempt:
        yield from (("steps_done", f"{progress.step:,}"), ("failed_in", function["name"]))
    missed = _PATH.search(finding.text)
    if missed is not None and told.get("kind") == "kind.no_file":
        before = (line for line in reversed(snapshot.state.tail) if line.file != finding.file or line.offset < finding.offset)
        yield from _removed(before, missed["path"])


def _traceback(snapshot: Snapshot, finding: Finding) -> dict[str, str]:
    """The places that its traceback tells; none where that is of another exception."""
    if finding.id == TRACEBACK:
        return finding.groups
    told = (each for each in snapshot.findings if each.id == TRACEBACK and each.attempt == finding.attempt)
    return next((each.groups for each in told if finding.text and each.text[:60] in finding.text), {})


def _of_traceback(groups: dict[str, str], text: str) -> Iterator[tuple[str, str]]:
    frame, own = groups.get("frame", ""), groups.get("own", "")
    library = package_of(frame)
    place = own or frame
    if place:
        yield "raised", _short_place(place)
        yield "innermost", _short_place(frame or place)
    named = _NAMED.search(text)
    if REMOTE_CODE in frame:
        yield "remote_code", _short_place(frame)
    elif library:
        yield "raised_inside", _short_place(frame)
        if named is None or not (named["package"] or named["module"]):
            yield "library", library
            yield from [("caller", groups["caller"])] if groups.get("caller") else []
    elif frame:
        yield "own_code", _short_place(frame)
    if named is not None:
        yield from _of_name(named, library)
    if (key := _KEY.match(text)) is not None:
        yield "missing_key", key["key"]
        yield from [("of_checkpoint", "yes")] if _OF_CHECKPOINT.search(frame) else []
    if (check := _CHECK.match(text)) is not None:
        yield "condition", short(check["condition"], CONDITION)
        yield from [("of_index", "yes")] if _OF_INDEX.search(f"{frame} {text}") else []
    if _TREE.search(text):
        yield "trees", "yes"
    yield from _of_fault(frame, text)
    if library and (outer := groups.get("outer", "")):
        yield from (("inside", library), ("called_from", _two_parts(outer)))
    function = _FUNCTION.search(frame)
    if function is not None and function["name"] in CLEAN_UP:
        yield "at_clean_up", _short_place(frame)


def _of_fault(frame: str, text: str) -> Iterator[tuple[str, str]]:
    """What the words of an exception, or the file that raised it, tell of its cause."""
    said = (
        ("of_zero3", _OF_ZERO3.search(frame) is not None),
        ("of_layout", _IN_LAYOUT in frame and _OF_LAYOUT.search(text) is not None),
        ("no_room", _NO_ROOM.search(text) is not None),
        ("no_elements", _NO_ELEMENTS.search(text) is not None),
        ("broken_bytes", _BYTES.match(text) is not None),
    )
    yield from ((name, "yes") for name, is_so in said if is_so)
    if (linked := _TWO_PATHS.match(text)) is not None:
        yield "linked", linked["path"]


def _of_name(named: re.Match[str], library: str) -> Iterator[tuple[str, str]]:
    """A name that is looked for in a package, which the innermost frame's asks; an argument that the called one does not know."""
    if argument := named["argument"] or named["missing"]:
        yield "odd_argument", argument
        return
    yield "odd_name", named["attribute"] or named["name"]
    if package := named["package"] or named["module"]:
        yield "library", package
        yield from [("caller", library)] if library and library != package else []


def _short_place(frame: str) -> str:
    """`train.py:60 in step`, without folders."""
    return frame.replace("\\", "/").rpartition("/")[2]


def _two_parts(frame: str) -> str:
    """`lmcache/cache.py:60 in free`: a file of a library is told by its folder, too."""
    return "/".join(frame.replace("\\", "/").split("/")[-2:])


def _removed(lines: Iterable[LogLine], path: str) -> Iterator[tuple[str, str]]:
    """The first of these lines that says that this path, or a folder around it, is removed."""
    for line in lines:
        found = _REMOVES.search(line.text)
        if found is not None and f"{path}/".startswith(f"{found['path'].rstrip('/')}/"):
            yield "removed", short(line.text, LONGEST)
            return
