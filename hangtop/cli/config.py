"""The config file: defaults a person sets once, as TOML in the platform's config folder. The command line wins."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec
from platformdirs import user_config_path

from hangtop.common.decode_toml import TomlError, decode_toml


class ConfigError(Exception):
    """The config file cannot be used. The message is one line: file, key, what is expected."""


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All keys are optional. `lang` is the language of causes and fixes: en or zh."""

    stall: float | None = None
    profile: str | None = None
    theme: str | None = None
    calm: bool = False
    read_only: bool = False
    lang: Literal["en", "zh"] | None = None
    sources: tuple[str, ...] | None = None
    ray: str | None = None


def config_dir() -> Path:
    """Where config.toml, profiles/, signatures/ and themes/ of the person lie."""
    return user_config_path("hangtop")


def load(path: Path | None = None) -> Config:
    """The config of this file, or of the usual place. A file that was not named need not exist. Raises `ConfigError`."""
    chosen = path or config_dir() / "config.toml"
    if path is None and not _may_look(chosen):
        return Config()
    try:
        text = chosen.read_text("utf-8")
    except FileNotFoundError as error:
        if path is None:
            return Config()
        raise ConfigError(f"{path}: no such file") from error
    except OSError as error:
        raise ConfigError(f"{chosen}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{chosen}: not UTF-8: {error.reason} at byte {error.start}") from error
    try:
        return decode_toml(text, Config)
    except TomlError as error:
        known = f"; there are {', '.join(Config.__struct_fields__)}" if error.unknown else ""
        raise ConfigError(f"{chosen}:{error}{known}") from error


def _may_look(path: Path) -> bool:
    """False in the home of another user (`sudo -u` and `su` may keep HOME): nothing in there is this person's."""
    try:
        path.stat()
    except PermissionError:
        return False
    except OSError:
        return True
    return True
