"""The log record: what one commit was, who caused it, what it decided and what it changed.

A record is one canonical record (docs/formats/record.md lists its fields byte by byte), chained to its
predecessor by `previous`. Pieces whose shape the contract decides (the input, a row image, an outcome's
fields) arrive encoded and stand enclosed, so a record is readable without the contract and is written
without encoding anything twice.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Final, NamedTuple, TypeAlias

from treadle.errors import check
from treadle.model import coders, compounds
from treadle.model.canonical import digest
from treadle.model.coders import ENCLOSED, HASH, LABEL, STRING, TIMESTAMP, U64, Coder
from treadle.model.compounds import Member
from treadle.model.facts import RevisionFact

GENESIS: Final = bytes(32)
"""`previous` of the first record."""

QuadText: TypeAlias = tuple[str, str, str, str]


class RowImage(NamedTuple):
    """One written row. `key` is the canonical list of its key cells; `image` the canonical record of the
    row after the commit, None for a delete; `before` the number of the record that last wrote the row,
    0 for a new one; `revision` the row's revision after the commit (the last one, for a delete)."""

    entity: str
    key: bytes
    before: int
    revision: int
    image: bytes | None


class EventImage(NamedTuple):
    """One emitted event: the canonical list of its partition's cells, the canonical record of all fields."""

    name: str
    partition: bytes
    fields: bytes


class LogRecord(NamedTuple):
    """A commit. Times are microseconds since 1970 UTC; `bytes` fields of one word are canonical pieces.

    Attributes:
        number: the commit's number, from 1 without gaps.
        time: the transaction time.
        previous: the hash of the record before, `GENESIS` for the first.
        kind: command, update, deploy, roles, grant, clock, restore, …
        name: the command's name, or what the kind is about.
        principal: the service that acted.
        actor_kind: what the principal is: embedded, service, operator, …
        request: the request's id, 16 bytes.
        role: the role that allowed it, None where none is needed.
        actor_instance: host, process or address: recorded, never compared.
        tenant: the tenant as a canonical value.
        policy_set: names of the row policies in force.
        facts: the principal's facts, a canonical record.
        services: the sealed service values, a canonical record.
        manual_clock: the time came from a test clock.
        contract: the contract's identity, 32 bytes, with `contract_version`.
        semantics: the version of the evaluation's rules.
        identity: the idempotency identity, 32 bytes; `input_hash` the keyed hash of `input`, 32 bytes.
        input: the input without its idempotency key, a canonical record.
        outcome: the declared outcome's name; None for a terminal failure and for other kinds.
        fields: the outcome's fields, a canonical record.
        success: whether it is the command's `return` outcome.
        failure: a terminal failure's code, with the `constraint` that was broken.
        revisions, changes, events: what a command wrote and emitted, in order.
        quads_removed, quads_added, graphs_created, graphs_dropped: the net change of the graph, statements
            and names in N-Quads spelling (graph '' for the default graph).
        body: a canonical value for kinds that have no input and outcome.
    """

    number: int = 0
    time: int = 0
    previous: bytes = GENESIS
    kind: str = ""
    name: str = ""
    principal: str = ""
    actor_kind: str = ""
    request: bytes | None = None
    role: str | None = None
    actor_instance: str | None = None
    tenant: bytes | None = None
    policy_set: tuple[str, ...] = ()
    facts: bytes | None = None
    services: bytes | None = None
    manual_clock: bool = False
    contract: bytes | None = None
    contract_version: int | None = None
    semantics: int | None = None
    identity: bytes | None = None
    input_hash: bytes | None = None
    input: bytes | None = None
    outcome: str | None = None
    fields: bytes | None = None
    success: bool = False
    failure: str | None = None
    constraint: str | None = None
    revisions: tuple[RevisionFact, ...] = ()
    changes: tuple[RowImage, ...] = ()
    events: tuple[EventImage, ...] = ()
    quads_removed: tuple[QuadText, ...] = ()
    quads_added: tuple[QuadText, ...] = ()
    graphs_created: tuple[str, ...] = ()
    graphs_dropped: tuple[str, ...] = ()
    body: bytes | None = None

    def at(self, number: int, time: int, previous: bytes) -> LogRecord:
        """This record at its place in the log; the batch knows the place last."""
        return LogRecord._make((number, time, previous, *self[3:]))


def _record(*members: tuple[str, Coder]) -> Coder:
    return compounds.record([Member(name, coder) for name, coder in members])


