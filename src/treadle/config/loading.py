"""All settings, each with its value and where it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from treadle.access.roles import Role, read
from treadle.config import sources
from treadle.config.settings import SETTINGS
from treadle.config.sources import FILE_VARIABLE, Value
from treadle.errors import ConfigError
from treadle.text import nearest

DEFAULT: Final = "default"
SQLITE: Final = "sqlite:///"


class Config:
    """The settings in force. `file` is the `treadle.toml` they were read with, or None."""

    def __init__(self, file: Path | None, values: Mapping[str, Value]) -> None:
        self.file = file
        self._values = values

    def __getitem__(self, key: str) -> Any:
        """The value of a setting; its default where nothing sets it."""
        return self.value(key).value

    def __iter__(self) -> Iterator[str]:
        return iter(SETTINGS)

    def value(self, key: str) -> Value:
        """A setting with where it was set: a flag, a variable, the file or the default."""
        return self._values.get(key) or Value(SETTINGS[key].default, DEFAULT)

    @property
    def folder(self) -> Path:
        """The folder that the file's relative paths start from."""
        return self.file.parent if self.file else Path()

    @property
    def database_url(self) -> str:
        """`database.url`; a file named in `treadle.toml` lies relative to that file's folder."""
        url, origin = self.value("database.url")
        text: str = url
        if origin == DEFAULT or origin.startswith("file "):
            return _relative(text, self.folder)
        return text

    @property
    def max_clock_jump(self) -> timedelta | None:
        """`database.max_clock_jump`; None for no bound."""
        seconds = self["database.max_clock_jump"]
        return timedelta(seconds=seconds) if seconds else None

    @property
    def contract_source(self) -> Path | None:
        """`contract.source`, relative to the file's folder where the file names it."""
        source, origin = self.value("contract.source")
        if source is None:
            return None
        return self.folder / source if origin.startswith("file ") else Path(source)

    @property
    def query_files(self) -> tuple[Path, ...]:
        """The files that the patterns of `contract.queries` name, sorted. Raises `ConfigError`."""
        try:
            return tuple(
                sorted({path for each in self["contract.queries"] for path in self.folder.glob(each)})
            )
        except (NotImplementedError, ValueError) as error:
            raise ConfigError("contract.queries: patterns start from the file's folder") from error

    @property
    def roles(self) -> tuple[Role, ...] | None:
        """The `[[roles]]` tables; None where there are none. Raises `ConfigError`."""
        tables = self["roles"]
        if tables is None:
            return None
        for number, table in enumerate(tables, start=1):
            for name in table:
                if name not in Role.__struct_fields__:
                    near = nearest(name, Role.__struct_fields__)
                    raise ConfigError(f"[[roles]] number {number}: unknown key {name}{near}")
        return tuple(read(tables))


def load(
    *,
    file: Path | None = None,
    start: Path | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, str] | None = None,
    pairs: Iterable[str] = (),
) -> Config:
    """Read the settings: flag > environment > file > default.

    `file` names the settings file; else `TREADLE_CONFIG` in `environment` does; else it is the nearest
    `treadle.toml` in `start` (the current folder) or above. `flags` hold texts by key, `pairs` texts
    `KEY=VALUE`. Raises `ConfigError`, which names the key, where it was set, and what to write.
    """
    environment = environment or {}
    chosen = file or _named(environment) or sources.find((start or Path()).absolute())
    values: dict[str, Value] = sources.of_file(chosen) if chosen else {}
    values.update(sources.of_environment(environment))
    values.update(sources.of_flags(flags or {}, pairs))
    return Config(chosen, values)


def _named(environment: Mapping[str, str]) -> Path | None:
    name = environment.get(FILE_VARIABLE)
    if not name:
        return None
    if not Path(name).is_file():
        raise ConfigError(f"environment variable {FILE_VARIABLE}: there is no file {name}")
    return Path(name)


def _relative(url: str, folder: Path) -> str:
    """The same database, named from the current folder instead of `folder`."""
    if url == ":memory:" or folder == Path():
        return url
    if url.startswith(SQLITE):
        path = url.removeprefix(SQLITE)
        return url if path.startswith("/") else f"{SQLITE}{quote(str(folder))}/{path}"
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", url):
        return url
    return str(folder / url)
