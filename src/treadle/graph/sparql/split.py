"""An update text into its operations, each with the declarations in force where it stands.

The grammar read here is that of SPARQL 1.1 Update from `Update` down to, and not into, the braces of
templates and patterns: what stands between braces is a span of tokens for `templates` and `emit`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias
from typing import Literal as OneOf

from treadle.errors import SparqlSyntax
from treadle.graph.sparql.cursor import Cursor
from treadle.graph.sparql.names import Scope, checked_base
from treadle.graph.sparql.tokens import BLANK, Source, Token, tokenize

Kind: TypeAlias = OneOf[
    "insert_data", "delete_data", "delete_where", "modify",
    "load", "clear", "drop", "create", "add", "move", "copy",
]  # fmt: skip
Span: TypeAlias = tuple[int, int]  # token indexes of an opening brace and its closing one

_MANAGEMENT: Final[dict[str, Kind]] = {
    "LOAD": "load", "CLEAR": "clear", "DROP": "drop", "CREATE": "create",
    "ADD": "add", "MOVE": "move", "COPY": "copy",
}  # fmt: skip
LOAD_REFUSED: Final = (
    "LOAD is refused: nothing here opens files or connections; read the document yourself and send it "
    "to /rdf-graph-store, or load it with the library"
)


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of an update.

    Attributes:
        kind: which one.
        start: the offset of its first token in the text.
        scope: base and prefixes where it stands.
        silent: whether SILENT was written.
        graphs: for clear and drop, `DEFAULT`, `NAMED`, `ALL` or one graph's IRI; for create the IRI; for
            add, move and copy, source and target, None for the default graph.
        with_graph: the graph of WITH.
        using, using_named: the graphs of USING and USING NAMED; both empty where there is no such clause.
        delete, insert, where: the braces of templates and pattern.
    """

    kind: Kind
    start: int
    scope: Scope
    silent: bool = False
    graphs: tuple[str | None, ...] = ()
    with_graph: str | None = None
    using: tuple[str, ...] = ()
    using_named: tuple[str, ...] = ()
    delete: Span | None = None
    insert: Span | None = None
    where: Span | None = None

    @property
    def has_using(self) -> bool:
        """Whether the pattern's dataset is given by USING clauses."""
        return bool(self.using or self.using_named)


@dataclass(frozen=True, slots=True)
class Update:
    """A whole update text: its tokens and its operations in order."""

    source: Source
    tokens: list[Token]
    closing: dict[int, int]
    operations: tuple[Operation, ...] = field(default=())


def split(text: str, *, base: str | None = None) -> Update:
    """The operations of an update.

    Args:
        text: SPARQL 1.1 Update.
        base: the IRI that relative IRIs are resolved against, None where there is none.

    Raises:
        SparqlSyntax: the text is no update, or loads a document.
        SparqlLimit: brackets are nested too deeply.
    """
    source = Source(text)
    cursor = Cursor(source, tokenize(source), checked_base(base))
    operations: list[Operation] = []
    cursor.prologue()
    while not cursor.ended:
        operations.append(_operation(cursor))
        if cursor.ended:
            break
        if not cursor.at_punct(";"):
            cursor.fail("expected ';' or the end after an operation")
        cursor.index += 1
        cursor.prologue()
    update = Update(source, cursor.tokens, cursor.closing, tuple(operations))
    _check_labels(update)
    return update


def _operation(cursor: Cursor) -> Operation:
    token = cursor.peek()
    start = token.start if token else 0
    word = cursor.take_word("INSERT", "DELETE", "WITH", *_MANAGEMENT)
    if word in _MANAGEMENT:
        return _management(cursor, _MANAGEMENT[word], start)
    if word == "WITH":
        graph = cursor.expect_iri()
        return _modify(cursor, start, graph, cursor.expect_word("DELETE", "INSERT"))
    if word is None:
        cursor.fail("expected an update operation")
    if cursor.take_word("DATA"):
        span = cursor.expect_braces()
        if word == "INSERT":
            return Operation("insert_data", start, cursor.scope, insert=span)
        return Operation("delete_data", start, cursor.scope, delete=span)
    if word == "DELETE" and cursor.take_word("WHERE"):
        span = cursor.expect_braces()
        return Operation("delete_where", start, cursor.scope, delete=span, where=span)
    return _modify(cursor, start, None, word)


def _modify(cursor: Cursor, start: int, with_graph: str | None, word: str) -> Operation:
    delete = insert = None
    if word == "DELETE":
        delete = cursor.expect_braces()
        if cursor.take_word("INSERT"):
            insert = cursor.expect_braces()
    else:
        insert = cursor.expect_braces()
    using: list[str] = []
    using_named: list[str] = []
    while cursor.take_word("USING"):
        (using_named if cursor.take_word("NAMED") else using).append(cursor.expect_iri())
    cursor.expect_word("WHERE")
    where = cursor.expect_braces()
    return Operation(
        "modify",
        start,
        cursor.scope,
        with_graph=with_graph,
        using=tuple(using),
        using_named=tuple(using_named),
        delete=delete,
        insert=insert,
        where=where,
    )


def _management(cursor: Cursor, kind: Kind, start: int) -> Operation:
    silent = cursor.take_word("SILENT") is not None
    if kind == "load":
        cursor.expect_iri()
        if cursor.take_word("INTO"):
            cursor.expect_word("GRAPH")
            cursor.expect_iri()
        if not silent:
            raise cursor.source.error(LOAD_REFUSED, start)
        return Operation(kind, start, cursor.scope, silent=True)
    if kind == "create":
        cursor.expect_word("GRAPH")
        return Operation(kind, start, cursor.scope, silent=silent, graphs=(cursor.expect_iri(),))
    if kind in ("clear", "drop"):
        return Operation(kind, start, cursor.scope, silent=silent, graphs=(_graph_or_all(cursor),))
    origin = _graph_or_default(cursor)
    cursor.expect_word("TO")
    return Operation(kind, start, cursor.scope, silent=silent, graphs=(origin, _graph_or_default(cursor)))


def _graph_or_all(cursor: Cursor) -> str:
    word = cursor.expect_word("GRAPH", "DEFAULT", "NAMED", "ALL")
    return cursor.expect_iri() if word == "GRAPH" else word


def _graph_or_default(cursor: Cursor) -> str | None:
    if cursor.take_word("DEFAULT"):
        return None
    cursor.take_word("GRAPH")
    return cursor.expect_iri()


def _check_labels(update: Update) -> None:
    """A blank node label stands for one node, so two INSERT DATA operations cannot share it."""
    seen: dict[str, int] = {}
    for number, operation in enumerate(update.operations):
        if operation.kind != "insert_data" or operation.insert is None:
            continue
        for token in update.tokens[slice(*operation.insert)]:
            if token.kind == BLANK and seen.setdefault(token.value, number) != number:
                raise _shared_label(update.source, token)


def _shared_label(source: Source, token: Token) -> SparqlSyntax:
    message = f"_:{token.value} stands in two INSERT DATA operations; a label names a node of one operation"
    return source.error(message, token.start)
