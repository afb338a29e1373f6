"""Whether a known message is the run's own, and whether the run handles it.

A quoted text, or a value in a dump of settings, is no message. An error is handled if its own line, or the line above its
traceback, says that it is skipped or retried.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from hangtop.common.late_pattern import late_pattern

if TYPE_CHECKING:
    from hangtop.logs.lines.block_lines import Lines, Span

# `> …` and `# …` quote whatever follows, and `E   …` is how pytest tells what failed. `| …` quotes too, unless it is the frame
# that Python draws around an exception group.
_QUOTE = late_pattern(r"[>#]|E {2,}|\s{0,12}\| ")
_QUOTED = late_pattern(r"\s*(?:[0-9\[(T]|[A-Za-z_][\w.]*(?:Error|Exception):)")
_GROUP = "Exception Group Traceback"
_GROUP_LINES = 60

_DATA = late_pattern(
    r"""\s*(?:[-*]\s+)?(?:
        [\[{(]\s*(?:['"\[{(] | [\w.-]{1,60}\s?[:=]\s?['"\[{(] | $)  # {'a': …  ["…  {a: {…
        | ['"][\w./@ -]{1,80}['"]\s?:                                # "key": …
        | [a-z_][\w./-]{0,80}\s?[:=]\s?['"\[{(]                      # key: "…"  key='…'
        | ['"](?=[^\r\n]*[,\]}]\s*$)                                # 'an item',
        | (?<=-\s)['"]                                               # - "an item"
        | [A-Z]\w{0,60}\([a-z_]\w{0,60}=                             # Config(key=…
    )""",
    re.VERBOSE,
)
"""How a line begins that holds data: a mapping or a list, `key: "…"`, `key='…'`, `Config(key=…`, an item of a list."""
_OPENS = late_pattern(r"""(?:^\s*(?:[-*]\s+)?|[\[{(,:=]\s{0,4})(?P<quote>['"])""")
_KEY = late_pattern(r"""(?P<key>[\w.-]+)['"]?\s?[:=]\s?[\[({]{0,2}\s?$""")
_SPEAKS = late_pattern(
    r"(?i)^(?:error|err|log|event|details?|body|cause|fail\w*|raised|crash\w*|died|status|result|output|got|returned)$"
    r"|(?:message|msg|exc_info|exc_text|exception|traceback|stderr|reason)$"
)
"""Keys whose value is the message of a logger."""
_STRUCTURED = late_pattern(
    r"""(?i)\b(?:(?:level|levelname|lvl|severity)["']?\s?[:=]\s?["']?(?:trace|debug|info|notice|warn|err|crit|fatal|\d)"""
    r"""|(?:time|timestamp|@timestamp|ts|asctime)["']?\s?[:=]\s?["']?\d)"""
)
"""A structured log entry tells its level or its time."""
_ITEM = late_pattern(r"\s{0,16}- ")
_HEAD = late_pattern(r"\s*[a-z_][\w.-]*:\s*$")
_ITEM_LINES = 20

_HEADING = late_pattern(
    r"\s{0,8}(?:[-=*#~_+]{3,}\s*\w|<[a-z][\w-]{0,40}>\s*$|\[(?:BEGIN|begin|START|start)\b|(?:[^\W\d]|[\[(#])[^\r\n]{0,80}:\s*$)"
)
"""A line under which a text stands: ruled, a tag, or one that ends with a colon."""
_MAY_HEAD = late_pattern(rb"[-=*#~_+]{3}|\[(?:BEGIN|begin|START|start)|[:>\"'}](?:\s|\x1b\[[\d;]*m)*$")
"""What of a raw line, with its prefix and in its envelope, such a text may have: it costs 1 µs to look, 15 to parse."""
_HEADING_ABOVE = 40

_HANDLED = late_pattern(
    r"(?i)\b(?:skipp(?:ing|ed)|ignor(?:ing|ed)|retrying|(?:will|to) (?:be )?retr(?:y|ied)|falling back|continuing"
    r"|error in atexit\._run_exitfuncs"  # the interpreter tells of it, and leaves with the code that it has (atexit)
    r"|suppress(?:ing|ed)|non-fatal|recovered from|(?:safe(?:ly)?|can) (?:to )?(?:be )?ignored?)\b"
)
_ANSWERED = late_pattern(r"^(?![\w.]*(?:Error|Exception): )[^\r\n]{1,200}\bError code: 4\d\d - \{")
"""What a client logs of a request that its server refused (openai.APIStatusError): the words before it are of who caught it."""
_ADVICE = late_pattern(
    r"(?i)\s{0,16}(?:(?:possible |probable )?(?:causes?|reasons?|solutions?|fix(?:es)?)|suggestions?|hints?|tips?|note)\s?[:：]"
)
_TRIED = late_pattern(r"(?i)traceback|attempt|retr(?:y|ies)|restart|resum|launch|start(?:ing|ed) ")
_NUMBERS = late_pattern(r"\d+")
_TELLS_ERROR = late_pattern(r"(?i)fail|error|exception|could ?n[o']t|cannot|can't|unable|timed? ?out|crash|caught|reject")


def is_quoted(text: str, start: int, lines: Lines, span: Span) -> bool:
    """Whether the message that begins at character `start` of a line's text is quoted, or a value in a dump of settings."""
    return _is_quoted(text, lines, span) or _is_value(text, start) or _is_item(text, start, lines, span)


def heading_above(lines: Lines, span: Span, since: int) -> str:
    """The form of the heading under which a line stands, without its numbers; "" where there is none from byte `since` of the
    file, and where the heading itself tells of an error or a new try: what follows it is no text of somebody else."""
    for kept, row in islice(lines.rows_above(span), _HEADING_ABOVE):
        if kept.block.at(row.start) < since:
            break
        if _MAY_HEAD.search(kept.raw(row)) and _HEADING.match((above := kept.parse(row)).text):
            told = _TELLS_ERROR.search(above.text) or _TRIED.search(above.text)
            return "" if told else _NUMBERS.sub("#", above.text).strip()
    return ""


def is_handled(text: str) -> bool:
    """Whether a line says that the run goes on in spite of its error."""
    return _HANDLED.search(text) is not None or _ANSWERED.match(text) is not None


def gives_advice(text: str) -> bool:
    """Whether a line of a longer message only says what may be the reason, or what to do: no fault, and nobody waits."""
    return _ADVICE.match(text) is not None


def announces_handled(text: str) -> bool:
    """Whether a line says that the run goes on in spite of the traceback below. A warning about an ignored argument does not."""
    return is_handled(text) and _TELLS_ERROR.search(text) is not None and "Warning:" not in text


def _is_quoted(text: str, lines: Lines, span: Span) -> bool:
    """A log that is quoted inside the log, or a comment: `> torch.OutOfMemoryError: …`, `| Traceback …`, `# Killed`."""
    found = _QUOTE.match(text)
    if found is None:
        return False
    if found[0] == "#":
        return text[1:2] == " "
    if found[0][0] in ">E":
        return True
    return (found[0] == "| " and _QUOTED.match(text, 2) is not None) or not _in_group(lines, span)


def _in_group(lines: Lines, span: Span) -> bool:
    for line in islice(lines.above(span), _GROUP_LINES):
        if _GROUP in line.text:
            return True
        if "|" not in line.text and "+-" not in line.text:
            break
    return False


def _is_value(text: str, start: int) -> bool:
    """Whether a message stands inside a quoted value of a line of data, and that line is no structured log entry."""
    if _DATA.match(text) is None or _STRUCTURED.search(text):
        return False
    position = 0
    while (opened := _OPENS.search(text, position)) is not None and opened.end() <= start:
        closed = text.find(opened["quote"], opened.end())
        if closed < 0 or closed >= start:
            key = _KEY.search(text, 0, opened.start("quote"))
            return key is None or _SPEAKS.search(key["key"]) is None
        position = closed + 1
    return False


def _is_item(text: str, start: int, lines: Lines, span: Span) -> bool:
    """`- Killed`, in a list whose head is a bare key (`on_words:`)."""
    item = _ITEM.match(text)
    if item is None or text[item.end() : start].strip("'\" "):
        return False
    head = next((line.text for line in islice(lines.above(span), _ITEM_LINES) if not _ITEM.match(line.text)), "")
    return _HEAD.match(head) is not None
