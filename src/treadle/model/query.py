"""The checked query: every name resolved, every expression typed, the way to the rows decided.

`treadle.riffql` makes it from text and a contract, and the database keeps it as JSON (`encode`, `decode`),
so that running a deployed query needs neither the reader nor the checks. Reading order: operands and
conditions, access, statements, results, the query.
"""

from __future__ import annotations

from typing import Final, TypeAlias
from typing import Literal as OneOf

import msgspec

from treadle.limits import DECIMAL_PRECISION
from treadle.model.contract import Field, Literal, TxTime, Variant
from treadle.model.types import BOOL, U64_, Decimal, Optional, Type


class _Node(msgspec.Struct, frozen=True, tag_field="n"):
    """A node of the checked query."""


# Conditions.


class Parameter(_Node, frozen=True, tag="parameter"):
    """A value that the caller gives. In `in`, its type may be a list."""

    name: str
    type: Type


class RowField(_Node, frozen=True, tag="row_field"):
    """A field of a row that an earlier statement read; absent where that row is."""

    row: str
    field: str
    type: Type


Operand: TypeAlias = Literal | Variant | TxTime | Parameter | RowField

Op: TypeAlias = OneOf["==", "!=", "<", "<=", ">", ">=", "in", "prefix", "is null", "is not null"]


class Condition(_Node, frozen=True, tag="condition"):
    """`field op operands`, a condition on one row; conditions of a list all hold.

    `in` has its entries as operands, or one parameter that is a list; the tests for null have none. It is
    asked only while every parameter in `when` is present (a `bool` one: true).
    """

    field: str
    op: Op
    operands: tuple[Operand, ...] = ()
    when: tuple[str, ...] = ()


# How the rows are found.


class Access(_Node, frozen=True, tag="access"):
    """The way to a statement's rows: one row by its key or a unique, or a range of an index.

    `name` is the unique's or index's; the key itself, walked as an index, has kind "index" and no name.
    `fixed` are conditions on the leading fields of the key, unique or index, in its order: `==`, `is null`
    or `in`. For an index, `walk` are the fields after those, the rest of the key last, and `ranges` are
    conditions on the first of them. `order` are the fields by which rows come, which end in the key:
    `walk`, with fields that `in` fixes where the query orders by them. `rest` are conditions that are asked
    of each row that is found.
    """

    kind: OneOf["key", "unique", "index"]
    name: str
    fixed: tuple[Condition, ...]
    walk: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    descending: bool = False
    ranges: tuple[Condition, ...] = ()
    rest: tuple[Condition, ...] = ()


Kind: TypeAlias = OneOf["one", "maybe", "many"]
Reads: TypeAlias = OneOf["rows", "groups", "totals"]


class Statement(_Node, frozen=True, tag="statement"):
    """One reading of one entity.

    `parent` is the `many` row in which it is nested: it runs once for each of them. `reads` says what for:
    its rows, its groups (by `group`), or totals over all its rows. `take` bounds rows and groups, and
    `pages` is true where a cursor goes on after them. `otherwise` is the outcome of a `one` without a row.
    """

    kind: Kind
    row: str
    entity: str
    access: Access
    parent: str | None = None
    reads: Reads = "rows"
    take: int | None = None
    pages: bool = False
    group: tuple[str, ...] = ()
    otherwise: str | None = None


# What is answered.


class FieldResult(_Node, frozen=True, tag="field_result"):
    """A field of a row or group."""

    row: str
    field: str
    type: Type


class RevisionResult(_Node, frozen=True, tag="revision_result"):
    """A row's revision."""

    row: str

    @property
    def type(self) -> Type:
        return U64_


class AggregateResult(_Node, frozen=True, tag="aggregate_result"):
    """`op` over the rows of `row` (or of its group): of `field`, or of `conditions` for any and all."""

    row: str
    op: OneOf["count", "sum", "min", "max", "any", "all"]
    type: Type
    field: str | None = None
    conditions: tuple[Condition, ...] = ()


class ShapeResult(_Node, frozen=True, tag="shape_result"):
    """Chosen fields of a row: one record, one or null (`maybe`), or a list of them (`many`)."""

    row: str
    kind: Kind
    members: tuple[Member, ...]


Result: TypeAlias = FieldResult | RevisionResult | AggregateResult | ShapeResult


class Member(_Node, frozen=True, tag="result_member"):
    name: str
    value: Result


# The query.


class Query(_Node, frozen=True, tag="query"):
    """A whole query. `text` is its source in the one layout, `identity` the SHA-256 of its canonical form.

    `parameters` are in declared order, the cursor not among them (`cursor` is its name, where there is
    one). `outcome` is the name of the answer with `members` as its fields; `failures` are the outcomes of
    absent rows, which have none.
    """

    name: str
    identity: str
    text: str
    parameters: tuple[Field, ...]
    statements: tuple[Statement, ...]
    outcome: str
    members: tuple[Member, ...]
    failures: tuple[str, ...] = ()
    cursor: str | None = None

    @property
    def outcomes(self) -> tuple[str, ...]:
        """All outcomes, the success first."""
        return (self.outcome, *self.failures)

    @property
    def module_hash(self) -> bytes:
        """The 32 bytes that name the deployed query text."""
        return bytes.fromhex(self.identity)

    def statement(self, row: str) -> Statement:
        """The statement that reads `row`."""
        return next(statement for statement in self.statements if statement.row == row)

    @property
    def rows(self) -> Member | None:
        """The list at the top of the answer, where there is exactly one: what a worker reads."""
        lists = [
            member
            for member in self.members
            if isinstance(member.value, ShapeResult) and member.value.kind == "many"
        ]
        return lists[0] if len(lists) == 1 else None


def aggregate_type(op: str, kind: Type) -> Type:
    """What an aggregate of a field of `kind` answers: a sum has all the digits there are, min may be null."""
    if op == "count":
        return U64_
    if op in ("any", "all"):
        return BOOL
    if op == "sum":
        return Decimal(DECIMAL_PRECISION, kind.scale) if isinstance(kind, Decimal) else kind
    return Optional(kind)


_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(Query)


def encode(query: Query) -> bytes:
    """The compiled form that a database keeps: JSON, the same bytes for the same query."""
    return _ENCODER.encode(query)


def decode(data: bytes) -> Query:
    """The query that `encode` wrote; raises `msgspec.ValidationError` for anything else."""
    return _DECODER.decode(data)
