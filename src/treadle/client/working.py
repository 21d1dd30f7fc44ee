"""What a worker asks of a database, asked over HTTP: see `treadle.workers.client`, whose `Client` this is."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Protocol
from urllib.parse import quote

import msgspec

from treadle.client.calls import Calls
from treadle.client.exchange import Attempts, read, write
from treadle.client.http import Http
from treadle.client.problems import error_of, is_problem
from treadle.client.skeleton import Skeleton
from treadle.client.wire import encoded
from treadle.engine.receipt import Receipt
from treadle.errors import ContractMismatch, InvalidInput, Malformed, TreadleError, UnknownName
from treadle.model.contract import Contract, Event
from treadle.model.query import Query
from treadle.model.values import Codec
from treadle.registry import load
from treadle.text import nearest

FRESH: Final = 5.0
"""Seconds after which a worker asks whether something was deployed."""


class Asked(Protocol):
    """What a `treadle.client.remote.Remote` answers already."""

    @property
    def run(self) -> Callable[..., Receipt]: ...

    @property
    def run_many(self) -> Callable[..., Any]: ...

    @property
    def query(self) -> Callable[..., Any]: ...

    def presenting(self, said: str) -> Asked: ...

    def working(self) -> Working: ...


class Working:
    """A remote database as a worker sees it."""

    def __init__(self, remote: Asked, http: Http, calls: Calls) -> None:
        self._remote = remote
        self._http = http
        self._calls = calls
        self._lock = threading.Lock()
        self._heard: tuple[Skeleton, float] | None = None
        self._ids = load("ids").SystemIds()
        self.run = remote.run
        self.run_many = remote.run_many
        self.query = remote.query

    def __repr__(self) -> str:
        return repr(self._remote)

    def _skeleton(self) -> Skeleton:
        return self._hear()[0]

    def _hear(self) -> tuple[Skeleton, float]:
        """What the server told of its contract, not long ago, and when."""
        with self._lock:
            heard = self._heard
            if heard is None or time.monotonic() - heard[1] > FRESH:
                document = self._read("GET", "v1/contract/skeleton")
                try:
                    told = msgspec.convert(document, Skeleton)
                except msgspec.ValidationError as error:
                    raise ContractMismatch(
                        "the server describes its contract in a way that this release cannot read"
                    ) from error
                heard = self._heard = told, time.monotonic()
            return heard

    def _attempts(self) -> Attempts:
        return Attempts(self._calls.policy, None)

    def _read(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        data = None if body is None else encoded(body)
        return self._http.drive(read(self._attempts(), method, path, data))

    def write(self, path: str, body: Mapping[str, Any], *, safe: bool) -> Any:
        """Send what changes something; `safe` where doing it twice is as good as once."""
        return self._http.drive(write(self._attempts(), path, encoded(body), keyed=safe))

    def presenting(self, said: str) -> Working:
        return self._remote.presenting(said).working()

    # What is deployed.

    def generation(self) -> object:
        told = self._skeleton()
        queries = tuple(query.identity for query in told.queries)
        return told.contract.identity, queries, told.history

    def contract(self) -> Contract:
        return self._skeleton().contract

    def named_query(self, name: str) -> Query:
        known = {query.name: query for query in self._skeleton().queries}
        if name not in known:
            raise UnknownName(
                f"no query {name} is deployed that this token's role allows{nearest(name, known)}"
            )
        return known[name]

    def event_source(self, delivery: Any) -> bytes:
        identity: bytes = delivery.contract
        return identity

    def usable(self, names: Sequence[str]) -> Sequence[str]:
        return names  # the skeleton has no others

    def now(self) -> int:
        """The database's time, carried on from when it was last told, so that nobody waits for it."""
        told, at = self._heard or self._hear()
        return told.time + int((time.monotonic() - at) * 1_000_000)

    def fresh_id(self) -> uuid.UUID:
        return uuid.UUID(bytes=self._ids.uuid7(self.now()))

    # What is asked.

    def recall(self, command: str, keys: Sequence[str]) -> list[Receipt | Stored | TreadleError | None]:
        if not keys:
            return []
        found = self._read("POST", f"v1/receipts/{quote(command, safe='')}", {"keys": list(keys)})
        if not isinstance(found, dict) or len(found.get("receipts", ())) != len(keys):
            raise Malformed("the server's answer is no list of receipts")
        face = self._http.drive(
            self._calls.face(self._attempts(), None, lambda face: command in face.commands)
        )
        return [_answer(face, command, one) for one in found["receipts"]]

    def row(self, entity: str, key: Sequence[Any]) -> None:
        raise InvalidInput(
            f"over HTTP a row of {entity} is read by a named query; name one: lookup='Show…'", path="lookup"
        )

    def consumer(self, event: str, name: str, partition: Any) -> RemoteConsumer:
        contract = self.contract()
        for declared in contract.events:
            if declared.name == event:
                return RemoteConsumer(self, declared, Codec(contract), name, partition)
        known = [one.name for one in contract.events]
        raise UnknownName(f"no event {event} that this token's role allows{nearest(event, known)}")


