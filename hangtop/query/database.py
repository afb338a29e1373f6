"""The database in memory: rows in, answers out. DuckDB is the optional extra `query`, imported when it is needed."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self

import msgspec

from hangtop.common.clean_text import without_sequences
from hangtop.common.secrets.open_block import OpenBlock
from hangtop.common.secrets.redactor import Redactor
from hangtop.query.tables import NAMES, TABLES, Row, columns

if TYPE_CHECKING:
    import duckdb
    from duckdb import DuckDBPyConnection

OWN = "_rows"
"""Behind the name of a table: the rows that are kept. The name itself is a view."""
LONGEST_ROW_BYTES = 64 << 20
AT_ONCE = 10_000
OTHER_FILES = (
    "a query reads no files but those named before it, and writes none; -o FILE writes its answer, hangtop export every table"
)
IN_MEMORY = frozenset("SELECT CREATE DROP INSERT UPDATE DELETE MERGE_INTO ALTER".split())
"""Kinds of statements that touch tables alone. Of a file that it may read DuckDB says no more: `COPY … TO` may write it."""
WITH_OTHERS = frozenset(("MULTI", "EXPLAIN"))
"""Kinds that hold further statements: PIVOT is made of several."""
NOT_INSTALLED = "duckdb is not installed: pip install 'hangtop[query]'"


class QueryError(Exception):
    """It cannot be answered; the message is one line with what mends it."""


class Answer(msgspec.Struct, frozen=True):
    """What a query gives. `types`: of DuckDB, by column."""

    names: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


class Database:
    """The tables of `hangtop.query.tables`, filled once, then asked. Rows wait in files of a folder of our own that only we may
    read: 10 million of them must not stand in memory twice."""

    def __init__(self, folder: Path | None = None, memory_bytes: int | None = None) -> None:
        """`folder`: where its files lie. `memory_bytes`: what it may take before it uses them, else as DuckDB does."""
        try:
            import duckdb
        except ImportError as error:
            raise QueryError(NOT_INSTALLED) from error
        self._folder = tempfile.TemporaryDirectory(prefix="hangtop-query-", dir=folder)
        settings: dict[str, str | bool | int | float | list[str]] = {
            "autoinstall_known_extensions": False,
            "temp_directory": self._folder.name,
        }
        if memory_bytes is not None:
            settings["memory_limit"] = f"{memory_bytes >> 20} MiB"
        self.connection: DuckDBPyConnection = duckdb.connect(":memory:", config=settings)
        for name, row in TABLES.items():
            wanted = ", ".join(f'"{column.name}" {column.type}' for column in columns(row))
            self.connection.execute(f"CREATE TABLE {name}{OWN} ({wanted})")
            self.connection.execute(f"CREATE VIEW {name} AS SELECT * FROM {name}{OWN}")
        self._views: dict[str, list[str]] = {}
        self._files: list[str] = []
        self._shut = False

    def may_read(self, path: Path) -> None:
        """A query may read this file, which a view names; any other is refused from the first question on."""
        self._files.append(str(path))

    def _shut_in(self) -> None:
        """A query is foreign text: it may stand in a list of somebody else's. It cannot open this again."""
        if not self._shut:
            self._shut = True
            self.connection.execute("SET allowed_directories = ?", [[self._folder.name]])
            self.connection.execute("SET allowed_paths = ?", [self._files])
            self.connection.execute("SET enable_external_access = false")
            self.connection.execute("SET lock_configuration = true")

    def fill(self, rows: Iterable[Row]) -> None:
        """Add these rows to their tables."""
        encode = msgspec.json.Encoder().encode
        with ExitStack() as ends:
            files: dict[str, IO[bytes]] = {}
            for row in rows:
                name = NAMES[type(row)]
                if name not in files:
                    files[name] = ends.enter_context(Path(self._folder.name, f"{name}.jsonl").open("wb"))
                files[name].write(encode(row) + b"\n")
        for name, file in files.items():
            kinds = ", ".join(f"'{column.name}': '{column.type}'" for column in columns(TABLES[name]))
            source = (
                f"read_json(?, format = 'newline_delimited', maximum_object_size = {LONGEST_ROW_BYTES}, columns = {{{kinds}}})"
            )
            self.connection.execute(f"INSERT INTO {name}{OWN} SELECT * FROM {source}", [file.name])
            os.unlink(file.name)

    def add_view(self, table: str, *queries: str) -> None:
        """This table has, besides its rows, what these queries give, each time anew."""
        views = self._views.setdefault(table, [f"SELECT * FROM {table}{OWN}"])
        views.extend(queries)
        self.connection.execute(f"CREATE OR REPLACE VIEW {table} AS {' UNION ALL '.join(views)}")

    def views_of(self, table: str) -> int:
        """Of how many queries this table is made."""
        return len(self._views.get(table, ()))

    def ask(self, sql: str) -> Answer:
        """The answer to one query, which reads no other file and writes none. Raises `QueryError`, in one line."""
        import duckdb

        try:
            kinds = {statement.type.name for statement in self.connection.extract_statements(sql)}
        except duckdb.Error as error:
            raise QueryError(" ".join(str(error).split())) from error
        if kinds & WITH_OTHERS and not re.search("copy|export", sql, re.IGNORECASE):
            kinds -= WITH_OTHERS
        if kinds - IN_MEMORY:
            raise QueryError(OTHER_FILES)
        return self._answer(sql)

    def _answer(self, sql: str) -> Answer:
        import duckdb

        self._shut_in()
        try:
            found = self.connection.execute(sql)
            described = found.description or []
            rows = tuple(without_secrets(found.fetchall()))
        except duckdb.Error as error:
            raise QueryError(_why(error, " ".join(str(error).split()))) from error
        return Answer(tuple(each[0] for each in described), tuple(str(each[1]) for each in described), rows)

    def select(self, sql: str) -> tuple[Answer, Iterator[tuple[Any, ...]]]:
        """Names and types of the answer to one SELECT, and its rows one by one: whatever else a statement may do is refused.
        Raises `QueryError`, the rows too."""
        import duckdb

        self._shut_in()
        try:
            kinds = [statement.type for statement in self.connection.extract_statements(sql)]
            if kinds != [duckdb.StatementType.SELECT]:
                raise QueryError("one SELECT is asked here; for what writes: hangtop query FILE 'SELECT …' -o FILE")
            found = self.connection.execute(sql)
        except duckdb.Error as error:
            raise QueryError(_why(error, shortened(str(error)))) from error
        described = found.description or []

        def rows() -> Iterator[tuple[Any, ...]]:
            try:
                while some := found.fetchmany(AT_ONCE):
                    yield from some
            except duckdb.Error as error:
                raise QueryError(_why(error, shortened(str(error)))) from error

        names = Answer(tuple(each[0] for each in described), tuple(str(each[1]) for each in described), ())
        return names, without_secrets(rows())

    def write_answer(self, sql: str, path: Path) -> None:
        """Write the answer to one query as Parquet. It lies in our own folder first: nowhere else does a query write. Raises
        `QueryError`, `OSError`."""
        own = Path(self._folder.name, "answer.parquet")
        self._clean_in_order()
        asked = sql.rstrip().rstrip(";")
        clean = _without_secrets(asked, self.ask(f"DESCRIBE {asked}").rows)
        self._answer(f"COPY ({clean}) TO {quoted(str(own))} (FORMAT parquet)")
        shutil.copyfile(own, path)
        own.unlink()

    def _clean_in_order(self) -> None:
        """Files are written row by row: a secret of several lines is known by its first."""
        self.connection.execute("SET threads = 1")
        redactor, block = Redactor(), OpenBlock()
        self.connection.create_function(
            "without_secrets",
            lambda text: redactor.line(without_sequences(text), block),
            ["VARCHAR"],
            "VARCHAR",
            side_effects=True,
        )

    def write_parquet(self, folder: Path) -> tuple[Path, ...]:
        """A Parquet file for each table that has rows, in this folder."""
        self._clean_in_order()
        written: list[Path] = []
        for name in TABLES:
            path = folder / f"{name}.parquet"
            (count,) = self.connection.execute(f"SELECT count(*) FROM {name}").fetchone() or (0,)
            if count:
                clean = _without_secrets(name, self.connection.execute(f"DESCRIBE {name}").fetchall())
                self.connection.execute(f"COPY ({clean}) TO {quoted(str(path))} (FORMAT parquet, COMPRESSION zstd)")
                written.append(path)
        return tuple(written)

    def close(self) -> None:
        """Close it, and remove its folder."""
        self.connection.close()
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _without_secrets(source: str, described: Iterable[tuple[Any, ...]]) -> str:
    """This table or query with its texts cleaned. `described`: what DuckDB's DESCRIBE says of it."""
    texts = [str(name).replace('"', '""') for name, kind, *_ in described if kind == "VARCHAR"]
    replaced = ", ".join(f'without_secrets("{name}") AS "{name}"' for name in texts)
    told = source if source.isidentifier() else f"({source})"
    return f"SELECT * REPLACE ({replaced}) FROM {told}" if texts else f"SELECT * FROM {told}"


def without_secrets(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """These rows: log files are asked as they lie on disk. A secret of several lines may stand in a column, row below row."""
    redactor, blocks = Redactor(), dict[int, OpenBlock]()

    def clean(nth: int, value: Any) -> Any:
        if not isinstance(value, str):
            return redactor.tree(value) if isinstance(value, list | tuple | dict) else value
        if "\n" in value:
            return redactor.text(value)
        return redactor.line(without_sequences(value), blocks.setdefault(nth, OpenBlock()))

    for row in rows:
        yield tuple(clean(nth, value) for nth, value in enumerate(row))


def _why(error: duckdb.Error, words: str) -> str:
    """What DuckDB says, or the rule that it keeps."""
    import duckdb

    return OTHER_FILES if isinstance(error, duckdb.PermissionException) else words


def shortened(error: str) -> str:
    """The words of DuckDB in one line, without the copy of the query behind them."""
    return " ".join(error.split("\nLINE ")[0].split())


def quoted(text: str) -> str:
    """As a string of SQL."""
    return "'" + text.replace("'", "''") + "'"
