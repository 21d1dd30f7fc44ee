"""Where values come from: the file, the environment, flags. An unknown key is refused, naming the nearest."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from treadle.config.settings import PREFIX, SETTINGS, Setting
from treadle.errors import ConfigError
from treadle.limits import MIB
from treadle.text import nearest

FILE_NAME: Final = "treadle.toml"
FILE_VARIABLE: Final = PREFIX + "CONFIG"
"""Names the file, instead of the search for it."""

SECTIONS: Final = frozenset(
    ".".join(parts[:count])
    for parts in (key.split(".") for key in SETTINGS)
    for count in range(1, len(parts))
)
"""The tables that hold settings: `database`, `graph`, `graph.governance` …"""

ALIASES: Final = {"quipu": "graph"}
"""Top-level tables that are read as others; the same section under both names is an error."""

FOREIGN: Final = re.compile(rf"{PREFIX}(CONFIG|TOKEN(_FILE)?|SERVICE_.*|PORT(_.*)?|TEST_.*|BENCH_.*|SIM_.*)")
"""Variables that are no settings: the file's name, a client's token or where it lies, what container
platforms set for a service of our name, and what the test suite reads."""


class Value(NamedTuple):
    """A value with where it was set, as a person would say it."""

    value: Any
    origin: str


def find(start: Path) -> Path | None:
    """The nearest `treadle.toml` in `start` or a folder above it."""
    for folder in (start, *start.parents):
        candidate = folder / FILE_NAME
        if candidate.is_file():
            return candidate
    return None


def of_file(path: Path) -> dict[str, Value]:
    """The settings of a file. Raises `ConfigError` for what cannot be read, unknown keys, wrong values."""
    found: dict[str, Value] = {}
    spelled: dict[str, str] = {}
    for written, value in _flatten(_parse(path)):
        key = _canonical(written)
        if key not in SETTINGS:
            raise ConfigError(f"{path.name}: unknown key {written}{nearest(key, [*SETTINGS, *SECTIONS])}")
        section, other = _section(written), spelled.get(_section(key))
        if other is not None and other != section:
            raise ConfigError(
                f"{path.name}: [{other}] and [{section}] are the same section; keep one of them"
            )
        spelled[_section(key)] = section
        found[key] = Value(_checked(SETTINGS[key], value, f"{path.name}: {written}"), f"file {path.name}")
    return found


def of_environment(environment: Mapping[str, str]) -> dict[str, Value]:
    """The settings of environment variables `TREADLE_…`; an empty one counts as not set."""
    variables = {setting.variable: setting for setting in SETTINGS.values()}
    found: dict[str, Value] = {}
    for name, text in environment.items():
        if not name.startswith(PREFIX) or not text or FOREIGN.fullmatch(name):
            continue
        setting = variables.get(name)
        if setting is None:
            raise ConfigError(f"environment variable {name} names no setting{nearest(name, variables)}")
        found[setting.key] = Value(_spelled(setting, text, name), f"environment {name}")
    return found


def of_flags(flags: Mapping[str, str], pairs: Iterable[str]) -> dict[str, Value]:
    """The settings of flags: `flags` by key, and `pairs` as `--set` takes them, `KEY=VALUE`."""
    found: dict[str, Value] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals:
            raise ConfigError(f"--set {pair}: write KEY=VALUE, such as --set database.url=sqlite:///work.db")
        key = _canonical(key.strip())
        if key not in SETTINGS:
            raise ConfigError(f"--set: unknown key {key}{nearest(key, SETTINGS)}")
        found[key] = Value(_spelled(SETTINGS[key], text, f"--set {key}"), f"flag --set {key}")
    for key, text in flags.items():
        setting = SETTINGS[key]
        found[key] = Value(_spelled(setting, text, setting.flag), f"flag {setting.flag}")
    return found


def _parse(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(MIB + 1)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or type(error).__name__}") from error
    if len(data) > MIB:
        raise ConfigError(f"{path.name}: larger than one mebibyte; this is no settings file")
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path.name}: not UTF-8 at byte {error.start}; save it as UTF-8") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{path.name}: not TOML: {str(error) or 'nested too deep'}") from error


def _flatten(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted keys with their values. A table that is no section of ours comes as a key, to be refused."""
    for name, value in table.items():
        key = prefix + name
        if _canonical(key) in SECTIONS:
            if not isinstance(value, dict):
                raise ConfigError(f"{key} is a section: write [{key}] and its keys below it")
            yield from _flatten(value, key + ".")
        else:
            yield key, value


def _canonical(key: str) -> str:
    first, dot, rest = key.partition(".")
    return ALIASES.get(first, first) + dot + rest


def _section(key: str) -> str:
    return key.rpartition(".")[0]


def _checked(setting: Setting, value: Any, place: str) -> Any:
    try:
        return setting.kind.check(value)
    except ValueError as error:
        raise ConfigError(f"{place} must be {error}") from error


def _spelled(setting: Setting, text: str, place: str) -> Any:
    try:
        return setting.kind.of_text(text)
    except ValueError as error:
        raise ConfigError(f"{place} must be {error}") from error
