"""Export: one snapshot of all rows and events, as text that any program can read."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from treadle.access.caller import Caller
from treadle.engine import state as states
from treadle.engine.acts import scan
from treadle.engine.core import Engine
from treadle.engine.state import Deployed
from treadle.portability import archive
from treadle.portability.archive import File, Manifest
from treadle.portability.files import flush_folder, taken, wrapped
from treadle.ports.store import ReadTx, Table

Progress = Callable[[int, int], None]
PAGE: Final = 1_000
_JSON: Final = msgspec.json.Encoder()


class Exported(NamedTuple):
    """A finished export: its folder, rows and events in it, and the head it saw."""

    path: Path
    rows: int
    events: int
    head: int


def export(engine: Engine, target: Path, caller: Caller, *, progress: Progress | None = None) -> Exported:
    """Write all rows and events of one snapshot into the new folder `target`, mode 0700, files 0600.

    The folder appears under its name only when it is complete. It holds secrets and lease evidence, like
    the database itself. `progress` is called with lines written and 0 (the whole is not known before).
    Raises `Denied` without the `restore` permission, `InvalidInput` if `target` exists, `DiskFull`.
    """
    state = engine.refresh()
    state.roles.check_permission(caller, "restore")
    if os.path.lexists(target):
        raise taken(target)
    temporary = None
    try:
        temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
        with engine.store.read() as tx:
            state = states.load(tx, state)
            done = _Export(tx, state.require(), temporary, progress).write(state.history, state.database)
        os.rename(temporary, target)
        flush_folder(target.parent)
    except OSError as error:
        raise wrapped(error, f"cannot write {target}") from error
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
    return done._replace(path=target)


class _Export:
    def __init__(self, tx: ReadTx, deployed: Deployed, folder: Path, progress: Progress | None) -> None:
        self._tx = tx
        self._deployed = deployed
        self._folder = folder
        self._progress = progress
        self._files: list[File] = []
        self._written = 0

    def write(self, history: str, database: bytes) -> Exported:
        """Everything, the manifest last."""
        contract, head = self._deployed.contract, self._tx.head()
        for folder in ("entities", "events"):
            (self._folder / folder).mkdir(mode=0o700)
        source = self._tx.setting(states.SOURCE + contract.identity) or b""
        self._file("contract", contract.name, archive.CONTRACT, iter([source]), end=b"")
        for number, table in enumerate(self._deployed.tables.values(), start=1):
            name = f"entities/{number:03}-{table.entity}.jsonl"
            self._file("entity", table.entity, name, self._rows(table))
        for number, event in enumerate(contract.events, start=1):
            self._file(
                "event", event.name, f"events/{number:03}-{event.name}.jsonl", self._events(event.name)
            )
        manifest = Manifest(
            format=archive.FORMAT,
            version=archive.VERSION,
            database=database.hex(),
            history=history,
            contract=contract.name,
            contract_version=contract.version,
            contract_identity=contract.identity,
            head=head.number,
            hash=head.hash.hex(),
            files=tuple(self._files),
        )
        self._durable(archive.MANIFEST, iter([msgspec.json.format(_JSON.encode(manifest), indent=2)]), b"\n")
        for folder in ("entities", "events", "."):
            flush_folder(self._folder / folder)
        counts = {
            kind: sum(file.lines for file in self._files if file.kind == kind) for kind in ("entity", "event")
        }
        return Exported(self._folder, counts["entity"], counts["event"], head.number)

    def _rows(self, table: Table) -> Iterator[bytes]:
        codec = self._deployed.codec
        members = [(column.field, codec.json(column.type)) for column in table.columns]
        for row in scan(self._tx, table):
            fields = {name: show(cell) for (name, show), cell in zip(members, row.cells, strict=True)}
            yield _JSON.encode({"revision": row.revision, "row": fields})

    def _events(self, name: str) -> Iterator[bytes]:
        codec = self._deployed.codec
        event = next(each for each in self._deployed.contract.events if each.name == name)
        members: list[tuple[str, Callable[[Any], Any]]] = [
            (field.name, codec.json(field.type)) for field in event.fields
        ]
        decode, after = codec.event_decoder(name), (0, -1)
        while page := self._tx.events(name, None, after, PAGE):
            for stored in page:
                cells = decode(stored.data)
                fields = {field: show(cell) for (field, show), cell in zip(members, cells, strict=True)}
                yield _JSON.encode({"commit": stored.number, "ordinal": stored.ordinal, "event": fields})
            after = (page[-1].number, page[-1].ordinal)

    def _file(self, kind: Any, name: str, path: str, lines: Iterator[bytes], end: bytes = b"\n") -> None:
        count, size, digest = self._durable(path, lines, end)
        self._files.append(File(path=path, kind=kind, name=name, lines=count, bytes=size, sha256=digest))

    def _durable(self, path: str, lines: Iterator[bytes], end: bytes) -> tuple[int, int, str]:
        """Write a new file, mode 0600, and flush it; returns lines, bytes and hash."""
        digest, count, size = hashlib.sha256(), 0, 0
        descriptor = os.open(self._folder / path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb", buffering=1 << 16) as file:
            for line in lines:
                data = line + end
                file.write(data)
                digest.update(data)
                size += len(data)
                count += 1
                self._written += 1
                if self._progress is not None and self._written % PAGE == 0:
                    self._progress(self._written, 0)
            file.flush()
            os.fsync(file.fileno())
        return count, size, digest.hexdigest()
