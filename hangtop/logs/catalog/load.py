"""The catalog of messages, frameworks and settings: data of the package, of the user's folder, and one extra profile.

Tests check the data of the package; data of a user is checked when it is loaded (`hangtop.logs.catalog.checks`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from hangtop.common.decode_toml import Record, TomlError, decode_toml, line_of
from hangtop.common.own_files import own_files
from hangtop.logs.catalog.checks import Flaw, profile_flaws, signature_flaws
from hangtop.logs.catalog.profile import Profile
from hangtop.logs.catalog.signature import Setting, Signature

SCHEMA = 1


class CatalogError(Exception):
    """A data file that cannot be used; the message names the file, the line, the key and what is expected there."""


class Catalog(Struct, frozen=True):
    """Everything that is known, by id. Of two with the same id the first counts: `--profile`, user's folder, package."""

    profiles: Mapping[str, Profile] = MappingProxyType({})
    signatures: Mapping[str, Signature] = MappingProxyType({})
    settings: Mapping[str, Setting] = MappingProxyType({})


class _SignatureFile(Struct, frozen=True, forbid_unknown_fields=True):
    schema: int
    signature: tuple[Signature, ...]


class _SettingFile(Struct, frozen=True, forbid_unknown_fields=True):
    schema: int
    setting: tuple[Setting, ...]


def parse_profile(text: str, name: str) -> Profile:
    """The profile in `text`. `name` is the file, for the message of a `CatalogError`. The meaning is not checked here."""
    profile = decode_file(text, name, Profile)
    return replace(profile, framework=profile.framework or profile.name)


def parse_signatures(text: str, name: str) -> tuple[Signature, ...]:
    """The signatures in `text`; their category is the file's name without its ending."""
    found = decode_file(text, name, _SignatureFile)
    category = Path(name).stem
    return tuple(signature if signature.category else replace(signature, category=category) for signature in found.signature)


def load(user_dir: Path | None = None, extra: Path | None = None, lang: str = "en") -> Catalog:
    """The package's data, then `<user_dir>/profiles/*.toml` and `<user_dir>/signatures/*.toml`, then the profile `extra`.

    `lang`: the language of causes and fixes, `en` or `zh`; English where there is no other.

    Raises `CatalogError` for the first file that is wrong. A folder that is not there is no error. Where nothing is added it is
    the same catalog each time.
    """
    added = [(path, text, parse_profile(text, path)) for path, text in _profiles_of_user(user_dir, extra)]
    own_signatures = list(toml_files(user_dir / "signatures")) if user_dir is not None else []
    if not added and not own_signatures:
        return _shipped_in(lang)
    profiles, signatures, known_settings = {**_shipped().profiles}, {**_shipped().signatures}, _shipped().settings.values()
    profiles.update((profile.name, profile) for _, _, profile in added)
    for path, text, profile in added:
        refuse_flaws(path, text, profile_flaws(profile, frozenset(profiles)))
    for path, text in own_signatures:
        for n, signature in enumerate(parse_signatures(text, path)):
            refuse_flaws(path, text, signature_flaws(signature), f"signature[{n}].")
            signatures[signature.id] = signature
    return _whole(profiles, signatures, known_settings, lang)


@cache
def _shipped() -> Catalog:
    """The package's data as it is written: no profile has yet what it shares with the one that it refines."""
    package = Path(__file__).parent
    profiles = {p.name: p for name, text in toml_files(package / "profiles") for p in [parse_profile(text, name)]}
    signatures = {s.id: s for name, text in toml_files(package / "signatures") for s in parse_signatures(text, name)}
    known_settings = decode_file((package / "settings.toml").read_text("utf-8"), "settings.toml", _SettingFile).setting
    return Catalog(profiles, signatures, {setting.name: setting for setting in known_settings})


@cache
def _shipped_in(lang: str) -> Catalog:
    shipped = _shipped()
    return _whole(shipped.profiles, shipped.signatures, shipped.settings.values(), lang)


def _whole(
    profiles: Mapping[str, Profile], signatures: Mapping[str, Signature], known_settings: Iterable[Setting], lang: str
) -> Catalog:
    return Catalog(
        profiles=MappingProxyType({name: _refined(profile, profiles) for name, profile in profiles.items()}),
        signatures=MappingProxyType({name: signature.told_in(lang) for name, signature in signatures.items()}),
        settings=MappingProxyType({setting.name: setting.told_in(lang) for setting in known_settings}),
    )


def _profiles_of_user(user_dir: Path | None, extra: Path | None) -> Iterator[tuple[str, str]]:
    if user_dir is not None:
        yield from toml_files(user_dir / "profiles")
    if extra is not None:
        yield str(extra), _text(extra, str(extra))


def refuse_flaws(path: str, text: str, flaws: Iterable[Flaw], inside: str = "") -> None:
    """Raises the first of these flaws, if there is one."""
    for flaw in flaws:
        key = f"{inside}{flaw.key}"
        raise CatalogError(f"{path}:{line_of(text, f'$.{key}')}: key {key}: {flaw.text}")


def _refined(profile: Profile, profiles: Mapping[str, Profile]) -> Profile:
    """A refining profile also reads the progress lines and free text of the profile that it refines, after its own; what it does
    not say of its framework, that one says."""
    parent = profiles.get(profile.refines or "")
    if parent is None:
        return profile
    own = {line.id for line in profile.progress}
    inherited = tuple(line for line in parent.progress if line.id not in own)
    return replace(
        profile,
        progress=profile.progress + inherited,
        free_text=profile.free_text + parent.free_text,
        contains=profile.contains or parent.contains,
        teacher_wait_s=profile.teacher_wait_s or parent.teacher_wait_s,
        start_normal_s=profile.start_normal_s or parent.start_normal_s,
        start_suspect_s=profile.start_suspect_s or parent.start_suspect_s,
    )


def toml_files(folder: Path) -> Iterator[tuple[str, str]]:
    """Name and text of each TOML file in `folder`, in order of name; nothing when there is no such folder."""
    for file in own_files(folder, ".toml"):
        yield str(file), _text(file, str(file))


def _text(file: Path, name: str) -> str:
    try:
        return file.read_text("utf-8")
    except OSError as error:
        raise CatalogError(f"{name}: cannot read this file: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CatalogError(f"{name}: not a TOML file: byte {error.start} is not UTF-8") from error


def decode_file(text: str, name: str, shape: type[Record]) -> Record:
    """The record in `text`; `name` is the file, for the message of a `CatalogError`."""
    try:
        return decode_toml(text, shape)
    except TomlError as error:
        raise CatalogError(f"{name}:{error}") from error
