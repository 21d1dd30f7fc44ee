"""An update as it is computed: its text taken apart, and what the caller hands in with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from treadle.errors import SparqlLimit, SparqlSyntax
from treadle.graph.convert import to_ox
from treadle.graph.evaluation import Stopped
from treadle.graph.sparql import limits
from treadle.graph.sparql.emit import Emitter
from treadle.graph.sparql.solve import Labels
from treadle.graph.sparql.split import Operation, Update, split
from treadle.graph.sparql.templates import Template, TemplateReader, placeholder_prefix
from treadle.graph.sparql.tokens import VAR, Source
from treadle.graph.terms import IRI, BlankNode, Literal, Term


@dataclass(frozen=True, slots=True)
class Protocol:
    """The dataset that the SPARQL protocol's parameters give to an update's patterns."""

    using: tuple[str, ...] = ()
    using_named: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.using or self.using_named)


@dataclass(frozen=True, slots=True)
class Request:
    """A checked update.

    Attributes:
        update: its tokens and operations.
        now: the sealed time, microseconds since 1970 UTC.
        bindings: terms in place of variables.
        labels: blank node labels for this request.
        protocol: the dataset given beside the text.
        prefix: of IRIs that are ours alone, see `placeholder_prefix`.
        stopped: whether nobody waits for the answer any more.
    """

    update: Update
    now: int
    bindings: Mapping[str, Term]
    labels: Labels
    protocol: Protocol
    prefix: str
    stopped: Stopped
    _reader: TemplateReader = field(repr=False)
    _templates: dict[int, tuple[Template, Template]] = field(default_factory=dict, repr=False)

    @classmethod
    def read(
        cls,
        text: str,
        *,
        now: int,
        base: str | None,
        bindings: Mapping[str, Term],
        labels: Labels,
        protocol: Protocol,
        stopped: Stopped,
    ) -> Request:
        """Takes an update text apart and refuses what would endanger the process.

        Raises:
            SparqlSyntax: the text is no update, or gives a dataset that the protocol's parameters give too.
            SparqlLimit: a bound of `treadle.graph.sparql.limits` is passed.
        """
        limits.check_length(Source(text))
        update = split(text, base=base)
        _check_limits(update)
        if protocol:
            _check_protocol(update)
        prefix = placeholder_prefix(text, bindings)
        reader = TemplateReader(update, prefix=prefix, now=now, bindings=bindings)
        return cls(update, now, bindings, labels, protocol, prefix, stopped, reader)

    def emitter(self) -> Emitter:
        """An empty text for the index's parser."""
        return Emitter(self.update.source, self.update.tokens, now=self.now, bindings=self.bindings)

    def templates(self, operation: Operation) -> tuple[Template, Template]:
        """What an operation deletes and inserts; read once."""
        found = self._templates.get(operation.start)
        if found is None:
            found = (self._reader.delete(operation), self._reader.insert(operation))
            self._templates[operation.start] = found
        return found

    def ground(self, operation: Operation) -> Template:
        """The statements of an operation's pattern that has no variables, see `bounded.is_bounded`."""
        return self._reader.pattern(operation)

    def dataset(self, operation: Operation) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
        """The default and the named graphs of an operation's pattern; None: those of the dataset."""
        if self.protocol:
            return self.protocol.using, self.protocol.using_named
        if operation.has_using:
            return operation.using, operation.using_named
        return (None if operation.with_graph is None else (operation.with_graph,)), None

    def unused_stem(self) -> str:
        """A beginning that no variable of the text has."""
        used = {token.value for token in self.update.tokens if token.kind == VAR}
        stem = "x"
        while any(name.startswith(stem) for name in used):
            stem += "x"
        return stem

    def error(self, message: str, operation: Operation) -> SparqlSyntax:
        """An error at the place of an operation."""
        return self.update.source.error(message, operation.start)


def _check_limits(update: Update) -> None:
    if len(update.operations) > limits.OPERATIONS:
        raise SparqlLimit(f"more than {limits.OPERATIONS} operations in one request; send several")
    spent = 0
    for operation in update.operations:
        if operation.where is not None:
            start, end = operation.where
            spent = limits.check_pattern(
                update.source, update.tokens, update.closing, start, end + 1, spent=spent
            )


def _check_protocol(update: Update) -> None:
    for operation in update.operations:
        if operation.has_using or operation.with_graph is not None:
            message = "USING and WITH cannot stand beside using-graph-uri or using-named-graph-uri; drop one"
            raise update.source.error(message, operation.start)


def checked_bindings(bindings: Mapping[str, Term] | None) -> Mapping[str, Term]:
    """The caller's bindings, checked.

    Raises:
        ValueError: a name is no variable's, or a value is no term that the index accepts.
    """
    for name, term in (bindings or {}).items():
        if not name.isidentifier():
            raise ValueError(f"{name!r} is no variable's name; write it without '?'")
        if not isinstance(term, (IRI, BlankNode, Literal)):
            raise ValueError(f"the value of {name!r} is no term; wrap it as IRI(…) or Literal(…)")
        to_ox(term)
    return bindings or {}
