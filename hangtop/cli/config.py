"""The config file: a person's defaults, as TOML in the platform's config folder. The command line wins."""

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
    """The folder of config.toml, profiles/, signatures/ and themes/."""
    return user_config_path("hangtop")


def load(path: Path | None = None) -> Config:
    """The config in this file, or in the usual place, where it may be missing. Raises `ConfigError`."""
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
    """False for another user's folder (`sudo -u` and `su` may keep HOME), which is not to be read."""
    try:
        path.stat()
    except OSError as error:
        return not isinstance(error, PermissionError)
    return True
