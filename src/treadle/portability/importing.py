"""Import: an archive's rows go in through the contract's reimport commands, and only through them.

First the whole archive is checked and everything that cannot be imported is listed; only then is anything
written, chunk by chunk. A chunk's identity is the campaign, the file's hash and its place, so an import
that was interrupted is simply run again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, Final, NamedTuple

from treadle import limits
from treadle.access.caller import Caller
from treadle.engine.core import Engine
from treadle.engine.reimport import Chunk, Done, ReimportJob
from treadle.engine.state import Deployed, State
from treadle.errors import InvalidInput, StoreError
from treadle.model.facts import Cells, Key, Range, Row, UniqueRef
from treadle.model.types import List
from treadle.model.values import scan_json
from treadle.plan import ReimportPlan
from treadle.portability.archive import File, Manifest, check_files, lines_of, read_manifest
from treadle.ports.store import ReadTx

Progress = Callable[[int, int], None]
MOST_PROBLEMS: Final = 20
_CHUNK_BYTES: Final = 4 * limits.MIB


class ImportPlan(NamedTuple):
    """What an import would do: rows by entity in the order they go in, and what cannot go in."""

    rows: dict[str, int]
    already: int
    problems: tuple[str, ...]


class Imported(NamedTuple):
    """A finished import: rows written now, rows that an earlier run had written, the last record."""

    rows: int
    already: int
    commit: int


def plan_import(engine: Engine, folder: Path, campaign: str, caller: Caller) -> ImportPlan:
    """Check an archive and say what an import would do, without writing. Errors as `import_archive`."""
    return _Import(engine, folder, campaign, caller).plan()


def import_archive(
    engine: Engine, folder: Path, campaign: str, caller: Caller, *, progress: Progress | None = None
) -> Imported:
    """Import the archive in `folder` as part of `campaign`, a name of the operator's choice.

    State and lease fields are kept exactly; a row's revision is one above the exported one and above any
    that a deleted row of its key had. Run again, it goes on where it stopped. `progress` is called with rows
    done and in all. Raises `Denied` without the `restore` permission, `InvalidInput` for an archive that was
    changed or holds what cannot be imported (all of it is listed, and nothing was written).
    """
    return _Import(engine, folder, campaign, caller).run(progress)


class _Import:
    def __init__(self, engine: Engine, folder: Path, campaign: str, caller: Caller) -> None:
        if not campaign:
            raise InvalidInput(
                "name the import, so that it can be run again; any text will do", path="campaign"
            )
        self._engine = engine
        self._folder = folder
        self._campaign = campaign
        self._caller = caller
        self._state: State = engine.refresh()
        self._state.roles.check_permission(caller, "restore")
        self._deployed: Deployed = self._state.require()
        self._manifest: Manifest = read_manifest(folder)
        check_files(folder, self._manifest)
        self._plans = {plan.entity.name: plan for plan in self._deployed.plan.reimports.values()}

    def plan(self) -> ImportPlan:
        """Everything that stands in the way, in the order it would be met."""
        problems = list(self._refused())
        if problems:
            return ImportPlan({}, 0, tuple(problems))
        rows: dict[str, int] = {}
        already = 0
        with self._engine.store.read() as tx:
            view = _Planned(tx, self._deployed)
            for file in self._ordered():
                rows[file.name] = file.lines
                for chunk, first in self._chunks(file, problems):
                    if tx.receipts([chunk.identity(self._state)])[0] is not None:
                        already += len(chunk.records)
                    else:
                        problems += self._problems(chunk, first, file, view)
                    view.add(self._plans[file.name], chunk.records)
                    if len(problems) > MOST_PROBLEMS:
                        return ImportPlan(rows, already, (*problems[:MOST_PROBLEMS], "… and more"))
        return ImportPlan(rows, already, tuple(problems))

    def run(self, progress: Progress | None) -> Imported:
        """Plan, then write."""
        planned = self.plan()
        if planned.problems:
            listed = "\n  ".join(planned.problems)
            raise InvalidInput(f"nothing was imported, since this cannot be:\n  {listed}", path="archive")
        total, done, written, last = sum(planned.rows.values()), 0, 0, 0
        for file in self._ordered():
            for chunk, _ in self._chunks(file, []):
                answer = self._submit(chunk)
                done += len(chunk.records)
                written += 0 if answer.replayed else len(chunk.records)
                last = max(last, answer.number)
                if progress is not None:
                    progress(done, total)
        return Imported(written, done - written, last)

    def _submit(self, chunk: Chunk) -> Done:
        size = 1024 * len(chunk.records)
        answer = self._engine.submit([ReimportJob(self._caller, chunk, size)])[0]
        if isinstance(answer, BaseException):
            raise answer
        done: Done = answer
        if not done.success:
            raise StoreError(
                f"chunk {chunk.number} of {chunk.reimport} ended as {done.outcome}: the database changed "
                "since the import was planned. What was imported before stays; look, and run it again"
            )
        return done

    def _refused(self) -> Iterator[str]:
        manifest, contract = self._manifest, self._deployed.contract
        if manifest.contract != contract.name:
            yield f"the archive is of contract {manifest.contract}, and {contract.name} is deployed here"
        for file in self._manifest.files:
            if file.kind != "entity" or not file.lines:
                continue
            if file.name not in self._deployed.tables:
                yield f"{file.lines} rows of {file.name}: the deployed contract has no such entity"
            elif file.name not in self._plans:
                yield f"{file.lines} rows of {file.name}: the contract declares no reimport command for it"

    def _ordered(self) -> list[File]:
        """The entity files, each after those whose rows it may refer to, and roots before their children."""
        files = {
            file.name: file
            for file in self._manifest.files
            if file.kind == "entity" and file.lines and file.name in self._plans
        }
        contract = self._deployed.contract
        needs = {
            entity.name: {reference.target for reference in entity.references} - {entity.name}
            for entity in contract.entities
        }
        for aggregate in contract.aggregates:
            for child in aggregate.children:
                needs[child].add(aggregate.root)
        return [files[name] for name in TopologicalSorter(needs).static_order() if name in files]

    def _chunks(self, file: File, problems: list[str]) -> Iterator[tuple[Chunk, int]]:
        """The file's chunks, each with the number of its first line; unreadable lines go to `problems`."""
        plan = self._plans[file.name]
        kind = plan.input.type
        most = kind.maximum if isinstance(kind, List) else 1
        contract = self._deployed.identity_bytes
        chunk = partial(Chunk, plan.name, self._campaign, bytes.fromhex(file.sha256))
        records: list[Cells] = []
        revisions: list[int] = []
        size = number = 0
        first = 1
        for place, line in enumerate(lines_of(self._folder / file.path), start=1):
            read = self._read(plan, line, f"{file.path}:{place}", problems)
            if read is None:
                continue
            if records and (len(records) == most or size + len(line) > _CHUNK_BYTES):
                yield chunk(number, tuple(records), tuple(revisions), contract), first
                number, first, size = number + 1, place, 0
                records, revisions = [], []
            records.append(read[0])
            revisions.append(read[1])
            size += len(line)
        if records:
            yield chunk(number, tuple(records), tuple(revisions), contract), first

    def _read(
        self, plan: ReimportPlan, line: bytes, where: str, problems: list[str]
    ) -> tuple[Cells, int] | None:
        kind = plan.input.type
        item = kind.item if isinstance(kind, List) else kind
        try:
            value: Any = scan_json(line)
            if not isinstance(value, dict) or set(value) != {"revision", "row"}:
                raise InvalidInput('a line is {"revision": …, "row": {…}}')
            revision = value["revision"]
            if type(revision) is not int or not 1 <= revision <= limits.U64_MAX:
                raise InvalidInput("a revision is an integer from 1 to 2**64-1")
            return self._deployed.codec.reader(item)(value["row"], "row"), revision
        except InvalidInput as error:
            problems.append(f"{where}: {error.message}")
        return None

    @staticmethod
    def _problems(chunk: Chunk, first: int, file: File, view: _Planned) -> list[str]:
        found = view.plan(chunk.reimport).problems(chunk.records, chunk.revisions, view)
        return [
            f"{file.path}:{first + each.record}: {each.code} ({each.where}){_hint(each.code)}"
            for each in found
        ]


