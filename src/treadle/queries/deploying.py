"""Named queries on their way into the database: texts or files to what a deployment takes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from treadle.engine.named import Queries, QueryProposal
from treadle.errors import ContractError
from treadle.model.contract import Contract
from treadle.model.query import Query
from treadle.riffql import compile_queries


def proposed(
    given: Sequence[str | Path] | str | Path | None, contract: Contract, current: Queries
) -> QueryProposal:
    """The queries to deploy with `contract`: those given (texts, or paths of files) replace all others.

    Without any (None) the deployed ones stay, compiled again, since the contract may have changed under
    them. Raises `ContractError` with diagnostics for what cannot be compiled.
    """
    if given is None:
        kept = [_compiled(query.text, f"<query {query.name}>", contract) for query in current]
        return QueryProposal(tuple(query for one in kept for query in one), current.identities())
    listed = [given] if isinstance(given, str | Path) else given
    found: dict[str, Query] = {}
    for text in listed:
        data, name = (text.read_bytes(), str(text)) if isinstance(text, Path) else (text, "<queries>")
        for query in _compiled(data, name, contract):
            if query.name in found:
                raise ContractError(
                    f"query {query.name} is declared twice, also in {name}; rename or remove one"
                )
            found[query.name] = query
    return QueryProposal(tuple(found.values()))


def _compiled(source: str | bytes, name: str, contract: Contract) -> tuple[Query, ...]:
    compiled = compile_queries(source, contract, name)
    if compiled.queries is None:
        raise ContractError(compiled.render(), diagnostics=compiled.diagnostics)
    return compiled.queries
