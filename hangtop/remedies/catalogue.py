"""The catalogue of places: the package's, and the user's, which go before those with the same id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from hangtop.logs.catalog.checks import Flaw
from hangtop.logs.catalog.load import CatalogError, decode_file, refuse_flaws, toml_files
from hangtop.logs.catalog.profile import STAGE_IDS
from hangtop.remedies.place import Place

SCHEMA = 1
Places = Mapping[str, Place]


class PlaceFile(Struct, frozen=True, forbid_unknown_fields=True):
    """One file of `places/`."""

    schema: int
    place: tuple[Place, ...]


@lru_cache(maxsize=4)
def usable_places(user_dir: str | None) -> tuple[Places, str]:
    """The places, and why those of the user are left out, if they are: advice is given all the same."""
    try:
        return places(Path(user_dir) if user_dir else None), ""
    except CatalogError as error:
        return places(None), str(error)


@lru_cache(maxsize=4)
def places(user_dir: Path | None = None) -> Places:
    """The places by id. Raises `CatalogError` for the first file of `<user_dir>/places/*.toml` that is wrong; a folder that is
    not there is no error."""
    found: dict[str, Place] = {}
    for name, text in toml_files(Path(__file__).with_name("places")):
        found.update((place.id, place) for place in decode_file(text, name, PlaceFile).place)
    for name, text in toml_files(user_dir / "places") if user_dir is not None else ():
        for number, place in enumerate(decode_file(text, name, PlaceFile).place):
            refuse_flaws(name, text, place_flaws(place), f"place[{number}].")
            found[place.id] = place
    return MappingProxyType(found)


def place_flaws(place: Place) -> Iterator[Flaw]:
    """Each reason why this place would not work."""
    if not place.id.isidentifier():
        yield Flaw("id", f"{place.id!r} is no word of letters, digits and _")
    if not place.cause:
        yield Flaw("cause", "a place needs a cause")
    for number, cause in enumerate(place.cause):
        if not cause.do:
            yield Flaw(f"cause[{number}].do", "a cause needs something to do")
        for stage in cause.stages:
            if stage not in STAGE_IDS:
                yield Flaw(f"cause[{number}].stages", f"stage {stage!r} is unknown; known are {' '.join(STAGE_IDS)}")
