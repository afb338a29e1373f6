"""Themes: files of roles, readable on their ground, and clear about what is wrong with a broken one."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.color import Color

from hangtop.tui.themes import ThemeError, load_palette, load_palettes, pick_palette, theme_folder

PALETTES = load_palettes()


def luminance(colour: str) -> float:
    """Relative luminance, WCAG 2.1."""
    channels = [c / 255 for c in Color.parse(colour).get_truecolor()]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(colour: str, other: str) -> float:
    light, dark = sorted((luminance(colour), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_the_shipped_ones_are_there():
    assert {"dark", "light", "safe", "ansi"} <= set(PALETTES)
    assert theme_folder().is_dir()


@pytest.mark.parametrize("name", [name for name, palette in PALETTES.items() if not palette.ansi])
@pytest.mark.parametrize("role", ["ink", "muted", "stale", "accent", "ok", "warn", "bad"])
def test_text_is_readable_on_its_ground(name, role):
    palette = PALETTES[name]
    assert contrast(getattr(palette, role), palette.background) >= 4.5


def test_an_ansi_theme_keeps_its_hierarchy_by_dimming():
    palette = PALETTES["ansi"]
    assert palette.style("muted").dim
    assert not palette.style("ink").dim
    assert palette.style("bad bold reverse").reverse
    assert palette.style("ink").color is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = 'x'", "missing required field"),
        ("name = ", "theme.toml"),
        ("name = 'x'\ninkk = '#fff'", "inkk"),
        (
            'name="x"\nink="notacolour"\n'
            + "".join(f'{r}="#111111"\n' for r in "muted stale faint trend data accent ok warn bad".split()),
            "notacolour",
        ),
    ],
)
def test_a_broken_theme_is_named_with_what_is_wrong(tmp_path, text, said):
    path = tmp_path / "theme.toml"
    path.write_text(text)
    with pytest.raises(ThemeError, match=r"theme\.toml") as caught:
        load_palette(path)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def own(config_dir: Path, name: str) -> Path:
    """Where a person's own theme is."""
    (config_dir / "themes").mkdir(exist_ok=True)
    return config_dir / "themes" / name


def test_a_theme_of_ones_own_wins_by_name(tmp_path):
    mine = (theme_folder() / "dark.toml").read_text().replace("#dbe1e8", "#ffffff")
    own(tmp_path, "mine.toml").write_text(mine)
    assert load_palettes(tmp_path)["dark"].ink == "#ffffff"


def test_a_broken_theme_of_ones_own_is_named_and_the_others_load(tmp_path):
    own(tmp_path, "a.toml").write_text("name = 'mine'\ninkk = '#fff'")
    own(tmp_path, "b.toml").write_text((theme_folder() / "dark.toml").read_text().replace('name = "dark"', 'name = "night"'))
    told = []
    palettes = load_palettes(tmp_path, broken=told.append)
    assert {"dark", "night"} <= palettes.keys()
    (problem,) = told
    assert "a.toml" in problem
    assert "inkk" in problem
    with pytest.raises(ThemeError, match=r"no theme named 'mine'.*a\.toml.*inkk"):
        pick_palette(palettes, "mine", no_color=False, broken=told)


def test_an_unknown_name_lists_those_there_are():
    with pytest.raises(ThemeError, match="ansi, dark, light, safe"):
        pick_palette(PALETTES, "nope", no_color=False)


def test_without_colour_an_ansi_theme_is_taken():
    assert pick_palette(PALETTES, None, no_color=True).ansi
    assert pick_palette(PALETTES, "light", no_color=True).ansi
    assert pick_palette(PALETTES, None, no_color=False).name == "dark"


def test_a_role_may_name_another_role_and_a_circle_of_names_is_no_theme(tmp_path):
    path = tmp_path / "mine.toml"
    mine = (theme_folder() / "dark.toml").read_text()
    path.write_text(mine.replace('trend = "#46515d"', 'trend = "data"'))
    assert load_palette(path).style("trend").color == load_palette(path).style("data").color
    path.write_text(mine.replace('trend = "#46515d"', 'trend = "data"').replace('data = "#6aa3b5"', 'data = "trend"'))
    with pytest.raises(ThemeError, match="not a valid color"):
        load_palette(path)