_REVISION: Final = compounds.made(
    _record(("binding", LABEL), ("element", compounds.optional(U64)), ("revision", U64)), RevisionFact._make
)
_CHANGE: Final = compounds.made(
    _record(
        ("entity", LABEL),
        ("key", ENCLOSED),
        ("before", U64),
        ("revision", U64),
        ("image", compounds.optional(ENCLOSED)),
    ),
    RowImage._make,
)
_EVENT: Final = compounds.made(
    _record(("name", LABEL), ("partition", ENCLOSED), ("fields", ENCLOSED)), EventImage._make
)
_QUADS: Final = compounds.list_(compounds.row((STRING, STRING, STRING, STRING)))
_NAMES: Final = compounds.list_(LABEL)

# Each attribute of LogRecord in order: the field's name in the bytes, and its coder.
_FIELDS: Final[dict[str, tuple[str, Coder]]] = {
    "number": ("number", U64),
    "time": ("time", TIMESTAMP),
    "previous": ("previous", HASH),
    "kind": ("kind", LABEL),
    "name": ("name", LABEL),
    "principal": ("by", LABEL),
    "actor_kind": ("actor", LABEL),
    "request": ("request", coders.UUID),
    "role": ("role", LABEL),
    "actor_instance": ("instance", LABEL),
    "tenant": ("tenant", ENCLOSED),
    "policy_set": ("policies", _NAMES),
    "facts": ("facts", ENCLOSED),
    "services": ("services", ENCLOSED),
    "manual_clock": ("manual", coders.BOOL),
    "contract": ("contract", HASH),
    "contract_version": ("version", U64),
    "semantics": ("semantics", U64),
    "identity": ("identity", HASH),
    "input_hash": ("hash", HASH),
    "input": ("input", ENCLOSED),
    "outcome": ("outcome", LABEL),
    "fields": ("fields", ENCLOSED),
    "success": ("success", coders.BOOL),
    "failure": ("failure", LABEL),
    "constraint": ("constraint", LABEL),
    "revisions": ("revisions", compounds.list_(_REVISION)),
    "changes": ("changes", compounds.list_(_CHANGE)),
    "events": ("events", compounds.list_(_EVENT)),
    "quads_removed": ("removed", _QUADS),
    "quads_added": ("added", _QUADS),
    "graphs_created": ("created", compounds.list_(STRING)),
    "graphs_dropped": ("dropped", compounds.list_(STRING)),
    "body": ("body", ENCLOSED),
}
_REQUIRED: Final = 7
"""The first so many attributes are always there; the others may be absent."""

check(tuple(_FIELDS) == LogRecord._fields, "every attribute of a log record has a coder")


def _members() -> list[Member]:
    members = []
    for at, (attribute, (name, coder)) in enumerate(_FIELDS.items()):
        default = LogRecord._field_defaults[attribute]
        if at >= _REQUIRED:
            coder = compounds.optional(coder) if default is None else compounds.omitted(coder, default)
        members.append(Member(name, coder))
    return members


_CODER: Final = compounds.record(_members())
_READ: Final = coders.reader(_CODER)
_WRITE: Final = coders.writer(_CODER)


def encode(record: LogRecord) -> bytes:
    """The record's canonical bytes.

    Enclosed pieces are taken as they are. Raises `InvariantBroken` for a hash that is not 32 bytes,
    `struct.error` for a number out of range.
    """
    return _WRITE(record)


def decode(data: bytes) -> LogRecord:
    """The record that `encode` wrote; raises `DatabaseCorrupt` for any other bytes.

    Enclosed pieces stay bytes: their coders (or `canonical.parse`) read them.
    """
    return LogRecord._make(_READ(data))


def chain(previous: bytes, data: bytes) -> bytes:
    """The hash of an encoded record that follows the hash `previous`, 32 bytes.

    SHA-256 in the domain `treadle.log/v1` over `previous` and the record's bytes (which state `previous`
    again, so that a record names its predecessor by itself): each hash covers the whole log up to here.
    """
    return digest("treadle.log/v1", previous + data)


_RECEIPT: Final = coders.writer(
    _record(
        ("commit", U64),
        ("constraint", compounds.optional(LABEL)),
        ("failure", compounds.optional(LABEL)),
        ("fields", compounds.optional(ENCLOSED)),
        ("outcome", compounds.optional(LABEL)),
        ("revisions", compounds.list_(_REVISION)),
        ("success", coders.BOOL),
        ("time", TIMESTAMP),
    )
)
_RECEIPT_PARTS: Final = attrgetter(
    "number", "constraint", "failure", "fields", "outcome", "revisions", "success", "time"
)


def receipt_bytes(record: LogRecord) -> bytes:
    """What the caller is told, as canonical bytes: a replay, and every store, gives the same ones."""
    return _RECEIPT(_RECEIPT_PARTS(record))
