"""Why and do: two lines under a verdict, and all of it on its page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from hangtop.common import text
from hangtop.records.advice import Advice, Told, causes_of
from hangtop.remedies.harmless import harmless
from hangtop.render.spans import BLANK, Row, align, between, cut, width_of
from hangtop.render.wrap import LABEL_CELLS, section, wrapped
from hangtop.translations import say, say_comment, say_paste

if TYPE_CHECKING:
    from hangtop.remedies.catalogue import Places
    from hangtop.remedies.place import Place

WIDE = 90
NAME_CELLS = 9
"""Cells of `why`, `do` and `next`: as wide as the source of a piece of evidence."""
_INDENT = " " * (LABEL_CELLS + 4)


def brief_rows(advice: Sequence[Advice], width: int) -> list[Row]:
    """The likeliest cause, and the first thing to do about it; none without advice."""
    if not advice:
        return []
    first, count, wide = advice[0], len(causes_of(advice)), width >= WIDE
    many: Row = ((say(f"1 of {count}{' causes' if wide else ''} "), "muted"),) if count > 1 else BLANK
    why: Row = (("    ", ""), align(say("why"), NAME_CELLS, "muted"), (say(first.cause), "ink"))
    more: Row = (("Enter ", "accent bold"), *(((say("all of it "), "muted"),) if wide else ()))
    head: Row = (("    ", ""), align(say("do"), NAME_CELLS, "muted"))
    do = (*head, *_remedy(first, width - width_of(head) - width_of(more) - 1))
    return [between(why, many, width), between(do, more, width)]


def _remedy(advice: Advice, room: int) -> Row:
    """What to do, and the command or setting, which stands out: before the words where there is no room for both."""
    said = say(advice.words)
    if not advice.paste:
        return ((said, "ink"), *_with_preset(advice))
    paste = say_paste(advice.paste, advice.where)
    row: Row = ((f"{said}: ", "ink"), (paste, "accent bold"))
    if width_of(row) > room >= text.cells(paste):
        return ((paste, "accent bold"), (f"   {said[:1].lower()}{said[1:]}", "muted"))
    return (*row, *_with_preset(advice))


def _with_preset(advice: Advice) -> Row:
    """The key that takes it over into the plan of a restart."""
    return ((say(" · or "), "muted"), ("r ", "accent bold"), (say("offers it"), "muted")) if is_offered(advice) else ()


def is_offered(advice: Advice) -> bool:
    """Whether the plan of a restart offers it for certain: some presets fit only commands that give the option already."""
    from hangtop.actions.plans.presets import presets  # the first paint of a healthy run does without it

    return bool(advice.preset) and any(preset.id == advice.preset and not preset.only_where_given for preset in presets())


Asked = tuple[str, str, str]
"""A place, one cause there, and the command that tells it."""


class Choice(NamedTuple):
    """A text on the page that can be chosen and copied: a command that tells the cause of this advice, or its remedy."""

    advice: Advice
    text: str

    @property
    def tells(self) -> bool:
        """Whether it is a command that tells causes apart."""
        return self.text in self.advice.tell_apart

    @property
    def cause(self) -> tuple[str, str]:
        """Its place and its cause there."""
        return self.advice.place, self.advice.cause

    @property
    def asked(self) -> Asked:
        """The question that it asks, where it tells."""
        return *self.cause, self.text


def choices(advice: Sequence[Advice]) -> list[Choice]:
    """In the order of the page."""
    found: list[Choice] = []
    for dos in causes_of(advice).values():
        found += [Choice(dos[0], asked) for asked in dos[0].tell_apart]
        found += [Choice(each, each.paste) for each in dos if each.paste]
    return found


class Telling(NamedTuple):
    """What the commands that tell causes apart printed: `None` while one runs. `key`: what runs that of the chosen
    cause; empty where none can be run, as in a replay."""

    told: Mapping[Asked, Told | None] = MappingProxyType({})
    key: str = ""


def advice_rows(
    advice: Sequence[Advice],
    places: Places,
    width: int,
    chosen: Choice | None = None,
    *,
    copied: bool = False,
    telling: Telling | None = None,
) -> list[Row]:
    """All causes under a head line, what tells each from the others, and what to do; of each place what makes it worse. `chosen`:
    what `y` copies. None without advice."""
    rows: list[Row] = []
    for count, ((place, cause), dos) in enumerate(causes_of(advice).items(), 1):
        rows += [BLANK] if rows else [section(say("Why and do"), width)]
        rows += wrapped(say(cause), width, label=say(f"why {count}"))
        rows += wrapped(say(dos[0].why), width, label="seen", role="muted")
        for asked in dos[0].tell_apart:
            rows += _tell_rows(Choice(dos[0], asked), width, chosen, telling or Telling(), copied=copied)
        for number, each in enumerate(dos, 1):
            is_it = chosen == Choice(each, each.paste)
            rows += _do_rows(each, number, width, chosen=is_it, copied=copied and is_it)
        known = (dos[0].source, f"hangtop explain {place}" if place else "")
        rows += wrapped(" · ".join(filter(None, known)), width, label="known", role="muted")
    for place_id in dict.fromkeys(each.place for each in advice):
        rows += _beside_rows(places[place_id], width) if place_id in places else []
    return rows


def _tell_rows(asked: Choice, width: int, chosen: Choice | None, telling: Telling, *, copied: bool) -> list[Row]:
    """The command, for the chosen cause what its key does, and what it printed."""
    is_it = chosen == asked
    (first, *more) = wrapped(say_comment(asked.text), width, label="tell", role="accent bold" if is_it else "data")
    rows = [(*first[:-1], ("▸ " if is_it else "", "accent bold"), first[-1]), *more]
    if is_it and copied:
        rows.append(_copied())
    if asked.asked in telling.told:
        return rows + _told_rows(telling.told[asked.asked], width)
    if chosen is None or chosen.cause != asked.cause or not telling.key:
        return rows
    why = harmless(asked.text)
    if isinstance(why, str):
        said: Row = ((say("copy it: "), "muted"), ("y ", "accent bold"), (say(f"(not run from here: {why})"), "muted"))
    else:
        said = ((f"{telling.key} ", "accent bold"), (say("runs it: it only reads"), "muted"))
    return [*rows, cut(((_INDENT, ""), *said), width)]


def _copied() -> Row:
    return ((_INDENT, ""), (say("  ✓ sent to the clipboard of your terminal"), "ok"))


def _told_rows(told: Told | None, width: int) -> list[Row]:
    if told is None:
        return [((_INDENT, ""), (say("at work …"), "warn"))]
    rows = [cut(((_INDENT, ""), ("│ ", "faint"), (line, "ink")), width) for line in told.lines]
    if told.more:
        rows.append(((_INDENT, ""), ("│ … ", "muted"), (say(f"{text.some(told.more, 'line')} more"), "muted")))
    ended = told.problem or (f"exit code {told.code}" if told.code else "" if told.lines else "it printed nothing")
    role = "warn" if told.problem else "muted"
    said = f"{ended}{', ' if ended else ''}after {told.took_s:.1f} s"
    return [*rows, cut(((_INDENT, ""), (say(said), role)), width)]


def _beside_rows(place: Place, width: int) -> list[Row]:
    """What makes it worse there, and what the usual advice gets wrong."""
    rows: list[Row] = []
    for number, worse in enumerate(place.worse):
        rows += wrapped(say(worse), width, label="worse" if not number else "", role="warn")
    if place.folklore:
        rows += wrapped(say(place.folklore), width, label="note", role="muted")
    return [BLANK, *rows] if rows else []


def _do_rows(advice: Advice, number: int, width: int, *, chosen: bool, copied: bool) -> list[Row]:
    said = say(advice.words)
    offered = say(" (the restart offers it)" if is_offered(advice) else "")
    rows = wrapped(f"{number}. {said}{offered}", width, label="do" if number == 1 else "")
    if not advice.paste:
        return rows
    for line, shown in enumerate(text.wrap(say_paste(advice.paste, advice.where), max(20, width - LABEL_CELLS - 22))):
        sign = ("▸ ", "accent bold") if chosen and not line else ("  ", "")
        where = align("" if line else say(advice.where), 14, "muted")
        rows.append(((_INDENT, ""), sign, where, (shown, "accent bold" if chosen else "data")))
    if copied:
        rows.append(_copied())
    return rows
