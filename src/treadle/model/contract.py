"""The checked contract: every name resolved, every expression typed, nothing left to refuse.

`treadle.riff` makes it from text, `treadle.plan` makes programs from it, and the database keeps it as
JSON (`encode`, `decode`), so that opening a deployed database needs neither the reader nor the checks.
Reading order: expressions, outcomes, data (enums, entities, events, aggregates), workflows, commands,
access (principal facts, row policies), the contract.
"""

from __future__ import annotations

from typing import Final, TypeAlias
from typing import Literal as OneOf

import msgspec

from treadle.model.types import Decimal, Money, Type


class _Node(msgspec.Struct, frozen=True, tag_field="n"):
    """A node of the checked contract."""


# Expressions. Each knows its type; names are resolved to what they stand for.


class Literal(_Node, frozen=True, tag="literal"):
    """A constant. `value` is the cell; a decimal's or money's unscaled integer is text, as JSON wants."""

    value: bool | int | str | None
    type: Type

    @property
    def cell(self) -> bool | int | str | None:
        if isinstance(self.type, Decimal | Money) and isinstance(self.value, str):
            return int(self.value)
        return self.value


class Variant(_Node, frozen=True, tag="variant"):
    """`Enum.Variant`; the type is `Enum(enum)`."""

    enum: str
    name: str
    type: Type


class Input(_Node, frozen=True, tag="input"):
    name: str
    type: Type


class Element(_Node, frozen=True, tag="element"):
    """The loop's element, whole (a scalar, or a record)."""

    name: str
    type: Type


class ElementField(_Node, frozen=True, tag="element_field"):
    """A field of a record element."""

    element: str
    field: str
    type: Type


class Service(_Node, frozen=True, tag="service"):
    name: str
    type: Type


class TxTime(_Node, frozen=True, tag="tx_time"):
    """`tx.time`: the sealed transaction time."""

    type: Type


class BindingRow(_Node, frozen=True, tag="row"):
    """A whole binding, as a record."""

    binding: str
    type: Type


class BindingField(_Node, frozen=True, tag="field"):
    binding: str
    field: str
    type: Type


class OwnField(_Node, frozen=True, tag="own"):
    """A field of the row that an invariant, a policy, a partition or a conflict key is about.

    In an aggregate's invariant `entity` may be the root or a child; elsewhere it is the row's own entity.
    """

    entity: str
    field: str
    type: Type


class DatePart(_Node, frozen=True, tag="date_part"):
    """`timestamp.date`: the UTC day of a timestamp."""

    operand: Expr
    type: Type


class Unary(_Node, frozen=True, tag="unary"):
    op: OneOf["!", "-"]
    operand: Expr
    type: Type


