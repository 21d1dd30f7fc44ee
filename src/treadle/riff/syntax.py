"""The syntax tree: what a contract says, before any name is looked up.

Every node knows its extent in the source. Two nodes are equal when they say the same; where they stand
does not matter. Reading order follows the grammar: names, types, expressions, data, workflows, commands,
access, the contract.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias

from treadle.riff.diagnostics import Extent

HUGE: Final = 10**60
"""What an integer of more than sixty digits reads as: out of every bound, and cheap to compare."""


@dataclass(frozen=True, slots=True)
class Node:
    at: Extent = field(compare=False)


@dataclass(frozen=True, slots=True)
class Name(Node):
    text: str


@dataclass(frozen=True, slots=True)
class Integer(Node):
    text: str

    @property
    def value(self) -> int:
        digits = self.text.lstrip("0")
        return int(digits or "0") if len(digits) <= 60 else HUGE


# Types.


@dataclass(frozen=True, slots=True)
class PlainType(Node):
    """`bool i64 u64 timestamp date uuid`."""

    name: str


@dataclass(frozen=True, slots=True)
class DecimalType(Node):
    precision: Integer
    scale: Integer


@dataclass(frozen=True, slots=True)
class MoneyType(Node):
    currency: Name


@dataclass(frozen=True, slots=True)
class StringType(Node):
    maximum: Integer


@dataclass(frozen=True, slots=True)
class BytesType(Node):
    maximum: Integer


@dataclass(frozen=True, slots=True)
class OptionalType(Node):
    item: TypeNode


@dataclass(frozen=True, slots=True)
class ListType(Node):
    """`minimum` is None where none is written."""

    item: TypeNode
    minimum: Integer | None
    maximum: Integer


@dataclass(frozen=True, slots=True)
class NamedType(Node):
    """An enum, or the entity of a list of records."""

    name: Name


TypeNode: TypeAlias = (
    PlainType | DecimalType | MoneyType | StringType | BytesType | OptionalType | ListType | NamedType
)


# Expressions.


@dataclass(frozen=True, slots=True)
class Constant(Node):
    """`kind` is the token's: TRUE FALSE NULL INTEGER FIXED QUOTED."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Path(Node):
    parts: tuple[Name, ...]

    @property
    def text(self) -> str:
        return ".".join(part.text for part in self.parts)


@dataclass(frozen=True, slots=True)
class Not(Node):
    operand: Expression


@dataclass(frozen=True, slots=True)
class Negate(Node):
    operand: Expression


@dataclass(frozen=True, slots=True)
class Step(Node):
    """An operator and its right operand; `is null` and `is not null` have none."""

    operator: str
    operand: Expression | None


@dataclass(frozen=True, slots=True)
class Chain(Node):
    """Operators of one level, read from the left: `first`, then each step."""

    first: Expression
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Exists(Node):
    entity: Name
    index: Name
    args: tuple[Expression, ...]


Expression: TypeAlias = Constant | Path | Not | Negate | Chain | Exists


# Data.


@dataclass(frozen=True, slots=True)
class Member(Node):
    """`name: type`: a key field, a field, an event's field, an input, a principal fact."""

    name: Name
    type: TypeNode
    secret: bool = False


@dataclass(frozen=True, slots=True)
class EnumDecl(Node):
    name: Name
    variants: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class Key(Node):
    fields: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Invariant(Node):
    name: Name
    expression: Expression


@dataclass(frozen=True, slots=True)
class Presence(Node):
    field: Name


@dataclass(frozen=True, slots=True)
class TextKey(Node):
    field: Name


@dataclass(frozen=True, slots=True)
class Index(Node):
    name: Name
    fields: tuple[Name, ...]
    options: tuple[Presence | TextKey, ...]


@dataclass(frozen=True, slots=True)
class Unique(Node):
    name: Name
    fields: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class Reference(Node):
    name: Name
    fields: tuple[Name, ...]
    target: Name
    target_fields: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class NoInbound(Node):
    pass


@dataclass(frozen=True, slots=True)
class RestrictPolicy(Node):
    entity: Name
    index: Name


@dataclass(frozen=True, slots=True)
class Relationship(Node):
    entity: Name
    reference: Name
    index_entity: Name
    index: Name
    maximum: Integer


@dataclass(frozen=True, slots=True)
class CascadePolicy(Node):
    relationships: tuple[Relationship, ...]


DeletePolicy: TypeAlias = NoInbound | RestrictPolicy | CascadePolicy
EntityItem: TypeAlias = Key | Member | Invariant | Index | Unique | Reference | DeletePolicy


@dataclass(frozen=True, slots=True)
class EntityDecl(Node):
    name: Name
    items: tuple[EntityItem, ...]


@dataclass(frozen=True, slots=True)
class EventDecl(Node):
    name: Name
    partition_by: tuple[Name, ...]
    fields: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Root(Node):
    entity: Name


@dataclass(frozen=True, slots=True)
class Child(Node):
    entity: Name


