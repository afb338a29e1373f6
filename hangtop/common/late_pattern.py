"""A regex that is compiled when it is first used. Hundreds of them stand in modules that every start loads, and a start tries
few: compiled with their modules they were a tenth of what `hangtop check` costs."""

from __future__ import annotations

import re
from functools import cache, cached_property
from typing import Any, AnyStr, Generic, cast


class _LatePattern(Generic[AnyStr]):
    """Each method of the pattern is looked up once, then it stands among the object's own attributes: a use costs no more."""

    def __init__(self, text: AnyStr, flags: int) -> None:
        self._text: AnyStr = text
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[AnyStr]:
        return re.compile(self._text, self._flags)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._compiled, name)
        setattr(self, name, value)
        return value


def late_pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As `re.compile`, which the first use of any method does. It is used by its methods only: `pattern.sub(…)`, never
    `re.sub(pattern, …)`."""
    return cast("re.Pattern[AnyStr]", _LatePattern(text, flags))


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The regex of a data file, compiled at its first use: most of several hundred are never tried."""
    return re.compile(pattern)
