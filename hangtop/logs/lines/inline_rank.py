"""The rank in the text of a step line: `rank 3 step 10 loss 2.1`, `{'step': 10, 'rank': 3}`, `[GPU3] Epoch 5 | …`.

Home-made training loops print their rank among the values. Only in a step line is it the writer's: other lines may be about
another rank ("waiting for rank 3"), and a word before it names another kind of rank ("tp rank 1", "LoRA rank 16").
"""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace

from hangtop.logs.lines.prefixes import MEMBERS, Prefix

_HINTS = ("ank", "ANK", "gpu", "GPU", "cuda:", "orker ", "roc")
"""Every line that names a rank in its text holds one of these."""

_STEP = re.compile(
    r"""(?ix)(?<![\w.-]) (?: global_step | steps? | iters? | iterations? | epoch | batch | update | (?:train_)?loss )
    ['"]? (?: \s{0,2} [:=|] \s{0,2} | \s ) \[? \d"""
)
_ALONE = r"(?:^|(?<=[^\w\s.-])\s{0,2}|(?<=\d)[\s,;|]{1,3}|=\S{1,80}\s)"
"""No word may stand before it, unless as the value of another name."""
_SPEAKERS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{_ALONE}(?:global[ _]?)?(?i:rank)['\"]?[ :=_#-]{{0,3}}(?P<rank>\d{{1,5}})(?:(?:/| of )(?P<world>\d{{1,5}}))?(?![\w.])",
        rf"{_ALONE}local[ _]?rank['\"]?[ :=_#-]{{0,3}}(?P<local_rank>\d{{1,3}})(?![\w.])",
        rf"{_ALONE}(?:GPU|gpu)[ :=_#-]{{0,2}}(?P<local_rank>\d{{1,2}})(?![\w.])",
        r"(?<!\w)cuda:(?P<local_rank>\d{1,2})(?!\d)",
        rf"^(?i:{'|'.join(MEMBERS)}) (?P<task>\d{{1,3}}) ",
    )
)


def speaker(prefix: Prefix, text: str) -> Prefix:
    """The prefix, with what the text of a step line says of its writer. A rank counts more than a process; a device or a number
    counts only if nothing else is known."""
    if prefix.rank is not None or not any(hint in text for hint in _HINTS) or _STEP.search(text) is None:
        return prefix
    nameless = prefix.pid is None and prefix.local_rank is None and prefix.task is None and prefix.actor is None
    for pattern in _SPEAKERS if nameless else _SPEAKERS[:1]:
        if found := pattern.search(text):
            told: dict[str, Any] = {name: int(value) for name, value in found.groupdict().items() if value is not None}
            return replace(prefix, **told)
    return prefix