@dataclass(frozen=True, slots=True)
class PartitionBy(Node):
    expression: Expression


@dataclass(frozen=True, slots=True)
class ConflictKey(Node):
    expressions: tuple[Expression, ...]


AggregateItem: TypeAlias = Root | Child | PartitionBy | ConflictKey | Invariant


@dataclass(frozen=True, slots=True)
class AggregateDecl(Node):
    name: Name
    items: tuple[AggregateItem, ...]


# Workflows.


@dataclass(frozen=True, slots=True)
class Transition(Node):
    name: Name
    sources: tuple[Name, ...]
    destination: Name


@dataclass(frozen=True, slots=True)
class Lease(Node):
    name: Name
    owner: Name
    expires_at: Name
    fencing_token: Name
    attempts: Name | None
    minimum: Integer
    maximum: Integer


@dataclass(frozen=True, slots=True)
class WorkflowDecl(Node):
    name: Name
    entity: Name
    state: Name
    initial: Name | None
    transitions: tuple[Transition, ...]
    lease: Lease | None


# Commands.


@dataclass(frozen=True, slots=True)
class Entry(Node):
    """`name: expression` of an object, with the secret fields that it reveals."""

    name: Name
    value: Expression
    reveals: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Object(Node):
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Outcome(Node):
    name: Name
    payload: Object


@dataclass(frozen=True, slots=True)
class Input(Node):
    name: Name
    type: TypeNode


@dataclass(frozen=True, slots=True)
class Service(Node):
    """`kind` is `uuid_v7` or `transaction_time`."""

    name: Name
    kind: str


@dataclass(frozen=True, slots=True)
class IdempotencyKey(Node):
    expression: Expression


@dataclass(frozen=True, slots=True)
class Handler(Node):
    """`conflict NAME outcome` or `violates NAME outcome`."""

    kind: str
    constraint: Name
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Binding(Node):
    """`kind`: read mutate create delete init_or_mutate observe_or_initialize."""

    kind: str
    entity: Name
    key: tuple[Expression, ...]
    name: Name
    failure: Outcome | None = None
    handlers: tuple[Handler, ...] = ()
    restrict: Outcome | None = None
    cascade: Outcome | None = None
    initialize: Object | None = None


@dataclass(frozen=True, slots=True)
class Apply(Node):
    clauses: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class NoEffect(Node):
    pass


@dataclass(frozen=True, slots=True)
class Reject(Node):
    outcome: Outcome


Action: TypeAlias = Apply | NoEffect | Reject


@dataclass(frozen=True, slots=True)
class Arm(Node):
    """`when` is None for the `else` arm, which is last."""

    when: Expression | None
    action: Action


@dataclass(frozen=True, slots=True)
class Decision(Node):
    observe: Binding | None
    binding: Name
    arms: tuple[Arm, ...]


@dataclass(frozen=True, slots=True)
class Loop(Node):
    element: Name
    input: Name
    clauses: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class Require(Node):
    name: Name
    expression: Expression
    failure: Outcome


@dataclass(frozen=True, slots=True)
class Set(Node):
    target: Path
    value: Expression
    reveals: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Emit(Node):
    event: Name
    payload: Object


@dataclass(frozen=True, slots=True)
class DoTransition(Node):
    transition: Name
    binding: Name
    revision: Expression
    stale: Outcome
    illegal: Outcome


@dataclass(frozen=True, slots=True)
class DoLease(Node):
    """`values`: owner, fencing_token, duration_seconds, revision; `outcomes`: stale, invalid and so on."""

    op: str
    lease: Name
    binding: Name
    values: tuple[tuple[str, Expression], ...]
    outcomes: tuple[tuple[str, Outcome], ...]


@dataclass(frozen=True, slots=True)
class Return(Node):
    outcome: Outcome


Effect: TypeAlias = Set | Emit | DoTransition | DoLease
Clause: TypeAlias = Input | Service | IdempotencyKey | Binding | Decision | Loop | Require | Effect | Return


@dataclass(frozen=True, slots=True)
class CommandDecl(Node):
    name: Name
    bulk: bool
    clauses: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class ReimportDecl(Node):
    name: Name
    input: Input
    entity: Name
    source: Name
    failure: Outcome
    success: Outcome


# Access.


@dataclass(frozen=True, slots=True)
class PrincipalFact(Node):
    name: Name
    type: TypeNode


@dataclass(frozen=True, slots=True)
class Allow(Node):
    """`operation`: read create update delete."""

    operation: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class RowPolicy(Node):
    name: Name
    entity: Name
    rules: tuple[Allow, ...]


Declaration: TypeAlias = (
    EnumDecl
    | EntityDecl
    | EventDecl
    | AggregateDecl
    | WorkflowDecl
    | CommandDecl
    | ReimportDecl
    | PrincipalFact
    | RowPolicy
)


@dataclass(frozen=True, slots=True)
class Contract(Node):
    name: Name
    version: Integer
    declarations: tuple[Declaration, ...]
