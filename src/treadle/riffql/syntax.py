"""The syntax tree of query texts, before any name is looked up.

Names, types and expressions are the contract's nodes (`treadle.riff.syntax`), with four forms more: a
parameter, `in`, `prefix` and `when`. Reading order: expressions, statements, results, the query.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from treadle.riff.syntax import Expression, Integer, Name, Node, Path, TypeNode


@dataclass(frozen=True, slots=True)
class ParameterUse(Node):
    """`$name` in an expression; `name` is without the sign."""

    name: str


@dataclass(frozen=True, slots=True)
class InList(Node):
    """The right side of `in`: written entries."""

    entries: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class When(Node):
    """`when $parameter { conditions }`."""

    parameter: ParameterUse
    body: Term


Term: TypeAlias = Expression | ParameterUse | InList | When
"""What stands in a condition. A chain of contract nodes may hold the four forms as operands."""


# Statements.


@dataclass(frozen=True, slots=True)
class OrderTerm(Node):
    path: Path
    descending: bool


@dataclass(frozen=True, slots=True)
class Take(Node):
    """`take N after $cursor`; `after` is None where nothing is written."""

    count: Integer
    after: ParameterUse | None


@dataclass(frozen=True, slots=True)
class Statement(Node):
    """`one|maybe|many row from Entity …`."""

    kind: str
    row: Name
    entity: Name
    where: Term | None
    group: tuple[Path, ...]
    order: tuple[OrderTerm, ...]
    take: Take | None
    otherwise: Name | None


# Results.


@dataclass(frozen=True, slots=True)
class Shape(Node):
    """`path`, or `path { members }`: a field, a whole row, or some of a row's fields."""

    path: Path
    members: tuple[Member, ...] | None


@dataclass(frozen=True, slots=True)
class Aggregate(Node):
    """`count(row)`, `sum(row.field)`, `any(condition)` …"""

    op: str
    operand: Term


Result: TypeAlias = Shape | Aggregate


@dataclass(frozen=True, slots=True)
class Member(Node):
    """`name`, or `name: result`; `reveals` lists the secret fields that it may show."""

    name: Name
    value: Result | None
    reveals: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Return(Node):
    outcome: Name
    members: tuple[Member, ...]


# Queries.


@dataclass(frozen=True, slots=True)
class FieldType(Node):
    """`Entity.field` as a type."""

    entity: Name
    field: Name


ParameterType: TypeAlias = TypeNode | FieldType
"""A type of contracts, in which `Entity.field` may stand for a field's type."""


@dataclass(frozen=True, slots=True)
class Parameter(Node):
    """`$name: type`; `name` is without the sign, its extent is the sign's and the name's."""

    name: Name
    type: ParameterType


@dataclass(frozen=True, slots=True)
class Query(Node):
    name: Name
    parameters: tuple[Parameter, ...]
    statements: tuple[Statement, ...]
    answer: Return
    outcomes: tuple[Name, ...]
