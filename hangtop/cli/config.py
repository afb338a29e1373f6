"""The config file: a person's defaults, as TOML in the platform's config folder. The command line wins."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal, NoReturn

import click
import msgspec

from hangtop.common.decode_toml import TomlError, decode_toml, line_of
from hangtop.system.own_folders import config_folder


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All keys are optional. `lang` is the language of causes and fixes: en or zh. `keys`: a key, or several, by the name of a
    command of the screen."""

    stall: Annotated[float, msgspec.Meta(ge=1, le=1e9)] | None = None
    profile: str | None = None
    theme: str | None = None
    calm: bool = False
    read_only: bool = False
    lang: Literal["en", "zh"] | None = None
    sources: tuple[str, ...] | None = None
    ray: str | None = None
    keys: dict[str, object] = {}


def config_dir() -> Path:
    """The folder of config.toml, profiles/, signatures/ and themes/."""
    return config_folder()


def config_file(path: Path | None) -> Path:
    """The config file that is read where this one was named, or none."""
    return path or config_dir() / "config.toml"


def read_config(path: Path | None) -> Config:
    """The config in this file, or in the usual place, where it may be missing. Exit 2 with one line if it cannot be used: file,
    key, what is expected."""
    chosen = config_file(path)
    try:
        return decode_toml(chosen.read_text("utf-8"), Config)
    except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
        if path is None and not os.path.exists(chosen):  # or in a folder of another user (`sudo -u` and `su` may keep HOME)
            return Config()
        problem = " no such file" if isinstance(error, (FileNotFoundError, NotADirectoryError)) else f" {error.strerror}"
    except OSError as error:
        problem = f" {error.strerror}"
    except UnicodeDecodeError as error:
        problem = f" not UTF-8: {error.reason} at byte {error.start}"
    except TomlError as error:
        problem = f"{error}; there are {', '.join(Config.__struct_fields__)}" if error.unknown else str(error)
    raise click.UsageError(f"{chosen}:{problem}")


def refuse_keys(path: Path | None, name: str, why: str) -> NoReturn:
    """Exit 2 with one line for an entry of `[keys]` that cannot be used."""
    chosen = config_file(path)
    raise click.UsageError(f"{chosen}:{line_of(chosen.read_text('utf-8'), f'$.keys.{name}')}: key keys.{name}: {why}")
