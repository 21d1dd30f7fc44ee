"""What holds of the graph as of a transaction: enrolled or not, under which names, who may sign."""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple

import msgspec

from treadle.access.caller import Caller
from treadle.access.roles import Permission, Roles
from treadle.errors import ConfigError, DatabaseCorrupt, Denied, TreadleError
from treadle.graph import enrollment
from treadle.graph.enrollment import Enrollment, Settings
from treadle.graph.guard.context import Context
from treadle.graph.options import GraphOptions
from treadle.graph.vocabulary import BASE_NS, Vocabulary
from treadle.ports.store import ReadTx, WriteTx

ENROLLMENT: Final = "graph.enrollment"
VERIFICATION: Final = "graph.verification"

Raw = tuple[bytes | None, bytes | None]


class Rules(NamedTuple):
    """The rules of one state of the database; `raw` is what they were read from."""

    raw: Raw
    stored: Enrollment | None
    settings: Settings

    @property
    def names(self) -> Vocabulary:
        """The vocabulary in force."""
        return self.context(identity=False, define=False).names

    def context(self, *, identity: bool, define: bool) -> Context:
        """What the guard is told about a caller with these permissions."""
        return enrollment.guard_context(self.stored, self.settings, identity=identity, define=define)

    def context_of(self, roles: Roles, caller: Caller) -> Context:
        """What the guard is told about a caller."""
        identity, define = roles.permits(caller, "identity"), roles.permits(caller, "define")
        return self.context(identity=identity, define=define)


def raw_of(tx: ReadTx) -> Raw:
    """The stored switches."""
    return tx.setting(ENROLLMENT), tx.setting(VERIFICATION)


def read(raw: Raw, options: GraphOptions) -> Rules:
    """The rules that follow from what is stored, for a process with these options.

    Raises:
        DatabaseNewer, DatabaseCorrupt: the enrollment cannot be read.
    """
    stored = None if raw[0] is None else Enrollment.from_fields(_fields(raw[0]))
    verified = None if raw[1] is None else _fields(raw[1])
    return Rules(raw, stored, settings_of(options, stored, verified))


def settings_of(options: GraphOptions, stored: Enrollment | None, verified: Any = None) -> Settings:
    """The process's options, with what they leave open taken from the database."""
    base = options.base_ns
    graphs = None if options.identity_graphs is None else tuple(options.identity_graphs)
    if stored is not None:
        base = base or stored.base_ns
    elif verified is not None:
        base = base or str(verified["base_ns"])
        kept = verified["identity_graphs"]
        graphs = graphs if graphs is not None or kept is None else tuple(map(str, kept))
    try:
        return Settings(
            options.enforce_workflows,
            verified is not None,
            base or BASE_NS,
            graphs,
            tuple(options.event_predicates),
        )
    except ValueError as error:
        raise ConfigError(f"graph options: {error}") from error


Wanted = Literal["follow", "enroll", "verify"]


def check(known: Rules, options: GraphOptions) -> Wanted:
    """What a process that opens the database has to do.

    Raises:
        ConfigError: the process says false where the database says true.
        TreadleError: code `enrollment_mismatch`.
    """
    settings = settings_of(options, known.stored)
    if enrollment.follow(known.stored, settings):
        return "enroll"
    if known.stored is not None:
        return "follow"
    if known.raw[1] is None:
        return "verify" if options.verify_transitions else "follow"
    if options.verify_transitions is False:
        raise ConfigError(
            "verify_transitions = false, but the database verifies transitions; remove the key to follow the "
            "database, or run: treadle graph disenroll"
        )
    stored = settings_of(GraphOptions(), None, _fields(known.raw[1]))
    named = options.identity_graphs is not None and set(options.identity_graphs) != set(
        stored.identity_graphs or ()
    )
    if named or options.base_ns not in (None, stored.base_ns):
        raise TreadleError(
            "the database verifies transitions with another base_ns or identity_graphs; use its settings "
            "(treadle graph doctor shows them)",
            code="enrollment_mismatch",
        )
    return "follow"


def write_enrollment(tx: WriteTx, found: Enrollment | None) -> None:
    """Switch workflow processing on or off."""
    tx.put_setting(ENROLLMENT, None if found is None else msgspec.json.encode(found.to_fields()))


def write_verification(tx: WriteTx, settings: Settings | None) -> dict[str, Any] | None:
    """Switch verification without enforcement on or off; returns what was written."""
    if settings is None:
        tx.put_setting(VERIFICATION, None)
        return None
    graphs = settings.identity_graphs
    fields = {"base_ns": settings.base_ns, "identity_graphs": None if graphs is None else list(graphs)}
    tx.put_setting(VERIFICATION, msgspec.json.encode(fields))
    return fields


def check_caller(roles: Roles, caller: Caller, permission: Permission) -> None:
    """Raise `Denied` unless the caller has a permission on the graph, which belongs to no tenant."""
    roles.check_permission(caller, permission)
    if caller.tenant:
        raise Denied("the caller is bound to one tenant, and the graph is the whole database's")


def _fields(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except msgspec.MsgspecError as error:
        raise DatabaseCorrupt("a switch of the graph cannot be read; restore a backup") from error