def _hint(code: str) -> str:
    """What to do about a problem that says too little by its code."""
    if code != "present":
        return ""
    return (
        "; the row is here already, or earlier in the archive; an import that was begun goes on under the "
        "same --campaign NAME"
    )


class _Planned:
    """The rows of the database together with those that the archive's earlier chunks would bring."""

    def __init__(self, tx: ReadTx, deployed: Deployed) -> None:
        self._tx = tx
        self._deployed = deployed
        self._rows: dict[tuple[str, Key], Row] = {}
        self._holders: dict[UniqueRef, Key] = {}

    def plan(self, name: str) -> ReimportPlan:
        return self._deployed.plan.reimports[name]

    def add(self, plan: ReimportPlan, records: Sequence[Cells]) -> None:
        """Take over a chunk's rows and unique entries."""
        entity = plan.entity
        for record in records:
            key = entity.key_of(record)
            self._rows[entity.name, key] = Row(1, ())
            for unique in entity.uniques:
                self._holders[entity.name, unique.name, unique.values_of(record)] = key

    def row(self, entity: str, key: Key) -> Row | None:
        planned = self._rows.get((entity, key))
        return planned or self._tx.rows(self._deployed.tables[entity], [key])[0]

    def last_revision(self, entity: str, key: Key) -> int:
        return self._tx.last_revisions(self._deployed.tables[entity], [key])[0]

    def holder(self, unique: UniqueRef) -> Key | None:
        return self._holders.get(unique) or self._tx.holders([unique])[0]

    def probe(self, range_: Range) -> Sequence[Key]:
        return self._tx.probe(self._deployed.tables[range_.entity], range_)
