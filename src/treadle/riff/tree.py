"""Reductions to syntax nodes: one builder for each action of the grammar, named as there.

Each is called with the extent that it covers and the children that the grammar keeps. Lists that are
too long are reported here (S007), where they are complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from treadle.limits import DECLARATION_MEMBERS, LIST_MEMBERS
from treadle.riff import syntax as s
from treadle.riff.diagnostics import Extent, Report
from treadle.riff.lalr import Build, Token

Names: TypeAlias = tuple[s.Name, ...]
Expressions: TypeAlias = tuple[s.Expression, ...]


class Tree:
    """Builds nodes; `builders` is what the driver takes."""

    def __init__(self, report: Report) -> None:
        self._report = report

    @property
    def builders(self) -> dict[str, Build]:
        return {name.strip("_"): getattr(self, name) for name in dir(type(self)) if self._is_action(name)}

    @staticmethod
    def _is_action(name: str) -> bool:
        return not name.startswith("_") and name != "builders"

    def _members(self, what: str, members: Sequence[Any]) -> None:
        self._bound(what, members, DECLARATION_MEMBERS)

    def _bound(self, what: str, members: Sequence[Any], most: int) -> None:
        if len(members) > most:
            message = f"{what} has {len(members):,} members, at most {most:,} are allowed; split it"
            self._report.add("S007", members[most].at, message)

    # Data.

    def contract(self, at: Extent, name: s.Name, version: Token, *decls: s.Declaration) -> s.Contract:
        return s.Contract(at, name, _integer(version), decls)

    def enum(self, at: Extent, name: s.Name, variants: Names) -> s.EnumDecl:
        return s.EnumDecl(at, name, variants)

    def entity(self, at: Extent, name: s.Name, *items: s.EntityItem) -> s.EntityDecl:
        self._members(f"entity {name.text}", items)
        return s.EntityDecl(at, name, items)

    def key(self, at: Extent, *fields: s.Member) -> s.Key:
        self._bound("this key", fields, LIST_MEMBERS)
        return s.Key(at, fields)

    def field(self, at: Extent, secret: Token | None, name: s.Name, kind: s.TypeNode) -> s.Member:
        return s.Member(at, name, kind, secret is not None)

    def typed_name(self, at: Extent, name: s.Name, kind: s.TypeNode) -> s.Member:
        return s.Member(at, name, kind)

    def invariant(self, at: Extent, name: s.Name, expression: s.Expression) -> s.Invariant:
        return s.Invariant(at, name, expression)

    def index(self, at: Extent, name: s.Name, fields: Names, *options: s.Presence | s.TextKey) -> s.Index:
        self._members(f"index {name.text}", options)
        return s.Index(at, name, fields, options)

    def presence(self, at: Extent, name: s.Name) -> s.Presence:
        return s.Presence(at, name)

    def text_key(self, at: Extent, name: s.Name) -> s.TextKey:
        return s.TextKey(at, name)

    def unique(self, at: Extent, name: s.Name, fields: Names) -> s.Unique:
        return s.Unique(at, name, fields)

    def reference(
        self, at: Extent, name: s.Name, fields: Names, target: s.Name, target_fields: Names
    ) -> s.Reference:
        return s.Reference(at, name, fields, target, target_fields)

    def no_inbound(self, at: Extent) -> s.NoInbound:
        return s.NoInbound(at)

    def restrict_policy(self, at: Extent, entity: s.Name, index: s.Name) -> s.RestrictPolicy:
        return s.RestrictPolicy(at, entity, index)

    def cascade_policy(self, at: Extent, *relationships: s.Relationship) -> s.CascadePolicy:
        self._members("this cascade", relationships)
        return s.CascadePolicy(at, relationships)

    def relationship(
        self, at: Extent, entity: s.Name, reference: s.Name, owner: s.Name, index: s.Name, most: Token
    ) -> s.Relationship:
        return s.Relationship(at, entity, reference, owner, index, _integer(most))

    def event(self, at: Extent, name: s.Name, partition: Names | None, *fields: s.Member) -> s.EventDecl:
        self._members(f"event {name.text}", fields)
        return s.EventDecl(at, name, partition or (), fields)

    def partition_fields(self, at: Extent, names: Names) -> Names:
        return names

    def aggregate(self, at: Extent, name: s.Name, *items: s.AggregateItem) -> s.AggregateDecl:
        self._members(f"aggregate {name.text}", items)
        return s.AggregateDecl(at, name, items)

    def root(self, at: Extent, entity: s.Name) -> s.Root:
        return s.Root(at, entity)

    def child(self, at: Extent, entity: s.Name) -> s.Child:
        return s.Child(at, entity)

    def partition_by(self, at: Extent, expression: s.Expression) -> s.PartitionBy:
        return s.PartitionBy(at, expression)

    def conflict_key(self, at: Extent, expressions: Expressions) -> s.ConflictKey:
        return s.ConflictKey(at, expressions)

    # Workflows.

    def workflow(
        self, at: Extent, name: s.Name, entity: s.Name, state: s.Name, initial: s.Name | None, *rest: Any
    ) -> s.WorkflowDecl:
        transitions: tuple[s.Transition, ...] = rest[:-1]
        lease: s.Lease | None = rest[-1]
        self._members(f"workflow {name.text}", transitions)
        return s.WorkflowDecl(at, name, entity, state, initial, transitions, lease)

    def transition(self, at: Extent, name: s.Name, sources: Names, to: s.Name) -> s.Transition:
        return s.Transition(at, name, sources, to)

    def lease(
        self, at: Extent, name: s.Name, owner: s.Name, expires: s.Name, fence: s.Name,
        attempts: s.Name | None, low: Token, high: Token,
    ) -> s.Lease:  # fmt: skip
        return s.Lease(at, name, owner, expires, fence, attempts, _integer(low), _integer(high))

    # Commands.

    def command(self, at: Extent, bulk: Token | None, name: s.Name, *clauses: s.Clause) -> s.CommandDecl:
        self._members(f"command {name.text}", clauses)
        return s.CommandDecl(at, name, bulk is not None, clauses)

    def reimport(
        self, at: Extent, name: s.Name, records: s.Input, entity: s.Name, source: s.Name,
        failure: s.Outcome, success: s.Outcome,
    ) -> s.ReimportDecl:  # fmt: skip
        return s.ReimportDecl(at, name, records, entity, source, failure, success)

    def input(self, at: Extent, name: s.Name, kind: s.TypeNode) -> s.Input:
        return s.Input(at, name, kind)

    def service(self, at: Extent, name: s.Name, kind: Token) -> s.Service:
        return s.Service(at, name, kind.text)

    def idempotency_key(self, at: Extent, expression: s.Expression) -> s.IdempotencyKey:
        return s.IdempotencyKey(at, expression)

    def binding(
        self, at: Extent, kind: Token, entity: s.Name, key: Expressions, name: s.Name,
        failure: s.Outcome, *handlers: s.Handler,
    ) -> s.Binding:  # fmt: skip
        self._members(f"binding {name.text}", handlers)
        return s.Binding(at, kind.text, entity, key, name, failure, handlers)

    def conflict(self, at: Extent, constraint: s.Name, outcome: s.Outcome) -> s.Handler:
        return s.Handler(at, "conflict", constraint, outcome)

    def violates(self, at: Extent, constraint: s.Name, outcome: s.Outcome) -> s.Handler:
        return s.Handler(at, "violates", constraint, outcome)

    def delete(
        self, at: Extent, entity: s.Name, key: Expressions, name: s.Name, failure: s.Outcome,
        restrict: s.Outcome | None, cascade: s.Outcome | None,
    ) -> s.Binding:  # fmt: skip
        return s.Binding(at, "delete", entity, key, name, failure, restrict=restrict, cascade=cascade)

    def init_or_mutate(
        self, at: Extent, entity: s.Name, key: Expressions, name: s.Name, initialize: s.Object
    ) -> s.Binding:
        return s.Binding(at, "init_or_mutate", entity, key, name, initialize=initialize)

    def observe(
        self, at: Extent, entity: s.Name, key: Expressions, name: s.Name, initialize: s.Object
    ) -> s.Binding:
        return s.Binding(at, "observe_or_initialize", entity, key, name, initialize=initialize)

    def decision(self, at: Extent, observe: s.Binding | None, name: s.Name, *arms: s.Arm) -> s.Decision:
        self._members(f"decide {name.text}", arms)
        return s.Decision(at, observe, name, arms)

    def when(self, at: Extent, condition: s.Expression, action: s.Action) -> s.Arm:
        return s.Arm(at, condition, action)

    def else_arm(self, at: Extent, action: s.Action) -> s.Arm:
        return s.Arm(at, None, action)

    def apply(self, at: Extent, *clauses: s.Clause) -> s.Apply:
        self._members("this arm", clauses)
        return s.Apply(at, clauses)

    def no_effect(self, at: Extent) -> s.NoEffect:
        return s.NoEffect(at)

    def reject(self, at: Extent, outcome: s.Outcome) -> s.Reject:
        return s.Reject(at, outcome)

    def loop(self, at: Extent, element: s.Name, source: s.Name, *clauses: s.Clause) -> s.Loop:
        self._members("this loop", clauses)
        return s.Loop(at, element, source, clauses)

    def require(self, at: Extent, name: s.Name, expression: s.Expression, failure: s.Outcome) -> s.Require:
        return s.Require(at, name, expression, failure)

    def set(self, at: Extent, target: s.Path, value: s.Expression, *reveals: s.Path) -> s.Set:
        return s.Set(at, target, value, reveals)

    def emit(self, at: Extent, event: s.Name, payload: s.Object) -> s.Emit:
        return s.Emit(at, event, payload)

    def do_transition(
        self, at: Extent, name: s.Name, binding: s.Name, revision: s.Expression,
        stale: s.Outcome, illegal: s.Outcome,
    ) -> s.DoTransition:  # fmt: skip
        return s.DoTransition(at, name, binding, revision, stale, illegal)

    def claim(self, at: Extent, *parts: Any) -> s.DoLease:
        values = ("owner", "duration_seconds", "revision")
        return _lease(at, "claim", values, ("stale", "unavailable", "invalid", "exhausted"), parts)

    def renew(self, at: Extent, *parts: Any) -> s.DoLease:
        values = ("owner", "fencing_token", "duration_seconds", "revision")
        return _lease(at, "renew", values, ("stale", "invalid", "expired", "exhausted"), parts)

    def release(self, at: Extent, *parts: Any) -> s.DoLease:
        values = ("owner", "fencing_token", "revision")
        return _lease(at, "release", values, ("stale", "invalid"), parts)

    def expire(self, at: Extent, *parts: Any) -> s.DoLease:
        return _lease(at, "expire", ("revision",), ("stale", "active"), parts)

    def fence(self, at: Extent, *parts: Any) -> s.DoLease:
        values = ("owner", "fencing_token", "revision")
        return _lease(at, "fence", values, ("stale", "invalid", "expired"), parts)

    def return_(self, at: Extent, outcome: s.Outcome) -> s.Return:
        return s.Return(at, outcome)

    def outcome(self, at: Extent, name: s.Name, payload: s.Object) -> s.Outcome:
        return s.Outcome(at, name, payload)

    def object(self, at: Extent, *entries: s.Entry | None) -> s.Object:
        kept = tuple(entry for entry in entries if entry is not None)
        self._bound("this object", kept, LIST_MEMBERS)
        return s.Object(at, kept)

    def entry(self, at: Extent, name: s.Name, value: s.Expression, *reveals: s.Path) -> s.Entry:
        return s.Entry(at, name, value, reveals)

    # Access.

    def principal_fact(self, at: Extent, name: s.Name, kind: s.TypeNode) -> s.PrincipalFact:
        return s.PrincipalFact(at, name, kind)

    def row_policy(self, at: Extent, name: s.Name, entity: s.Name, *rules: s.Allow) -> s.RowPolicy:
        self._members(f"row policy {name.text}", rules)
        return s.RowPolicy(at, name, entity, rules)

    def allow(self, at: Extent, operation: Token, expression: s.Expression) -> s.Allow:
        return s.Allow(at, operation.text, expression)

    # Types.

    def plain_type(self, at: Extent, name: Token) -> s.PlainType:
        return s.PlainType(at, name.text)

    def decimal_type(self, at: Extent, precision: Token, scale: Token) -> s.DecimalType:
        return s.DecimalType(at, _integer(precision), _integer(scale))

    def money_type(self, at: Extent, currency: s.Name) -> s.MoneyType:
        return s.MoneyType(at, currency)

    def string_type(self, at: Extent, maximum: Token) -> s.StringType:
        return s.StringType(at, _integer(maximum))

    def bytes_type(self, at: Extent, maximum: Token) -> s.BytesType:
        return s.BytesType(at, _integer(maximum))

    def optional_type(self, at: Extent, item: s.TypeNode) -> s.OptionalType:
        return s.OptionalType(at, item)

    def list_type(self, at: Extent, item: s.TypeNode, maximum: Token) -> s.ListType:
        return s.ListType(at, item, None, _integer(maximum))

    def ranged_list_type(self, at: Extent, item: s.TypeNode, low: Token, high: Token) -> s.ListType:
        return s.ListType(at, item, _integer(low), _integer(high))

    def named_type(self, at: Extent, name: s.Name) -> s.NamedType:
        return s.NamedType(at, name)

    # Expressions.

    def chain(self, at: Extent, first: s.Expression, *rest: Any) -> s.Chain:
        pairs = zip(rest[::2], rest[1::2], strict=True)
        steps = tuple(s.Step(Extent(sign.start, sign.end), sign.text, operand) for sign, operand in pairs)
        self._bound("this expression", (first, *steps), LIST_MEMBERS)
        return s.Chain(at, first, steps)

    def comparison_chain(self, at: Extent, first: s.Expression, *steps: s.Step) -> s.Chain:
        self._bound("this expression", (first, *steps), LIST_MEMBERS)
        return s.Chain(at, first, steps)

    def compared(self, at: Extent, sign: Token, operand: s.Expression) -> s.Step:
        return s.Step(Extent(sign.start, sign.end), sign.text, operand)

    def is_null(self, at: Extent, negated: Token | None) -> s.Step:
        return s.Step(at, "is not null" if negated else "is null", None)

    def not_(self, at: Extent, operand: s.Expression) -> s.Not:
        return s.Not(at, operand)

    def negate(self, at: Extent, operand: s.Expression) -> s.Negate:
        return s.Negate(at, operand)

    def constant(self, at: Extent, token: Token) -> s.Constant:
        return s.Constant(at, token.kind, token.text)

    def exists(self, at: Extent, entity: s.Name, index: s.Name, args: Expressions) -> s.Exists:
        return s.Exists(at, entity, index, args)

    def group(self, at: Extent, inner: s.Expression) -> s.Expression:
        return inner

    def path(self, at: Extent, *parts: s.Name) -> s.Path:
        return s.Path(at, parts)

    def date_segment(self, at: Extent, token: Token) -> s.Name:
        return s.Name(at, token.text)

    # Lists and names.

    def names(self, at: Extent, *names: s.Name) -> Names:
        self._bound("this list", names, LIST_MEMBERS)
        return names

    def expressions(self, at: Extent, *expressions: s.Expression) -> Expressions:
        self._bound("this list", expressions, LIST_MEMBERS)
        return expressions

    def name(self, at: Extent, token: Token) -> s.Name:
        return s.Name(at, token.text)


def _integer(token: Token) -> s.Integer:
    return s.Integer(Extent(token.start, token.end), token.text)


def _lease(
    at: Extent, op: str, values: tuple[str, ...], outcomes: tuple[str, ...], parts: tuple[Any, ...]
) -> s.DoLease:
    lease, binding, *rest = parts
    given = tuple(zip(values, rest[: len(values)], strict=True))
    answers = tuple(zip(outcomes, rest[len(values) :], strict=True))
    return s.DoLease(at, op, lease, binding, given, answers)
