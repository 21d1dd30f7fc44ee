"""A text of named queries, as the language server asks about it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from treadle.lsp.contract_text import ContractText, token_at
from treadle.lsp.describe import described
from treadle.lsp.items import Item
from treadle.lsp.names import Names, Symbol
from treadle.lsp.query_names import OWN, query_names
from treadle.lsp.query_words import QUERY_WORDS
from treadle.lsp.subject import Hover, Outline, Renaming, Target
from treadle.lsp.suggest_query import query_suggestions
from treadle.model import query as o
from treadle.riff import syntax as s
from treadle.riff.diagnostics import Diagnostic, Extent, Report
from treadle.riff.partial import NOWHERE, open_blocks, sound
from treadle.riff.symbols import Unit
from treadle.riffql import compile_queries, format_queries
from treadle.riffql import syntax as q
from treadle.riffql.names import REVISION
from treadle.riffql.parse import Reader, parse

_EMPTY: Final = s.Contract(NOWHERE, s.Name(NOWHERE, ""), s.Integer(NOWHERE, "1"), ())


class QueryText:
    """One state of a text of queries, about the contract as it is now (None: no contract was found)."""

    def __init__(self, text: str, contract: ContractText | None) -> None:
        self.text = text
        self.contract = contract
        self.parsed = parse(text)
        good = contract.about.good if contract is not None else None
        self.compiled = compile_queries(text, good) if good is not None else None

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return self.compiled.diagnostics if self.compiled is not None else self.parsed.diagnostics

    @property
    def _unit(self) -> Unit:
        return self.contract.about.unit if self.contract is not None else Unit(_EMPTY, Report())

    @cached_property
    def queries(self) -> tuple[q.Query, ...]:
        """The queries, as far as they can be read."""
        if self.parsed.queries is not None:
            return self.parsed.queries
        if not self.parsed.lexed.complete or not self.parsed.lexed.tokens:
            return ()
        reader = Reader(sound(self.parsed.lexed.tokens), Report())
        whole = reader.read()
        blocks = open_blocks(reader.driver, (q.Query,))
        return whole or tuple(
            each for each in (*blocks[0].members, *blocks[0].tail) if isinstance(each, q.Query)
        )

    @cached_property
    def names(self) -> Names:
        return query_names(self.queries, self._unit)

    # What is asked.

    def hover(self, offset: int) -> Hover | None:
        found = self.names.at(offset)
        if found is not None:
            text = self._described(found.symbol)
            return Hover(found.at, text) if text is not None else None
        token = token_at(self.parsed.lexed.tokens, offset)
        meaning = QUERY_WORDS.get(token.text) if token is not None else None
        if token is None or meaning is None:
            return None
        return Hover(Extent(token.start, token.end), f"`{token.text}`: {meaning}")

    def _described(self, symbol: Symbol) -> str | None:
        if symbol.kind in OWN:
            head, rules = self._own(symbol)
            return "\n\n".join(
                [f"```riffql\n{head}\n```", *(["\n".join(f"- {rule}" for rule in rules)] if rules else [])]
            )
        if symbol.name == REVISION and symbol.kind == "builtin":
            return f"`u64`: {QUERY_WORDS[REVISION]}"
        return described(self.contract.about, symbol) if self.contract is not None else None

    def _own(self, symbol: Symbol) -> tuple[str, list[str]]:
        """What the query itself declares: a head and rules."""
        query = self._query(symbol.name if symbol.kind == "query" else symbol.owner)
        checked = self._checked(query.name.text) if query is not None else None
        match symbol.kind:
            case "query":
                return self._head(query), list(_query_rules(checked))
            case "parameter":
                return self._parameter(query, symbol.name), []
            case "row":
                statement = (
                    next((each for each in query.statements if each.row.text == symbol.name), None)
                    if query
                    else None
                )
                head = (
                    f"{statement.kind} {symbol.name} from {statement.entity.text}"
                    if statement
                    else symbol.name
                )
                return head, [access for name, access in _accesses(checked) if name == symbol.name]
            case _:
                return symbol.name, [f"an outcome of `{symbol.owner}`"] if symbol.kind == "outcome" else []

    def _query(self, name: str) -> q.Query | None:
        return next((query for query in self.queries if query.name.text == name), None)

    def _checked(self, name: str) -> o.Query | None:
        found = self.compiled.queries if self.compiled is not None else None
        return next((query for query in found or () if query.name == name), None)

    def _head(self, query: q.Query | None) -> str:
        if query is None:
            return "query"
        parameters = ", ".join(self._parameter(query, each.name.text) for each in query.parameters)
        return f"query {query.name.text}({parameters})"

    def _parameter(self, query: q.Query | None, name: str) -> str:
        checked = self._checked(query.name.text) if query is not None else None
        for field in checked.parameters if checked is not None else ():
            if field.name == name:
                return f"${name}: {field.type}"
        for node in query.parameters if query is not None else ():
            if node.name.text == name:
                return " ".join(self.text[node.at.start : node.at.end].split())
        return f"${name}: cursor"

    def definition(self, offset: int) -> Target | None:
        found = self.names.at(offset)
        if found is None or found.symbol.at is None:
            return None
        return Target(found.symbol.at, found.symbol.kind in OWN)

    def references(self, offset: int) -> list[Extent]:
        found = self.names.at(offset)
        return list(self.names.of(found.symbol)) if found is not None else []

    def renaming(self, offset: int) -> Renaming | None:
        """Rows, queries and outcomes can be renamed here; the contract's names cannot."""
        found = self.names.at(offset)
        if (
            found is None
            or found.symbol.kind not in ("query", "row", "outcome")
            or self.parsed.queries is None
        ):
            return None
        return Renaming(found.at, found.symbol.name, tuple(self.names.of(found.symbol)))

    def refuses(self, text: str) -> str | None:
        known = {(each.code, each.message) for each in self.diagnostics}
        for each in QueryText(text, self.contract).diagnostics:
            if each.is_error and (each.code, each.message) not in known:
                return f"{each.code}: {each.message}"
        return None

    def suggestions(self, offset: int) -> tuple[Extent, list[Item]]:
        return query_suggestions(self.parsed, self._unit, offset)

    def outline(self) -> list[Outline]:
        return [_outline(query) for query in self.queries]

    def formatted(self) -> str | None:
        return format_queries(self.text)


