"""Profiles and signatures, read again when a person edits one. A broken file is told, and the ones before stay in use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hangtop.common.own_files import own_files
from hangtop.logs.catalog.load import CatalogError, load, parse_profile
from hangtop.logs.extract.literal_index import LiteralIndex, index_of
from hangtop.records.watch_spec import WatchSpec
from hangtop.system.files.read_errors import shown


class ProfileFiles:
    """The index of all profiles. `problem`: why a person's file is not used. `chosen`: the profile that a person named."""

    def __init__(self, spec: WatchSpec) -> None:
        self._user_dir = Path(spec.config_dir) if spec.config_dir else None
        named = spec.profile if spec.profile and ("/" in spec.profile or spec.profile.endswith(".toml")) else None
        self._extra = Path(named) if named else None
        self.chosen = None if named else spec.profile
        self.problem: str | None = None
        self._stamp = tuple(self._stamps())
        try:
            self.index = self._load()
        except CatalogError as error:
            self.problem = f"{shown(str(error))}; only hangtop's own profiles are in use"
            self.index = index_of(load())

    @property
    def folders(self) -> tuple[str, ...]:
        """Where a person's files lie or may appear."""
        below = (self._user_dir, self._user_dir / "profiles", self._user_dir / "signatures") if self._user_dir else ()
        return tuple(str(folder) for folder in (*below, *([self._extra.parent] if self._extra else [])))

    def reload(self) -> bool:
        """Read the files again if one of them changed; true when the index is another one."""
        stamp = tuple(self._stamps())
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        try:
            self.index, self.problem = self._load(), None
        except CatalogError as error:
            self.problem = f"{shown(str(error))}; the profiles before stay in use"
            return False
        return True

    def _load(self) -> LiteralIndex:
        index = index_of(load(self._user_dir, self._extra))
        if self._extra is not None:
            self.chosen = parse_profile(self._extra.read_text("utf-8"), str(self._extra)).name
        return index

    def _stamps(self) -> Iterator[tuple[str, int, int]]:
        files = [file for folder in self.folders for file in own_files(Path(folder), ".toml")] if self._user_dir else []
        for file in (*files, *([self._extra] if self._extra else [])):
            try:
                found = file.stat()
            except OSError:
                yield str(file), 0, 0  # gone: that, too, is a change
            else:
                yield str(file), found.st_mtime_ns, found.st_size
