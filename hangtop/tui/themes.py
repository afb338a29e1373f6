"""Colour themes: TOML files of roles, turned into Textual themes and into the styles that rows are painted with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

import msgspec
from rich.color import Color, ColorParseError
from rich.style import Style
from textual.theme import BUILTIN_THEMES, Theme

from hangtop.common.decode_toml import decode_toml
from hangtop.common.own_files import own_files

DEFAULT_THEME = "dark"
ATTRIBUTES = ("bold", "dim", "reverse", "italic", "underline")


class ThemeError(ValueError):
    """A theme that cannot be used; the message names the file and what to mend."""


class Palette(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One theme file. The colour of a role is `#rrggbb`, another role's name, or, in a theme with `ansi = true`, a name of the
    terminal's 16 colours or `default`.

    A new role is a field here whose default is another role: themes that do not know it, a person's own among them, still load.
    `dim` lists the roles that are painted dim besides, so that the hierarchy survives without colour.
    """

    name: str
    ink: str
    muted: str
    stale: str
    faint: str
    trend: str
    data: str
    accent: str
    ok: str
    warn: str
    bad: str
    background: str = "default"
    surface: str = "default"
    panel: str = "default"
    dark: bool = True
    ansi: bool = False
    dim: tuple[str, ...] = ()

    def colour(self, role: str) -> str:
        """The colour of a role, whatever roles it names in between; roles that name each other have none."""
        value = role
        for _ in ROLES:
            value = getattr(self, value) if value in ROLES else value
        return value

    def style(self, role: str) -> Style:
        """The style of a role with its attributes, such as `bad bold reverse`."""
        return _style(self, role)

    def theme(self) -> Theme:
        """The same as a Textual theme, for what Textual paints itself: backgrounds and the input line."""
        ansi = "ansi_default"
        variables = dict(BUILTIN_THEMES["ansi-dark" if self.dark else "ansi-light"].variables) if self.ansi else {}
        variables |= {
            "tint-bad": ansi if self.ansi else _blend(self.colour("bad"), self.colour("background"), 0.09),
            "tint-warn": ansi if self.ansi else _blend(self.colour("warn"), self.colour("background"), 0.08),
            "input-cursor-text-style": "reverse",
        }
        if not self.ansi:
            variables |= {"input-cursor-background": self.colour("ink"), "input-cursor-foreground": self.colour("background")}
        css = {role: colour if (colour := self.colour(role)).startswith("#") else f"ansi_{colour}" for role in ROLES}
        return Theme(
            name=self.name,
            primary=css["accent"],
            accent=css["accent"],
            warning=css["warn"],
            error=css["bad"],
            success=css["ok"],
            foreground=css["ink"],
            background=css["background"],
            surface=css["surface"],
            panel=css["panel"],
            boost=css["surface"],
            dark=self.dark,
            ansi=self.ansi,
            variables=variables,
        )


ROLES = tuple(name for name, kind in Palette.__annotations__.items() if kind == "str" and name != "name")


@lru_cache(maxsize=1024)
def _style(palette: Palette, role: str) -> Style:
    words = role.split()
    attributes = {word for word in words if word in ATTRIBUTES}
    names = [word for word in words if word not in ATTRIBUTES]
    colour = palette.colour(names[0] if names else "ink")
    dim = "dim" in attributes or bool(names and names[0] in palette.dim)
    return Style(
        color=None if colour == "default" else Color.parse(colour),
        bold="bold" in attributes or None,
        dim=dim or None,
        reverse="reverse" in attributes or None,
        italic="italic" in attributes or None,
        underline="underline" in attributes or None,
    )


def _blend(colour: str, background: str, part: float) -> str:
    pairs = ((int(colour[i : i + 2], 16), int(background[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(c * part + b * (1 - part)):02x}" for c, b in pairs)


def theme_folder() -> Path:
    """Where the shipped themes are: inside the wheel, or beside the package in a checkout."""
    shipped = Path(__file__).parent.parent / "_themes"
    return shipped if shipped.is_dir() else Path(__file__).parent.parent.parent / "themes"


def load_palette(path: Path) -> Palette:
    """Raises `ThemeError` for a file that cannot be read or is no theme."""
    try:
        palette = decode_toml(path.read_bytes(), Palette)
        for role in ROLES:
            palette.style(role)
        palette.theme()
    except OSError as error:
        raise ThemeError(f"cannot read theme {path}: {error.strerror}") from error
    except (ValueError, ColorParseError) as error:
        raise ThemeError(f"theme {path}: {error}") from error
    return palette


def load_palettes(config_dir: str | Path | None = None, broken: Callable[[str], None] = lambda _: None) -> dict[str, Palette]:
    """All shipped themes and a person's own ones in `config_dir`, by name; an own one wins. One that cannot be used is told to
    `broken` in one line, and the others load. Raises `ThemeError` for a shipped one."""
    found = {palette.name: palette for palette in map(load_palette, sorted(theme_folder().glob("*.toml")))}
    for path in own_files(Path(config_dir, "themes"), ".toml") if config_dir else ():
        try:
            palette = load_palette(path)
        except ThemeError as error:
            broken(str(error))
        else:
            found[palette.name] = palette
    if DEFAULT_THEME not in found:
        raise ThemeError(f"no theme named {DEFAULT_THEME!r} in {theme_folder()}: reinstall hangtop")
    return found


def pick_palette(palettes: dict[str, Palette], name: str | None, *, no_color: bool, broken: Sequence[str] = ()) -> Palette:
    """The theme of this name, or `ThemeError`, which also names those that are `broken`.

    Without colour only an ansi theme keeps its hierarchy, by dimming."""
    if name is not None and name not in palettes:
        raise ThemeError("; ".join((f"no theme named {name!r}; there are: {', '.join(sorted(palettes))}", *broken)))
    palette = palettes[name or DEFAULT_THEME]
    if no_color and not palette.ansi:
        return next((p for p in palettes.values() if p.ansi), palette)
    return palette