class Binary(_Node, frozen=True, tag="binary"):
    """`left op right`; both sides have the same required type, or one is the optional of the other's."""

    op: OneOf["||", "&&", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/"]
    left: Expr
    right: Expr
    type: Type


class PrincipalFact(_Node, frozen=True, tag="fact"):
    """`principal.FACT`; only in row policies."""

    name: str
    type: Type


class IsNull(_Node, frozen=True, tag="is_null"):
    operand: Expr
    negated: bool
    type: Type


class In(_Node, frozen=True, tag="in"):
    """`item in list`; only in row policies, where the list is a principal fact."""

    item: Expr
    list: Expr
    type: Type


class Exists(_Node, frozen=True, tag="exists"):
    """`exists Entity.index(args)`: an entry of the whole index for these values; only in row policies."""

    entity: str
    index: str
    args: tuple[Expr, ...]
    type: Type


Expr: TypeAlias = (
    Literal
    | Variant
    | Input
    | Element
    | ElementField
    | Service
    | TxTime
    | BindingRow
    | BindingField
    | OwnField
    | DatePart
    | Unary
    | Binary
    | PrincipalFact
    | IsNull
    | In
    | Exists
)


class Assign(_Node, frozen=True, tag="assign"):
    """`name: expr` of an object, or the value a field is given."""

    name: str
    value: Expr


class Outcome(_Node, frozen=True, tag="outcome"):
    """An outcome where it is answered, with the expressions of its payload."""

    name: str
    fields: tuple[Assign, ...] = ()


# Data.


class Field(_Node, frozen=True, tag="member"):
    name: str
    type: Type
    secret: bool = False


class EnumDecl(_Node, frozen=True, tag="enum_decl"):
    name: str
    variants: tuple[str, ...]


class Invariant(_Node, frozen=True, tag="invariant"):
    name: str
    expr: Expr


class Index(_Node, frozen=True, tag="index"):
    """`presence` lists the optional fields that must be present; `text_keys` those indexed as UTF-8 bytes."""

    name: str
    fields: tuple[str, ...]
    presence: tuple[str, ...] = ()
    text_keys: tuple[str, ...] = ()


class Unique(_Node, frozen=True, tag="unique"):
    name: str
    fields: tuple[str, ...]


class Reference(_Node, frozen=True, tag="reference"):
    """`fields` of this entity hold the complete key of `target`, in the order `target_fields`."""

    name: str
    fields: tuple[str, ...]
    target: str
    target_fields: tuple[str, ...]


class NoInbound(_Node, frozen=True, tag="no_inbound"):
    pass


class Restrict(_Node, frozen=True, tag="restrict"):
    """A delete is refused while index `index` of `entity` has an entry that begins with the key."""

    entity: str
    index: str


class Relationship(_Node, frozen=True, tag="relationship"):
    """Rows of `entity` whose `reference` names the deleted key go with it, found by `index`."""

    entity: str
    reference: str
    index: str
    maximum: int


class Cascade(_Node, frozen=True, tag="cascade"):
    relationships: tuple[Relationship, ...]


DeletePolicy: TypeAlias = NoInbound | Restrict | Cascade


class Entity(_Node, frozen=True, tag="entity"):
    """`key` fields come first in every record of this entity, then `fields`."""

    name: str
    key: tuple[Field, ...]
    fields: tuple[Field, ...]
    invariants: tuple[Invariant, ...] = ()
    indexes: tuple[Index, ...] = ()
    uniques: tuple[Unique, ...] = ()
    references: tuple[Reference, ...] = ()
    delete_policy: DeletePolicy | None = None

    @property
    def members(self) -> tuple[Field, ...]:
        """Key fields, then fields: the order of a row's cells."""
        return self.key + self.fields


class Event(_Node, frozen=True, tag="event"):
    name: str
    partition_by: tuple[str, ...]
    fields: tuple[Field, ...]


class Aggregate(_Node, frozen=True, tag="aggregate"):
    """`partition_by` and `conflict_key` are expressions over `OwnField`s of the root's key."""

    name: str
    root: str
    children: tuple[str, ...]
    partition_by: Expr
    conflict_key: tuple[Expr, ...]
    invariants: tuple[Invariant, ...] = ()


# Workflows.


class Transition(_Node, frozen=True, tag="transition"):
    name: str
    sources: tuple[str, ...]
    destination: str


class Lease(_Node, frozen=True, tag="lease"):
    """Field names on the entity, and the inclusive bounds of a duration in seconds."""

    name: str
    owner: str
    expires_at: str
    fencing_token: str
    attempts: str | None
    minimum: int
    maximum: int


class Workflow(_Node, frozen=True, tag="workflow"):
    name: str
    entity: str
    state: str
    initial: str | None
    transitions: tuple[Transition, ...]
    lease: Lease | None


# Commands.


class ServiceValue(_Node, frozen=True, tag="service_value"):
    """`service name: uuid_v7` or `transaction_time`."""

    name: str
    kind: OneOf["uuid_v7", "transaction_time"]


class Named(_Node, frozen=True, tag="named"):
    """`conflict NAME outcome`, `violates NAME outcome`: what a broken constraint answers."""

    constraint: str
    outcome: Outcome


class Binding(_Node, frozen=True, tag="binding"):
    """A row that a command reads or writes.

    `failure` is the outcome of an absent row (`read`, `mutate`, `delete`) or a present one (`create`);
    `initialize` holds the initializer of `init_or_mutate` and `observe` (written: observe_or_initialize).
    """

    kind: OneOf["read", "mutate", "create", "delete", "init_or_mutate", "observe"]
    entity: str
    key: tuple[Expr, ...]
    name: str
    failure: Outcome | None = None
    conflicts: tuple[Named, ...] = ()
    violates: tuple[Named, ...] = ()
    restrict: Outcome | None = None
    cascade: Outcome | None = None
    initialize: tuple[Assign, ...] = ()


class Set(_Node, frozen=True, tag="set"):
    binding: str
    field: str
    value: Expr


class Emit(_Node, frozen=True, tag="emit"):
    event: str
    fields: tuple[Assign, ...]


class TransitionEffect(_Node, frozen=True, tag="do_transition"):
    """`revision` is the name of a direct `u64` input."""

    workflow: str
    transition: str
    binding: str
    revision: str
    stale: Outcome
    illegal: Outcome


class LeaseEffect(_Node, frozen=True, tag="do_lease"):
    """One of the five lease operations; owner, fencing token, duration and revision name direct inputs."""

    op: OneOf["claim", "renew", "release", "expire", "fence"]
    workflow: str
    lease: str
    binding: str
    revision: str
    stale: Outcome
    owner: str | None = None
    fencing_token: str | None = None
    duration: str | None = None
    unavailable: Outcome | None = None
    invalid: Outcome | None = None
    expired: Outcome | None = None
    exhausted: Outcome | None = None
    active: Outcome | None = None


Effect: TypeAlias = Set | Emit | TransitionEffect | LeaseEffect


class Require(_Node, frozen=True, tag="require"):
    name: str
    expr: Expr
    failure: Outcome


class Apply(_Node, frozen=True, tag="apply"):
    """`bindings` are creates only."""

    bindings: tuple[Binding, ...]
    effects: tuple[Effect, ...]


class NoEffect(_Node, frozen=True, tag="no_effect"):
    pass


class Reject(_Node, frozen=True, tag="reject"):
    outcome: Outcome


Action: TypeAlias = Apply | NoEffect | Reject


class Arm(_Node, frozen=True, tag="arm"):
    """`when` is None for the `else` arm, which is last."""

    when: Expr | None
    action: Action


class Decision(_Node, frozen=True, tag="decision"):
    """`decide binding { … }`; `observe` is its observe_or_initialize binding, None for a mutate binding."""

    binding: str
    observe: Binding | None
    arms: tuple[Arm, ...]


class Loop(_Node, frozen=True, tag="loop"):
    element: str
    input: str
    bindings: tuple[Binding, ...]
    decisions: tuple[Decision, ...]
    requires: tuple[Require, ...]
    effects: tuple[Effect, ...]


class OutcomeDecl(_Node, frozen=True, tag="outcome_decl"):
    """One declared outcome of a command with its payload's types, in the order of first use; success last."""

    name: str
    fields: tuple[Field, ...]
    success: bool


class Command(_Node, frozen=True, tag="command"):
    """An ordinary or bulk command.

    `partition` is the aggregate's partition expression with this command's key arguments put in: inputs,
    constants, and a service value where a create begins a partition. It is None only while C009 is refused.
    """

    name: str
    bulk: bool
    inputs: tuple[Field, ...]
    services: tuple[ServiceValue, ...]
    idempotency_key: str | None
    bindings: tuple[Binding, ...]
    decisions: tuple[Decision, ...]
    loop: Loop | None
    requires: tuple[Require, ...]
    effects: tuple[Effect, ...]
    success: Outcome
    outcomes: tuple[OutcomeDecl, ...]
    partition: Expr | None


class Reimport(_Node, frozen=True, tag="reimport"):
    """Restores exported rows of one entity; run by the operator's import only."""

    name: str
    input: Field
    entity: str
    failure: Outcome
    success: Outcome
    outcomes: tuple[OutcomeDecl, ...]


# Access.


class PolicyRule(_Node, frozen=True, tag="rule"):
    operation: OneOf["read", "create", "update", "delete"]
    expr: Expr


class RowPolicy(_Node, frozen=True, tag="row_policy"):
    name: str
    entity: str
    rules: tuple[PolicyRule, ...]


class Contract(_Node, frozen=True, tag="contract"):
    """A whole contract. `identity` is the SHA-256 (hex) of its canonical source form."""

    name: str
    version: int
    identity: str
    enums: tuple[EnumDecl, ...] = ()
    entities: tuple[Entity, ...] = ()
    events: tuple[Event, ...] = ()
    aggregates: tuple[Aggregate, ...] = ()
    workflows: tuple[Workflow, ...] = ()
    commands: tuple[Command, ...] = ()
    reimports: tuple[Reimport, ...] = ()
    principal_facts: tuple[Field, ...] = ()
    row_policies: tuple[RowPolicy, ...] = ()


_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(Contract)


def encode(contract: Contract) -> bytes:
    """The compiled form that a database keeps: JSON, the same bytes for the same contract."""
    return _ENCODER.encode(contract)


def decode(data: bytes) -> Contract:
    """The contract that `encode` wrote; raises `msgspec.ValidationError` for anything else."""
    return _DECODER.decode(data)
