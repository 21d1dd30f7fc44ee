"""Treadle, a workflow database: exactly one worker holds a job, can prove it, and nothing writes around it.

What an application imports, and nothing else. `open` is where to begin.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from treadle.errors import (
    Busy,
    Cancelled,
    ConfigError,
    ContractError,
    ContractMismatch,
    Denied,
    HistoryChanged,
    Internal,
    InvalidInput,
    KeyExpired,
    KeyReused,
    LeaseLost,
    Malformed,
    OutcomeUnknown,
    OverCapacity,
    Refused,
    StoreError,
    TerminalFailure,
    TreadleError,
    UnexpectedOutcome,
    UnknownName,
    Unreachable,
)
from treadle.version import __version__

if TYPE_CHECKING:
    from treadle.acting import Acting
    from treadle.asynchronous import AsyncDatabase, open_async
    from treadle.client.remote import AsyncRemote, Remote, connect, connect_async
    from treadle.database import Database, key, open, restore
    from treadle.engine.receipt import Receipt
    from treadle.graph.options import GraphOptions
    from treadle.queries import Page
    from treadle.workers import Cap, Schedule, Worker, worker

# Imported when first asked for: `import treadle` stays quick, and what is not used is not loaded.
_LATER: Final = {
    "Acting": "treadle.acting",
    "Cap": "treadle.workers",
    "Database": "treadle.database",
    "GraphOptions": "treadle.graph.options",
    "Page": "treadle.queries",
    "Receipt": "treadle.engine.receipt",
    "key": "treadle.database",
    "open": "treadle.database",
    "restore": "treadle.database",
    "AsyncDatabase": "treadle.asynchronous",
    "open_async": "treadle.asynchronous",
    "AsyncRemote": "treadle.client.remote",
    "Remote": "treadle.client.remote",
    "connect": "treadle.client.remote",
    "connect_async": "treadle.client.remote",
    "Schedule": "treadle.workers",
    "Worker": "treadle.workers",
    "worker": "treadle.workers",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(_module(_LATER[name]), name)
    raise AttributeError(f"module 'treadle' has no attribute {name!r}")


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if not name.startswith("treadle.client") or (error.name or "").startswith("treadle"):
            raise
        missing = f"a client over HTTP needs more packages ({error.name} is missing)"
        raise ConfigError(f"{missing}: pip install 'treadle[client]'") from error


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "__version__",
    "Acting",
    "AsyncDatabase",
    "AsyncRemote",
    "Busy",
    "Cancelled",
    "Cap",
    "ContractError",
    "ContractMismatch",
    "Database",
    "Denied",
    "GraphOptions",
    "HistoryChanged",
    "Internal",
    "InvalidInput",
    "KeyExpired",
    "KeyReused",
    "LeaseLost",
    "Malformed",
    "OutcomeUnknown",
    "OverCapacity",
    "Page",
    "Receipt",
    "Refused",
    "Remote",
    "Schedule",
    "StoreError",
    "TerminalFailure",
    "TreadleError",
    "UnexpectedOutcome",
    "UnknownName",
    "Unreachable",
    "Worker",
    "connect",
    "connect_async",
    "key",
    "open",
    "open_async",
    "restore",
    "worker",
]
