"""One thing to do, as data: in signatures under a message, in places under a cause. This file is its schema."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from hangtop.records.advice import AdviceWhere
from hangtop.records.log import Remedy


class Fix(Struct, frozen=True, forbid_unknown_fields=True):
    """`where`: where `set` goes, the text to run or to set, if there is one. `frameworks`: only for these (empty: all); `unless`:
    not for these. `preset`: the one of a restart that does it (`hangtop/actions/plans/presets.toml`). `source`: where it is not
    that of its cause or message. `text_zh`: the same in Chinese, where the file holds both."""

    text: str
    where: AdviceWhere = "shell"
    set: str = ""
    frameworks: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    preset: str = ""
    source: str = ""
    text_zh: str = ""

    def fits(self, frameworks: Collection[str] | None) -> bool:
        """Whether it is for a run of these; `None`: unknown, so that it may be."""
        return is_for(self.frameworks, self.unless, frameworks)

    def remedy(self) -> Remedy:
        """As it stands beside a finding."""
        return Remedy(self.text, self.where if self.set else "", self.set)


def is_for(only: Collection[str], unless: Collection[str], frameworks: Collection[str] | None) -> bool:
    """Whether what is `only` for some frameworks, and not for others, is for a run of these."""
    if frameworks is None:
        return True
    return (not only or not set(only).isdisjoint(frameworks)) and set(unless).isdisjoint(frameworks)
