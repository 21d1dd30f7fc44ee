"""What a generated client runs on: a database in this process as one principal, or one behind HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from treadle.engine.receipt import Receipt
from treadle.errors import InvalidInput, TreadleError
from treadle.queries.page import Page

if TYPE_CHECKING:
    from treadle.why import Why

Command = tuple[str, Mapping[str, Any] | Any]


class Transport(Protocol):
    """`db.acting_as(…)` or `treadle.connect(…)`."""

    def run(
        self,
        command: str,
        input: Mapping[str, Any],
        *,
        timeout: float | None = None,
        history: str | None = None,
        contract: str | None = None,
    ) -> Receipt: ...

    def run_many(
        self,
        commands: Sequence[Command],
        *,
        timeout: float | None = None,
        history: str | None = None,
        contract: str | None = None,
    ) -> list[Receipt | TreadleError]: ...

    def query(
        self,
        name: str,
        parameters: Mapping[str, Any] | Any = None,
        *,
        after: str | None = None,
        at_least: int | None = None,
        history: str | None = None,
        timeout: float | None = None,
        contract: str | None = None,
        identity: str | None = None,
    ) -> Page: ...

    def why(self, entity: str, key: Any, *, unmasked: bool = False) -> Why: ...


class AsyncTransport(Protocol):
    """The same, awaited: of `treadle.open_async(…)`, or `treadle.connect_async(…)`."""

    async def run(
        self,
        command: str,
        input: Mapping[str, Any],
        *,
        timeout: float | None = None,
        history: str | None = None,
        contract: str | None = None,
    ) -> Receipt: ...

    async def run_many(
        self,
        commands: Sequence[Command],
        *,
        timeout: float | None = None,
        history: str | None = None,
        contract: str | None = None,
    ) -> list[Receipt | TreadleError]: ...

    async def query(
        self,
        name: str,
        parameters: Any = None,
        *,
        after: str | None = None,
        at_least: int | None = None,
        history: str | None = None,
        timeout: float | None = None,
        contract: str | None = None,
        identity: str | None = None,
    ) -> Page: ...

    async def why(self, entity: str, key: Any, *, unmasked: bool = False) -> Why: ...


class Opened(Protocol):
    """A database that was opened, sync or async: somebody has to act on it."""

    def acting_as(self, principal: str, *, role: str | None = None) -> Any: ...


def acting(given: Any, principal: str | None, role: str | None) -> Any:
    """The transport of what a client was given; raises `InvalidInput` where nobody is said to act."""
    if hasattr(given, "acting_as"):
        if principal is None:
            raise InvalidInput(
                "say who acts: db.acting_as('printer-service'), or principal='printer-service'",
                path="principal",
            )
        return given.acting_as(principal, role=role)
    if principal is not None or role is not None:
        raise InvalidInput("this transport has its principal already; leave it out", path="principal")
    return given
