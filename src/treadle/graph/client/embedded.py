"""The workflow client's transport into a database of this process, or into a document."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from treadle.errors import OutcomeUnknown, Unreachable
from treadle.graph.client.transport import Applied, NoAnswer
from treadle.graph.dataset import Index
from treadle.graph.live.surface import Graph
from treadle.graph.load import load_delta
from treadle.graph.query import Query, Rows


class EmbeddedTransport:
    """A database's graph as one principal sees it: `db.acting_as(…).graph`."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def query(self, text: str) -> Mapping[str, Any]:
        """See `Transport.query`."""
        return _json(self._graph.query(text))

    def update(self, text: str) -> Applied:
        """See `Transport.update`."""
        try:
            done = self._graph.update(text)
        except OutcomeUnknown as error:
            raise NoAnswer(error.message) from error
        return Applied(done.tx, done.asserted, done.retracted)

    def capabilities(self) -> Mapping[str, Any] | None:
        """See `Transport.capabilities`."""
        return self._graph.capabilities()


class DocumentTransport:
    """Statements of a document: a history that is read, and verified, without any server.

    Args:
        document: the text, or its UTF-8 bytes.
        format: a key of `treadle.graph.load.FORMATS`.

    Raises:
        SparqlSyntax, SparqlLimit, SparqlError: the document cannot be read.
    """

    def __init__(self, document: str | bytes, format: str) -> None:
        self._index = Index()
        self._index.apply(load_delta(self._index, document, format, labels="d"))

    def query(self, text: str) -> Mapping[str, Any]:
        """See `Transport.query`."""
        return _json(Query.read(text, now=0).run(self._index))

    def update(self, text: str) -> Applied:
        """A document is not written to."""
        raise Unreachable("a document can be read only; name a server with --url, or a database")

    def capabilities(self) -> Mapping[str, Any] | None:
        """A document guards nothing."""
        return None


def _json(answer: Any) -> Mapping[str, Any]:
    if not isinstance(answer, Rows):
        raise NoAnswer("the answer to a query has no rows")
    found: Mapping[str, Any] = json.loads(answer.to_json())
    return found
