"""Which contract a file of queries is about: the one of its settings, else the only one near it."""

from __future__ import annotations

from pathlib import Path

from pygls import uris

from treadle import config
from treadle.errors import ConfigError

CONTRACTS = "*.riff"


def path_of(uri: str) -> Path | None:
    """The file of an address; None for one that is no file, such as an unsaved text."""
    if not uri.startswith("file:"):
        return None
    found = uris.to_fs_path(uri)
    return Path(found) if found else None


def contract_of(queries: Path) -> Path | None:
    """The contract's file: `contract.source` of the nearest treadle.toml, else the only `.riff` file in the
    folder or the one above."""
    try:
        source = config.load(start=queries.parent).contract_source
    except (ConfigError, OSError):
        source = None
    if source is not None:
        return source
    for folder in (queries.parent, queries.parent.parent):
        found = sorted(folder.glob(CONTRACTS))
        if found:
            return found[0] if len(found) == 1 else None
    return None
