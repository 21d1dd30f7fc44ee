"""The deployed named queries: settings of the database, decoded when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from treadle.errors import ContractMismatch, DatabaseCorrupt, UnknownName
from treadle.model import query as model
from treadle.model.query import Query
from treadle.ports.store import ReadTx, WriteTx
from treadle.text import nearest

PREFIX: Final = "query."
"""A query is the setting of this prefix and its name."""

_T = TypeVar("_T")


class QueryProposal(NamedTuple):
    """The queries to deploy, compiled against the contract that will be active: they replace all others.

    `known` are the identities, by name, of the queries that must be deployed now, None for no expectation.
    """

    queries: tuple[Query, ...]
    known: Mapping[str, str] | None = None

    def check(self, current: Queries) -> None:
        """Raise `ContractMismatch` where other queries are deployed than were expected."""
        if self.known is not None and self.known != current.identities():
            raise ContractMismatch(
                "other queries were deployed meanwhile; look at them and deploy again",
                code="version_conflict",
            )


class Queries:
    """All deployed queries. Immutable in what it answers."""

    def __init__(self, stored: Mapping[str, bytes]) -> None:
        self.stored = dict(stored)
        self._decoded: dict[str, Query] = {}
        self._kept: dict[tuple[object, ...], Any] = {}

    def __iter__(self) -> Iterator[Query]:
        return (self.get(name) for name in sorted(self.stored))

    def __len__(self) -> int:
        return len(self.stored)

    def get(self, name: str) -> Query:
        """The query of a name; raises `UnknownName` that names the nearest."""
        found = self._decoded.get(name)
        if found is None:
            data = self.stored.get(name)
            if data is None:
                raise UnknownName(f"no query {name} is deployed{nearest(name, self.stored)}")
            found = self._decoded[name] = _decode(name, data)
        return found

    def identities(self) -> dict[str, str]:
        """Each query's identity, by name."""
        return {query.name: query.identity for query in self}

    def keep(self, key: tuple[object, ...], make: Callable[[], _T]) -> _T:
        """What `make` gives, made once for `key`, such as a query made ready to run."""
        found: _T | None = self._kept.get(key)
        if found is None:
            found = self._kept[key] = make()
        return found


def load(tx: ReadTx, known: Queries | None) -> Queries:
    """The queries as of `tx`; `known` where they are the same."""
    stored = {name.removeprefix(PREFIX): data for name, data in tx.settings(PREFIX).items()}
    return known if known is not None and known.stored == stored else Queries(stored)


def write(tx: WriteTx, current: Queries, wanted: Sequence[Query]) -> bool:
    """Make `wanted` the deployed queries; false if they are already, compiled in the same way."""
    encoded = {query.name: model.encode(query) for query in wanted}
    for name in current.stored.keys() - encoded.keys():
        tx.put_setting(PREFIX + name, None)
    for name, data in encoded.items():
        if current.stored.get(name) != data:
            tx.put_setting(PREFIX + name, data)
    return current.stored != encoded


def described(queries: Sequence[Query]) -> dict[str, Any]:
    """What the log says of the deployed queries: each one's identity and text."""
    listed = sorted(queries, key=lambda query: query.name)
    return {"queries": [{"name": q.name, "identity": q.identity, "text": q.text} for q in listed]}


def _decode(name: str, data: bytes) -> Query:
    try:
        return model.decode(data)
    except msgspec.MsgspecError as error:
        raise DatabaseCorrupt(f"the compiled query {name} cannot be read: {error}") from error
