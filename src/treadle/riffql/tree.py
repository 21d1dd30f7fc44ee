"""Reductions to syntax nodes; types and expressions are built as a contract's are."""

from __future__ import annotations

from typing import Any

from treadle.limits import DECLARATION_MEMBERS, LIST_MEMBERS
from treadle.riff import syntax as s
from treadle.riff.diagnostics import Extent
from treadle.riff.lalr import Token
from treadle.riff.tree import Tree
from treadle.riffql import syntax as q


class QueryTree(Tree):
    """Builds nodes; `builders` is what the driver takes."""

    def module(self, at: Extent, *queries: q.Query) -> tuple[q.Query, ...]:
        self._bound("this text", queries, DECLARATION_MEMBERS)
        return queries

    def query(self, at: Extent, name: s.Name, parameters: Any, *rest: Any) -> q.Query:
        *statements, answer, outcomes = rest
        self._bound(f"query {name.text}", statements, LIST_MEMBERS)
        return q.Query(at, name, parameters or (), tuple(statements), answer, outcomes or ())

    def parameters(self, at: Extent, *parameters: q.Parameter | None) -> tuple[q.Parameter, ...]:
        kept = tuple(parameter for parameter in parameters if parameter is not None)
        self._bound("this list", kept, LIST_MEMBERS)
        return kept

    def parameter(self, at: Extent, token: Token, kind: Any) -> q.Parameter:
        name = s.Name(Extent(token.start, token.end), token.text[1:])
        return q.Parameter(at, name, kind)

    def field_type(self, at: Extent, entity: s.Name, field: s.Name) -> q.FieldType:
        return q.FieldType(at, entity, field)

    # Statements.

    def statement(
        self, at: Extent, kind: Token, row: s.Name, entity: s.Name, where: Any, group: Any, order: Any,
        take: q.Take | None, otherwise: s.Name | None,
    ) -> q.Statement:  # fmt: skip
        return q.Statement(at, kind.text, row, entity, where, group or (), order or (), take, otherwise)

    def group_by(self, at: Extent, *paths: s.Path) -> tuple[s.Path, ...]:
        self._bound("this list", paths, LIST_MEMBERS)
        return paths

    def order_by(self, at: Extent, *terms: q.OrderTerm) -> tuple[q.OrderTerm, ...]:
        self._bound("this list", terms, LIST_MEMBERS)
        return terms

    def order_term(self, at: Extent, path: s.Path, direction: Token | None) -> q.OrderTerm:
        return q.OrderTerm(at, path, direction is not None and direction.kind == "DESC")

    def take(self, at: Extent, count: Token, after: q.ParameterUse | None) -> q.Take:
        number = s.Integer(Extent(count.start, count.end), count.text)
        return q.Take(at, number, after)

    def after(self, at: Extent, token: Token) -> q.ParameterUse:
        return _use(token)

    # Results.

    def answer(self, at: Extent, outcome: s.Name, members: tuple[q.Member, ...]) -> q.Return:
        return q.Return(at, outcome, members)

    def payload(self, at: Extent, *entries: q.Member) -> tuple[q.Member, ...]:
        self._bound("this object", entries, LIST_MEMBERS)
        return entries

    def answer_entry(self, at: Extent, name: s.Name, value: q.Result, *reveals: s.Path) -> q.Member:
        return q.Member(at, name, value, reveals)

    def shape(self, at: Extent, path: s.Path, *members: q.Member | None) -> q.Shape:
        kept = tuple(member for member in members if member is not None)
        self._bound("this shape", kept, LIST_MEMBERS)
        return q.Shape(at, path, kept or None)

    def computed(self, at: Extent, op: Token, operand: q.Term) -> q.Aggregate:
        return q.Aggregate(at, op.text, operand)

    def member(self, at: Extent, name: s.Name, value: q.Result | None, *reveals: s.Path) -> q.Member:
        return q.Member(at, name, value, reveals)

    def outcomes(self, at: Extent, *names: s.Name) -> tuple[s.Name, ...]:
        self._bound("this list", names, LIST_MEMBERS)
        return names

    # Expressions: the four forms that contracts do not have.

    def optional_filter(self, at: Extent, token: Token, body: q.Term) -> q.When:
        return q.When(at, _use(token), body)

    def in_parameter(self, at: Extent, sign: Token, token: Token) -> s.Step:
        use: Any = _use(token)
        return s.Step(Extent(sign.start, sign.end), "in", use)

    def in_list(self, at: Extent, sign: Token, entries: Any) -> s.Step:
        listed: Any = q.InList(Extent(sign.end, at.end), entries)
        return s.Step(Extent(sign.start, sign.end), "in", listed)

    def parameter_use(self, at: Extent, token: Token) -> q.ParameterUse:
        return _use(token)


def _use(token: Token) -> q.ParameterUse:
    return q.ParameterUse(Extent(token.start, token.end), token.text[1:])
