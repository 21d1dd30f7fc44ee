"""What the declarations of a contract are, while it is checked.

Symbols point to their syntax, to each other and to what the checks find out about them. A name that could
not be resolved is None and was reported; what depends on it is left alone, so that one mistake gives one
diagnostic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from treadle.model import contract as m
from treadle.model.types import Type
from treadle.riff import syntax as s
from treadle.riff.diagnostics import Extent, Report


@dataclass(slots=True)
class FieldSymbol:
    """A field of an entity or event. `type` is None where the written type was refused."""

    node: s.Member
    type: Type | None
    key: bool = False

    @property
    def name(self) -> str:
        return self.node.name.text

    @property
    def secret(self) -> bool:
        return self.node.secret


@dataclass(slots=True)
class EnumSymbol:
    node: s.EnumDecl
    variants: dict[str, s.Name] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.node.name.text


@dataclass(slots=True)
class EntitySymbol:
    """`fields` holds every field by name, key fields first; `inbound` the references that target it."""

    node: s.EntityDecl
    fields: dict[str, FieldSymbol] = field(default_factory=dict)
    invariants: dict[str, s.Invariant] = field(default_factory=dict)
    indexes: dict[str, s.Index] = field(default_factory=dict)
    uniques: dict[str, s.Unique] = field(default_factory=dict)
    references: dict[str, s.Reference] = field(default_factory=dict)
    sound: list[s.Reference] = field(default_factory=list)  # the references that were not refused
    policy: s.DeletePolicy | None = None
    aggregate: AggregateSymbol | None = None
    workflow: WorkflowSymbol | None = None
    inbound: list[tuple[EntitySymbol, s.Reference]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.node.name.text

    @property
    def key(self) -> list[FieldSymbol]:
        return [member for member in self.fields.values() if member.key]

    @property
    def lease(self) -> s.Lease | None:
        return self.workflow.node.lease if self.workflow else None

    @property
    def secrets(self) -> set[str]:
        return {name for name, member in self.fields.items() if member.secret}

    def partition(self) -> m.Expr | None:
        """The aggregate's partition over this entity's own key fields."""
        if self.aggregate is None or self.aggregate.partition is None:
            return None
        return self.own(self.aggregate.partition)

    def own(self, expr: m.Expr) -> m.Expr:
        """An expression over the aggregate root's key, over this entity's (a child's key begins with it)."""
        from_root = {
            name: m.OwnField(self.name, name, member.type)
            for name, member in self.fields.items()
            if member.type
        }
        return substitute(expr, from_root)


@dataclass(slots=True)
class EventSymbol:
    node: s.EventDecl
    fields: dict[str, FieldSymbol] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.node.name.text


@dataclass(slots=True)
class AggregateSymbol:
    node: s.AggregateDecl
    root: EntitySymbol | None = None
    children: list[EntitySymbol] = field(default_factory=list)
    partition: m.Expr | None = None
    conflict_key: Sequence[m.Expr | None] = ()
    invariants: dict[str, s.Invariant] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.node.name.text


@dataclass(slots=True)
class WorkflowSymbol:
    node: s.WorkflowDecl
    entity: EntitySymbol | None = None
    enum: EnumSymbol | None = None
    transitions: dict[str, s.Transition] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.node.name.text

    @property
    def lease_fields(self) -> dict[str, str]:
        """The part that each lease field plays, by field name: owner, expires_at, fencing_token, attempts."""
        lease = self.node.lease
        if lease is None:
            return {}
        parts = {lease.owner.text: "owner", lease.expires_at.text: "expires_at"}
        parts[lease.fencing_token.text] = "fencing_token"
        if lease.attempts is not None:
            parts[lease.attempts.text] = "attempts"
        return parts


BlockKind: TypeAlias = Literal["command", "loop", "arm"]


@dataclass(slots=True)
class BlockSymbol:
    """A list of clauses: a command's, its loop's, or an apply arm's.

    An arm knows the bindings whose order is below `known`; elsewhere it is None, and all are known.
    """

    kind: BlockKind
    parent: BlockSymbol | None
    known: int | None = None
    bindings: list[BindingSymbol] = field(default_factory=list)
    decisions: list[DecisionSymbol] = field(default_factory=list)
    requires: list[s.Require] = field(default_factory=list)
    effects: list[s.Effect] = field(default_factory=list)
    decision: DecisionSymbol | None = None  # an arm's

    def sees(self, other: BlockSymbol) -> bool:
        """Whether names of `other` can be used here."""
        return self is other or (self.parent is not None and self.parent.sees(other))

    @property
    def in_loop(self) -> bool:
        return self.kind == "loop" or (self.parent is not None and self.parent.in_loop)


@dataclass(slots=True)
class BindingSymbol:
    """`order` counts a command's bindings in source order; `decided` is the decision that names it."""

    node: s.Binding
    entity: EntitySymbol | None
    block: BlockSymbol
    order: int
    key: Sequence[m.Expr | None] = ()
    decided: DecisionSymbol | None = None

    @property
    def name(self) -> str:
        return self.node.name.text

    @property
    def kind(self) -> str:
        return self.node.kind

    @property
    def at(self) -> Extent:
        return self.node.name.at

    @property
    def creates(self) -> bool:
        """Whether the binding may make a row, which begins with what the command gives it."""
        return self.kind in ("create", "init_or_mutate", "observe_or_initialize")


@dataclass(slots=True)
class DecisionSymbol:
    """`known`: its conditions know the bindings of a lower order."""

    node: s.Decision
    block: BlockSymbol
    known: int = 0
    binding: BindingSymbol | None = None
    arms: list[tuple[s.Arm, BlockSymbol | None]] = field(default_factory=list)  # None: not an apply arm


@dataclass(slots=True)
class LoopSymbol:
    node: s.Loop
    block: BlockSymbol
    item: Type | None = None  # the element's type
    maximum: int = 0


@dataclass(slots=True)
class OutcomeSymbol:
    """An outcome name of a command: where it was first answered, and the types of its payload."""

    first: s.Outcome
    fields: dict[str, Type]
    success: bool


@dataclass(slots=True)
class CommandSymbol:
    """`bindings` are all of the command's, in source order; `blocks` likewise, the command's own first."""

    node: s.CommandDecl
    block: BlockSymbol
    inputs: dict[str, tuple[s.Input, Type | None]] = field(default_factory=dict)
    services: dict[str, s.Service] = field(default_factory=dict)
    idempotency_key: s.IdempotencyKey | None = None
    bindings: list[BindingSymbol] = field(default_factory=list)
    by_name: dict[str, BindingSymbol] = field(default_factory=dict)
    blocks: list[BlockSymbol] = field(default_factory=list)
    loop: LoopSymbol | None = None
    success: s.Outcome | None = None
    outcomes: dict[str, OutcomeSymbol] = field(default_factory=dict)
    partition: m.Expr | None = None

    @property
    def name(self) -> str:
        return self.node.name.text

    @property
    def key_input(self) -> str | None:
        """The input that the idempotency key names, where it is a direct one."""
        return direct_input(self.idempotency_key.expression, self) if self.idempotency_key else None

    def effects(self) -> list[tuple[s.Effect, BlockSymbol]]:
        """Every effect with its block, in source order."""
        found = [(effect, block) for block in self.blocks for effect in block.effects]
        return sorted(found, key=lambda each: each[0].at)


def direct_input(node: s.Expression, command: CommandSymbol) -> str | None:
    """The name of the input that an expression is, or None where it is anything else."""
    if isinstance(node, s.Path) and len(node.parts) == 1 and node.parts[0].text in command.inputs:
        return node.parts[0].text
    return None


@dataclass(slots=True)
class ReimportSymbol:
    node: s.ReimportDecl
    entity: EntitySymbol | None = None
    type: Type | None = None
    outcomes: dict[str, OutcomeSymbol] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.node.name.text


@dataclass(frozen=True, slots=True)
class Use:
    """A name in an expression and what it stands for."""

    expr: m.Expr
    at: Extent


@dataclass(frozen=True, slots=True)
class Typed:
    """A checked expression and the names that it uses, in source order."""

    expr: m.Expr
    uses: tuple[Use, ...]


@dataclass(slots=True)
class Unit:
    """A contract while it is checked."""

    tree: s.Contract
    report: Report
    enums: dict[str, EnumSymbol] = field(default_factory=dict)
    entities: dict[str, EntitySymbol] = field(default_factory=dict)
    events: dict[str, EventSymbol] = field(default_factory=dict)
    aggregates: dict[str, AggregateSymbol] = field(default_factory=dict)
    workflows: dict[str, WorkflowSymbol] = field(default_factory=dict)
    commands: list[CommandSymbol] = field(default_factory=list)
    reimports: list[ReimportSymbol] = field(default_factory=list)
    facts: dict[str, tuple[s.PrincipalFact, Type | None]] = field(default_factory=dict)
    policies: list[tuple[s.RowPolicy, EntitySymbol | None]] = field(default_factory=list)
    typed: dict[int, Typed | None] = field(default_factory=dict)  # by id() of the expression's node

    def expr(self, node: s.Expression) -> m.Expr | None:
        """The checked form of an expression, or None where it was refused or never read."""
        found = self.typed.get(id(node))
        return found.expr if found else None

    def uses(self, node: s.Expression) -> tuple[Use, ...]:
        found = self.typed.get(id(node))
        return found.uses if found else ()


def substitute(expr: m.Expr, fields: dict[str, m.Expr] | dict[str, m.OwnField]) -> m.Expr:
    """The expression with each own field of a name in `fields` replaced; other nodes keep their shape."""
    match expr:
        case m.OwnField():
            return fields.get(expr.field, expr)
        case m.DatePart(operand, kind):
            return m.DatePart(substitute(operand, fields), kind)
        case m.Unary(op, operand, kind):
            return m.Unary(op, substitute(operand, fields), kind)
        case m.Binary(op, left, right, kind):
            return m.Binary(op, substitute(left, fields), substitute(right, fields), kind)
        case _:
            return expr


def own_fields(expr: m.Expr) -> list[str]:
    """The names of the own fields that a partition or conflict key is made of, in order, once each."""
    found: dict[str, None] = {}
    waiting = [expr]
    while waiting:
        here = waiting.pop()
        match here:
            case m.OwnField():
                found.setdefault(here.field)
            case m.DatePart() | m.Unary():
                waiting.append(here.operand)
            case m.Binary():
                waiting.extend((here.right, here.left))
            case _:
                pass
    return list(found)
