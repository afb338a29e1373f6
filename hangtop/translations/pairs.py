"""Where the pairs of a language stand: `<language>/*.toml` here, and in `translations/<language>/*.toml` of the user's folder,
each `"English" = "other"`. Signatures and settings have theirs beside the English, under the same key with `_<language>`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

import rtoml

from hangtop.common.own_files import own_files
from hangtop.translations.template import checked, spelled_out

CATALOG = "logs/catalog"


def pairs(lang: str) -> list[tuple[str, str]]:
    """The package's own sentences and what stands for them."""
    found: list[tuple[str, str]] = []
    catalog = resources.files("hangtop").joinpath(*CATALOG.split("/"))
    for file in (*_files(catalog / "signatures"), catalog / "settings.toml"):
        found += _beside(rtoml.loads(file.read_text("utf-8")), f"_{lang}")
    for file in _files(resources.files("hangtop.translations") / lang):
        found += _of_table(rtoml.loads(file.read_text("utf-8")))
    return found


def user_pairs(lang: str, user_dir: Path) -> tuple[list[tuple[str, str]], str]:
    """The user's own pairs, and what is wrong with the first file of theirs that cannot be used, if one cannot."""
    found: list[tuple[str, str]] = []
    own, problem = own_files(user_dir / "translations" / lang, ".toml"), ""
    for path in (*own_files(user_dir / "signatures", ".toml"), *own):
        try:
            table = rtoml.loads(path.read_text("utf-8"))
            new = list(_of_table(table) if path in own else _beside(table, f"_{lang}"))
            for english, _ in new:
                for each in spelled_out(english):
                    checked(each)
            found += new
        except (OSError, ValueError) as error:
            problem = problem or f"{path}: {error}"
    return found, problem


def kept(lang: str) -> frozenset[str]:
    """Words that are the same in both languages."""
    return frozenset((resources.files("hangtop.translations") / lang / "kept.txt").read_text("utf-8").split())


def _files(folder: Traversable) -> Iterable[Traversable]:
    return sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)


def _of_table(table: dict[str, object]) -> Iterator[tuple[str, str]]:
    return ((english, other) for english, other in table.items() if isinstance(other, str))


def _beside(value: object, ending: str) -> Iterator[tuple[str, str]]:
    """Each text with the one under the same key and `ending`, at any depth."""
    if isinstance(value, list):
        for each in value:
            yield from _beside(each, ending)
    if isinstance(value, dict):
        for key, english in value.items():
            other = value.get(f"{key}{ending}")
            if isinstance(english, str) and isinstance(other, str) and english and other:
                yield english, other
            yield from _beside(english, ending)
