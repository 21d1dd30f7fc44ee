"""Every exception that Treadle raises, and the table of stable codes.

    TreadleError
    ├── ContractError            the contract text is refused; carries diagnostics
    ├── RequestError             the request is refused before evaluation; nothing was recorded
    │   ├── Malformed            not readable at all (bad JSON, bad encoding, an empty key)
    │   ├── InvalidInput         readable, but not of the declared type; carries the path
    │   ├── UnknownName          no such command, query, entity, role …; names the nearest
    │   ├── Denied               the caller may not do this
    │   ├── KeyReused            the idempotency key was used with another input
    │   ├── KeyExpired           the idempotency key's receipt was pruned
    │   ├── ContractMismatch     the caller relies on another contract, or a lost deployment race
    │   ├── HistoryChanged       the caller relies on another history incarnation
    │   ├── OverCapacity         the waiting queue is full
    │   └── TooLarge             a fixed bound is passed
    ├── TerminalFailure          recorded, numbered, the key is consumed; carries the constraint
    ├── UnexpectedOutcome        Receipt.expect named another declared outcome
    ├── Internal                 an unexpected error of ours; nothing recorded, key not consumed
    ├── Busy                     nothing happened in the time given
    ├── Cancelled                withdrawn before it was taken; nothing happened
    ├── LeaseLost                a worker's turn lost its lease; somebody else may have it
    ├── OutcomeUnknown           repeat the same key to learn it
    ├── Unreachable              no server answers; nothing is known to have happened
    ├── Refused                  the graph's guard refused an update; carries .reason
    ├── SparqlError              a SPARQL text or an RDF document is refused
    │   ├── SparqlSyntax         with line and column
    │   └── SparqlLimit          too deep, too many, too long
    ├── StoreError               the database cannot be used as asked
    │   ├── DatabaseMissing      no file, and create=False
    │   ├── DatabaseNewer        written by a newer release
    │   ├── DatabaseCorrupt      what is stored contradicts itself
    │   ├── DiskFull             no room; nothing half-written
    │   ├── ReadOnly             the file or its folder cannot be written
    │   ├── Closed               the handle was closed
    │   ├── ForkedHandle         the handle was opened before a fork
    │   └── ClockJumped          the wall clock is too far ahead of the last commit
    └── ConfigError              treadle.toml, an environment variable or a flag is refused

Each carries `.code` (stable, in `CODES`), `.recovery` (what the caller should do next) and `.status`
(the HTTP status that carries it). Messages never hold values, keys, tokens or lease evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple


class Code(NamedTuple):
    """What a stable code means to a caller: the HTTP status and the recovery."""

    status: int
    recovery: str


CORRECT: Final = "correct_request"
RETRY: Final = "retry"
REPEAT: Final = "repeat_same_key"
PERMISSION: Final = "obtain_permission"
REFRESH: Final = "refresh_contract"
OPERATOR: Final = "contact_operator"

CODES: Final[dict[str, Code]] = {
    "contract_refused": Code(422, CORRECT),
    "malformed": Code(400, CORRECT),
    "invalid_input": Code(422, CORRECT),
    "unknown_name": Code(404, CORRECT),
    "unauthenticated": Code(401, PERMISSION),
    "denied": Code(403, PERMISSION),
    "idempotency_key_reused": Code(422, CORRECT),
    "idempotency_key_expired": Code(410, CORRECT),
    "contract_mismatch": Code(409, REFRESH),
    "contract_incompatible": Code(409, CORRECT),
    "version_conflict": Code(409, REFRESH),
    "history_changed": Code(409, REFRESH),
    "cursor_invalid": Code(422, CORRECT),
    "cursor_expired": Code(410, CORRECT),
    "over_capacity": Code(503, RETRY),
    "too_large": Code(413, CORRECT),
    "unsupported_media_type": Code(415, CORRECT),
    "not_acceptable": Code(406, CORRECT),
    "method_not_allowed": Code(405, CORRECT),
    "arithmetic": Code(409, CORRECT),
    "unique_conflict": Code(409, CORRECT),
    "invariant_violated": Code(409, CORRECT),
    "duplicate_target": Code(409, CORRECT),
    "row_too_large": Code(409, CORRECT),
    "revision_exhausted": Code(409, OPERATOR),
    "unexpected_outcome": Code(500, CORRECT),
    "lease_lost": Code(409, RETRY),
    "internal": Code(500, OPERATOR),
    "busy": Code(503, RETRY),
    "cancelled": Code(503, RETRY),
    "outcome_unknown": Code(504, REPEAT),
    "unreachable": Code(503, RETRY),
    "refused": Code(403, CORRECT),
    "sparql_syntax": Code(400, CORRECT),
    "sparql_limit": Code(400, CORRECT),
    "deadline": Code(408, RETRY),
    "precondition_failed": Code(412, REFRESH),
    "enrollment_mismatch": Code(409, OPERATOR),
    "store": Code(503, OPERATOR),
    "database_missing": Code(503, OPERATOR),
    "database_newer": Code(503, OPERATOR),
    "database_corrupt": Code(503, OPERATOR),
    "disk_full": Code(503, OPERATOR),
    "read_only": Code(503, OPERATOR),
    "closed": Code(503, OPERATOR),
    "forked": Code(503, OPERATOR),
    "clock_jumped": Code(503, OPERATOR),
    "config": Code(500, CORRECT),
}


class TreadleError(Exception):
    """The root. `message` is one sentence that says what to do; `code` is a key of `CODES`."""

    default: str = "internal"

    def __init__(self, message: str, *, code: str | None = None, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default
        self.details = details

    @property
    def recovery(self) -> str:
        return CODES[self.code].recovery

    @property
    def status(self) -> int:
        return CODES[self.code].status

    @property
    def ok(self) -> bool:
        """Always false: `run_many` returns error objects beside receipts, and both answer `.ok`."""
        return False


class ContractError(TreadleError):
    """A contract text is refused. `diagnostics` lists why, in source order."""

    default = "contract_refused"

    def __init__(self, message: str, *, diagnostics: Sequence[Any] = (), code: str | None = None) -> None:
        super().__init__(message, code=code)
        self.diagnostics = tuple(diagnostics)


class RequestError(TreadleError):
    """Refused before evaluation: nothing was recorded and the idempotency key is free."""

    default = "malformed"


class Malformed(RequestError):
    """The request cannot be read."""


class InvalidInput(RequestError):
    """A value is not of the declared type. `path` names the field, such as `input.pages`."""

    default = "invalid_input"

    def __init__(self, message: str, *, path: str = "", code: str | None = None) -> None:
        super().__init__(f"{path}: {message}" if path else message, code=code)
        self.path = path


class UnknownName(RequestError):
    """Nothing of that name is declared in the deployed contract."""

    default = "unknown_name"


class Denied(RequestError):
    """The caller's role does not allow this."""

    default = "denied"