def _outline(query: q.Query) -> Outline:
    parameters = [
        Outline(f"${each.name.text}", "parameter", "", each.at, each.name.at) for each in query.parameters
    ]
    rows = [
        Outline(each.row.text, "row", f"{each.kind} {each.entity.text}", each.at, each.row.at)
        for each in query.statements
    ]
    return Outline(query.name.text, "query", "", query.at, query.name.at, (*parameters, *rows))


def _query_rules(query: o.Query | None) -> Iterator[str]:
    if query is None:
        return
    yield from (f"`{name}` {access}" for name, access in _accesses(query))
    yield f"answers {', '.join(f'`{outcome}`' for outcome in query.outcomes)}"
    if query.cursor is not None:
        yield f"has pages, which go on after `${query.cursor}`"


def _accesses(query: o.Query | None) -> Iterator[tuple[str, str]]:
    """How each row is found: its name, and in words."""
    for statement in query.statements if query is not None else ():
        access = statement.access
        by = f"{access.kind} `{access.name}`" if access.name else "the key"
        fixed = ", ".join(f"`{condition.field}`" for condition in access.fixed)
        rest = (
            f", then asks `{'`, `'.join(each.field for each in access.rest)}` of each" if access.rest else ""
        )
        yield statement.row, f"reads `{statement.entity}` by {by}{f' at {fixed}' if fixed else ''}{rest}"
