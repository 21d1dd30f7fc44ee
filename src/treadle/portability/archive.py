"""What an export looks like: a folder of JSON Lines files and a manifest that names and hashes them.

    manifest.json              format, database, history, contract, head, and each file with count and hash
    contract.riff              the source of the active contract
    entities/001-Name.jsonl    a line a row: {"revision": 3, "row": {"shop_id": "…", …}}
    events/001-Name.jsonl      a line an event: {"commit": 7, "ordinal": 0, "event": {…}}

Values are in the JSON forms of the HTTP API. docs/formats/archive.md has the whole of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

import msgspec

from treadle.errors import InvalidInput
from treadle.portability.files import wrapped

FORMAT: Final = "treadle-archive"
VERSION: Final = 1
MANIFEST: Final = "manifest.json"
CONTRACT: Final = "contract.riff"
_BLOCK: Final = 1 << 20


class File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file of an archive. `name` is the entity or event it is about, `path` is relative."""

    path: str
    kind: Literal["entity", "event", "contract"]
    name: str
    lines: int
    bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The manifest. `head` and `hash` name the last log record that the snapshot saw."""

    format: str
    version: int
    database: str
    history: str
    contract: str
    contract_version: int
    contract_identity: str
    head: int
    hash: str
    files: tuple[File, ...]


def read_manifest(folder: Path) -> Manifest:
    """The manifest of an archive; raises `InvalidInput` for anything that is none."""
    try:
        data = (folder / MANIFEST).read_bytes()
    except FileNotFoundError:
        raise InvalidInput(
            f"{folder} has no {MANIFEST}; name the folder of an export", path="archive"
        ) from None
    except OSError as error:
        raise wrapped(error, f"cannot read {folder / MANIFEST}") from error
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
    except msgspec.MsgspecError as error:
        raise InvalidInput(f"{MANIFEST} cannot be read: {error}", path="archive") from error
    if (manifest.format, manifest.version) != (FORMAT, VERSION):
        raise InvalidInput(
            f"the archive is {manifest.format} version {manifest.version}; "
            f"this release reads {FORMAT} {VERSION}",
            path="archive",
        )
    return manifest


def check_files(folder: Path, manifest: Manifest) -> None:
    """Raise `InvalidInput` unless every file of the manifest is there, whole and unchanged."""
    root = folder.resolve()
    for file in manifest.files:
        path = (folder / file.path).resolve()
        if root not in path.parents:
            raise InvalidInput(f"the manifest names {file.path}, which is not in the archive", path="archive")
        if _hash(path) != (file.bytes, file.sha256):
            raise InvalidInput(
                f"{file.path} is not what the manifest says: it was changed or cut; export again",
                path="archive",
            )


def _hash(path: Path) -> tuple[int, str]:
    digest, size = hashlib.sha256(), 0
    try:
        with open(path, "rb") as source:
            while block := source.read(_BLOCK):
                digest.update(block)
                size += len(block)
    except FileNotFoundError:
        return 0, ""
    except OSError as error:
        raise wrapped(error, f"cannot read {path}") from error
    return size, digest.hexdigest()


def lines_of(path: Path) -> Iterator[bytes]:
    """The lines of a file of an archive, without their ends."""
    with open(path, "rb") as source:
        for line in source:
            yield line.rstrip(b"\n")