class KeyReused(RequestError):
    """The idempotency key was used before with another input."""

    default = "idempotency_key_reused"


class KeyExpired(RequestError):
    """The key was executed once and its receipt has been pruned."""

    default = "idempotency_key_expired"


class ContractMismatch(RequestError):
    """The caller relies on a contract that is not the deployed one."""

    default = "contract_mismatch"


class HistoryChanged(RequestError):
    """The caller relies on a history incarnation that a restore has ended."""

    default = "history_changed"


class OverCapacity(RequestError):
    """The waiting queue is full; try again later."""

    default = "over_capacity"


class TooLarge(RequestError):
    """A fixed bound on size or count is passed."""

    default = "too_large"


class TerminalFailure(TreadleError):
    """The command ended in a failure that is recorded: repeating the key gives the same failure.

    `constraint` names the unique or invariant, where there is one; `commit` is the record's number.
    """

    default = "arithmetic"

    def __init__(
        self,
        message: str,
        *,
        code: str,
        constraint: str | None = None,
        commit: int | None = None,
        replayed: bool = False,
    ) -> None:
        super().__init__(message, code=code)
        self.constraint = constraint
        self.commit = commit
        self.replayed = replayed


class UnexpectedOutcome(TreadleError):
    """The command answered another of its declared outcomes. `outcome` and `declared` name them."""

    default = "unexpected_outcome"

    def __init__(self, message: str, *, outcome: str, declared: Sequence[str]) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.declared = tuple(declared)


class Internal(TreadleError):
    """An unexpected error of ours: nothing was recorded and the key is free."""


class Busy(TreadleError):
    """Nothing happened within the time given."""

    default = "busy"


class Cancelled(TreadleError):
    """The command was withdrawn before it was taken: nothing happened."""

    default = "cancelled"


class LeaseLost(TreadleError):
    """A worker's turn lost its lease: it expired, or another holds the row. Stop; it will be retried."""

    default = "lease_lost"


class OutcomeUnknown(TreadleError):
    """The commit may or may not have happened; repeat the same key to learn the outcome."""

    default = "outcome_unknown"


class Unreachable(TreadleError):
    """No server answers at the address, or something else does: as far as is known, nothing happened."""

    default = "unreachable"


class Refused(TreadleError):
    """The graph's guard refused the request. `reason` is stable; `entity` and `field` say where."""

    default = "refused"

    def __init__(
        self,
        message: str,
        *,
        reason: str,
        entity: str | None = None,
        field: str | None = None,
        graph: str | None = None,
        remedy: str = "",
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.entity = entity
        self.field = field
        self.graph = graph
        self.remedy = remedy


class SparqlError(TreadleError):
    """A SPARQL text or an RDF document is refused before anything was evaluated."""

    default = "sparql_syntax"


class SparqlSyntax(SparqlError):
    """Not SPARQL (or not RDF). `line` and `column` count from 1 in the text that was sent."""

    def __init__(self, message: str, *, line: int | None = None, column: int | None = None) -> None:
        where = f" at line {line}, column {column}" if line is not None else ""
        super().__init__(f"{message}{where}")
        self.line = line
        self.column = column


class SparqlLimit(SparqlError):
    """The text passes a fixed limit that keeps the process alive."""

    default = "sparql_limit"


class StoreError(TreadleError):
    """The database cannot be used as asked; what it holds is intact."""

    default = "store"


class DatabaseMissing(StoreError):
    default = "database_missing"


class DatabaseNewer(StoreError):
    default = "database_newer"


class DatabaseCorrupt(StoreError):
    default = "database_corrupt"


class DiskFull(StoreError):
    default = "disk_full"


class ReadOnly(StoreError):
    default = "read_only"


class Closed(StoreError):
    default = "closed"


class ForkedHandle(StoreError):
    default = "forked"


class ClockJumped(StoreError):
    default = "clock_jumped"


class ConfigError(TreadleError):
    """A setting is refused; the message names the key and where it was set."""

    default = "config"


class InvariantBroken(Internal):
    """A rule that our own code guarantees did not hold; see `check`."""


def check(condition: object, message: str) -> None:
    """Raise `InvariantBroken` unless `condition` holds; unlike `assert`, `python -O` keeps it."""
    if not condition:
        raise InvariantBroken(f"internal invariant broken: {message}")
