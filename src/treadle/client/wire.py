"""Between Python values and what goes over the wire, for one interface of a contract.

Inputs are read by the same codec as in the database, so a value that it would refuse is refused here, with
the same words, before anything is sent. Receipts and pages become the objects that the embedded handle gives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

import msgspec

from treadle.client.interface import Interface
from treadle.engine.receipt import Receipt
from treadle.errors import ContractMismatch, InvalidInput, Malformed, RequestError
from treadle.history import Entry, GraphWritten, Written
from treadle.model import query as q
from treadle.model import types as t
from treadle.model.contract import Field, OutcomeDecl
from treadle.model.facts import Cells, RevisionFact
from treadle.model.values import Codec
from treadle.queries.page import Page

Document = Mapping[str, Any]

_ENCODE: Final = msgspec.json.Encoder().encode


class Command(NamedTuple):
    """A command as a client knows it. `key` is the name of its idempotency key, None where it has none."""

    name: str
    inputs: tuple[Field, ...]
    key: str | None
    outcomes: Mapping[str, OutcomeDecl]


class Line(NamedTuple):
    """A command that is ready to be sent: its body, and whether its key makes it safe to repeat."""

    command: str
    body: dict[str, Any]
    keyed: bool


class Face:
    """What a client knows of the deployed contract, ready for use. Immutable; any thread may use it."""

    def __init__(self, interface: Interface) -> None:
        self.interface = interface
        self.identity = interface.identity
        self.codec = Codec(interface.contract)
        self.commands = {
            one.name: Command(
                one.name, one.inputs, one.idempotency_key, {each.name: each for each in one.outcomes}
            )
            for one in interface.contract.commands
        }
        self.queries = {one.name: one for one in interface.queries}

    # What goes out.

    def line(
        self, command: str, given: Any, *, history: str | None = None, contract: str | None = None
    ) -> Line:
        """A command's request, after the input was read as the database reads it.

        `contract` is the identity that the caller was made for; without it, the one that is known here. A
        command that is not known here goes without an input: the server says if it is denied or not there.
        Raises `InvalidInput` or `Malformed`; where the caller was made for another contract than this one, a
        `ContractMismatch` instead.
        """
        declared = self.commands.get(command)
        body: dict[str, Any] = {"input": {}, "contract": self.identity if contract is None else contract}
        if history is not None:
            body["history"] = history
        if declared is None:
            return Line(command, body, keyed=False)
        try:
            cells = self.codec.input_reader(command).read(given).cells
        except RequestError:
            self.check_identity(contract)
            raise
        body["input"] = self._shown(declared.inputs, cells)
        return Line(command, body, declared.key is not None)

    def parameters(self, query: q.Query, given: Any, contract: str | None = None) -> dict[str, Any]:
        """A query's parameters as JSON-ready values, after they were read; the cursor may be among them.

        Raises as `line` does.
        """
        cursor = None
        if query.cursor is not None and isinstance(given, Mapping) and query.cursor in given:
            cursor = given[query.cursor]
            given = {name: value for name, value in given.items() if name != query.cursor}
        read = self.codec.fields_reader(f"query {query.name}", query.parameters)
        try:
            cells = read({} if given is None else given, "parameters")
        except RequestError:
            self.check_identity(contract)
            raise
        shown = self._shown(query.parameters, cells)
        return shown if cursor is None or query.cursor is None else {**shown, query.cursor: cursor}

    def check_identity(self, contract: str | None) -> None:
        """Raise `ContractMismatch` where the caller was made for another contract."""
        if contract is not None and contract != self.identity:
            raise ContractMismatch(
                "another contract is deployed than the one that the caller was made for; "
                "read the contract and generate the client again"
            )

    def _shown(self, fields: Sequence[Field], cells: Cells) -> dict[str, Any]:
        return {
            field.name: self.codec.json(field.type)(cell)
            for field, cell in zip(fields, cells, strict=True)
            if cell is not None
        }

    # What comes back.

    def receipt(self, command: str, document: Document) -> Receipt:
        """A command's receipt; raises `ContractMismatch` where it cannot be of this contract."""
        try:
            declared = self.commands[command]
            outcome = declared.outcomes[document["outcome"]]
            read = self.codec.fields_reader(outcome.name, outcome.fields)
            return Receipt(
                self,
                declared,
                outcome.name,
                read(document["fields"], "fields"),
                ok=outcome.success,
                commit=document["commit"],
                time=self._time(document["time"]),
                history=document["history"],
                revisions=[
                    RevisionFact(one["binding"], one.get("element"), one["revision"])
                    for one in document["workflow_revisions"]
                ],
                replayed=document["replayed"],
            )
        except (KeyError, TypeError, InvalidInput) as error:
            raise _unreadable(command, document) from error

    def page(self, query: q.Query, document: Document) -> Page:
        """A query's page; raises `ContractMismatch` where it cannot be of this contract."""
        try:
            fields = document["fields"]
            return Page(
                query,
                self,
                document["outcome"],
                self._record(query.members)(fields) if document["outcome"] == query.outcome else (),
                next=document["next"],
                commit=document["commit"],
                after_commit=document["after_commit"],
                history=document["history"],
            )
        except (KeyError, TypeError, InvalidInput) as error:
            raise _unreadable(f"query {query.name}", document) from error

    def _time(self, text: str) -> int:
        cell: int = self.codec.reader(t.TIMESTAMP)(text, "time")
        return cell

    def _record(self, members: Sequence[q.Member]) -> Callable[[Any], Any]:
        parts = [(member.name, self._value(member.value)) for member in members]
        return lambda fields: tuple(read(fields[name]) for name, read in parts)

    def _value(self, result: q.Result) -> Callable[[Any], Any]:
        if not isinstance(result, q.ShapeResult):
            cell = self.codec.reader(result.type)
            return lambda value: None if value is None else cell(value, "fields")
        record = self._record(result.members)
        if result.kind == "many":
            return lambda values: [record(value) for value in values]
        return lambda value: None if value is None else record(value)


def _unreadable(what: str, document: Document) -> ContractMismatch:
    commit = document.get("commit")
    where = f" (commit {commit})" if isinstance(commit, int) else ""
    return ContractMismatch(
        f"the answer of {what}{where} does not fit the contract that the client knows; "
        "it was stored under an older one, or the client and the server are of releases too far apart"
    )


def encoded(body: Mapping[str, Any]) -> bytes:
    """A JSON body."""
    return _ENCODE(body)


def parsed(data: bytes) -> Any:
    """A JSON text as plain values; raises `Malformed` for anything else."""
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise Malformed("the server's answer is no JSON") from error


def entry(document: Document) -> Entry:
    """A log record. Values are in their JSON forms: a record says nothing of their types."""
    try:
        data = {name: document[name] for name in Entry._fields}
        return Entry(**data)._replace(
            time=datetime.fromisoformat(document["time"]),
            revisions=tuple(
                (one["binding"], one.get("element"), one["revision"]) for one in document["revisions"]
            ),
            rows=tuple(Written(**row) for row in document["rows"]),
            events=tuple((one["event"], one["fields"]) for one in document["events"]),
            graph=GraphWritten.read(document["graph"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Malformed("the server's log record cannot be read by this release") from error