def _answer(face: Any, command: str, document: Any) -> Receipt | Stored | TreadleError | None:
    if document is None:
        return None
    if is_problem(document):
        return error_of(document)
    try:
        receipt: Receipt = face.receipt(command, document)
    except ContractMismatch:  # stored under an older contract: that it came through is what counts
        return Stored(document)
    return receipt


class Stored:
    """A receipt whose fields cannot be read under the contract deployed now; they are as they came."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.outcome: str = document["outcome"]
        self.ok: bool = document["ok"]
        self.fields: Mapping[str, Any] = document["fields"]
        self.revisions = {
            one["binding"]: one["revision"] for one in document["workflow_revisions"] if "element" not in one
        }
        self.commit: int = document["commit"]
        self.time = datetime.fromisoformat(document["time"])
        self.replayed = True


class RemoteDelivery:
    """An event that was given to a consumer over HTTP; see `treadle.streams.Delivery`."""

    def __init__(self, declared: Event, codec: Codec, document: Mapping[str, Any]) -> None:
        try:
            cells = codec.fields_reader(declared.name, declared.fields)(document["fields"], "fields")
            self.token: str = document["token"]
            self.attempt: int = document["attempt"]
            self.fence: int = document["fence"]
            self.commit: int = document["commit"]
            self.ordinal = int(document["id"].partition(":")[2])
            self.time = datetime.fromisoformat(document["time"])
            self.contract = bytes.fromhex(document["contract"])
        except (KeyError, TypeError, ValueError, InvalidInput) as error:
            raise Malformed("the server's answer is no event of the contract that it described") from error
        pairs = zip(declared.fields, cells, strict=True)
        self.fields = {field.name: codec.python(field.type)(cell) for field, cell in pairs}


class RemoteConsumer:
    """A named consumer over HTTP."""

    def __init__(self, working: Working, declared: Event, codec: Codec, name: str, partition: Any) -> None:
        self._working = working
        self._declared = declared
        self._codec = codec
        self._partition = partition
        self._path = f"v1/streams/{quote(declared.name, safe='')}/{quote(name, safe='')}"

    def pull(self, limit: int, *, lease: int) -> list[RemoteDelivery]:
        """The next events; where the answer is lost, they come again when their leases end."""
        body = {"partition": self._partition, "limit": limit, "lease": lease, "contracts": True}
        found = self._working.write(f"{self._path}:pull", body, safe=False)
        return [RemoteDelivery(self._declared, self._codec, one) for one in found["deliveries"]]

    def ack(self, *deliveries: RemoteDelivery) -> Any:
        return self._settle("ack", deliveries, {})

    def nack(self, *deliveries: RemoteDelivery, delay: int, reason: str, failed: bool) -> Any:
        # Twice gives the second answer `stale`, and changes nothing more.
        return self._settle("nack", deliveries, {"delay": delay, "reason": reason, "failed": failed})

    def extend(self, *deliveries: RemoteDelivery, lease: int) -> Any:
        return self._settle("extend", deliveries, {"lease": lease})

    def _settle(self, verb: str, deliveries: Sequence[RemoteDelivery], more: Mapping[str, Any]) -> Any:
        tokens = [one.token for one in deliveries]
        body = {"partition": self._partition, "tokens": tokens, **more}
        return self._working.write(f"{self._path}:{verb}", body, safe=True)["answers"]
