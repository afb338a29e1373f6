"""Questions that people ask again and again, as data: `recipes.toml`."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from msgspec import Struct

from hangtop.common.decode_toml import decode_toml


class Recipe(Struct, frozen=True, forbid_unknown_fields=True):
    """One question. `asks`: what it is about, in one line."""

    name: str
    asks: str
    sql: str


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    recipe: tuple[Recipe, ...]


@cache
def recipes() -> dict[str, Recipe]:
    """All of them, by name, in the order of the file."""
    data = files("hangtop.query").joinpath("recipes.toml").read_bytes()
    return {recipe.name: recipe for recipe in decode_toml(data, _File).recipe}
