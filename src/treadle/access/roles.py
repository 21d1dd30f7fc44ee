"""Roles: exact names of what a caller may do. They are state of the database, written by deployments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal

import msgspec

from treadle.access.caller import Caller
from treadle.errors import ConfigError, Denied
from treadle.text import nearest

Permission = Literal["read", "update", "define", "identity", "audit", "restore", "admin"]
"""On the graph: read, update, define, identity. On the database: audit (to read the log and the metrics),
restore, and admin, which includes audit."""

Kind = Literal["commands", "queries", "streams"]
"""What a role names, as its fields are called."""


class Role(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One role. `graph` and `operations` hold permissions; `tenant` is true where callers must name a tenant.

    `row_policies` false exempts the role from the contract's row policies (an operator's role).
    """

    name: str
    commands: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()
    graph: tuple[Permission, ...] = ()
    operations: tuple[Permission, ...] = ()
    tenant: bool = False
    row_policies: bool = True


class Roles:
    """The roles of a database. With none declared, the stated role of an embedded caller is recorded and
    restricts nothing, since that caller owns the file anyway; a token's role must be there.
    """

    def __init__(self, roles: Iterable[Role] = ()) -> None:
        self._roles: Final[Mapping[str, Role]] = {role.name: role for role in roles}

    def __iter__(self) -> Iterator[Role]:
        return iter(self._roles.values())

    def __len__(self) -> int:
        return len(self._roles)

    def get(self, name: str) -> Role | None:
        return self._roles.get(name)

    def check_command(self, caller: Caller, command: str) -> None:
        """Raise `Denied` unless the caller's role allows this command."""
        role = self._role(caller)
        if role is not None and command not in role.commands:
            raise Denied(
                f"role {role.name} does not allow command {command}; add it to the role's commands and deploy"
            )

    def check_query(self, caller: Caller, query: str) -> None:
        """Raise `Denied` unless the caller's role allows this named query."""
        role = self._role(caller)
        if role is not None and query not in role.queries:
            raise Denied(
                f"role {role.name} does not allow query {query}; add it to the role's queries and deploy"
            )

    def check_stream(self, caller: Caller, event: str) -> None:
        """Raise `Denied` unless the caller's role allows to consume this event's streams."""
        role = self._role(caller)
        if role is not None and event not in role.streams:
            raise Denied(
                f"role {role.name} does not allow stream {event}; add it to the role's streams and deploy"
            )

    def check_permission(self, caller: Caller, permission: Permission) -> None:
        """Raise `Denied` unless the caller's role carries `permission`."""
        if not self.permits(caller, permission):
            raise Denied(f"role {caller.role} has no {permission} permission; add it to the role and deploy")

    def permits(self, caller: Caller, permission: Permission) -> bool:
        """Whether the caller's role carries `permission`; raises `Denied` for a role that does not exist."""
        role = self._role(caller)
        if role is None:
            return True
        held = (*role.graph, *role.operations)
        return permission in held or (permission == "audit" and "admin" in held)

    def allowed(self, caller: Caller, names: Iterable[str], kind: Kind) -> list[str]:
        """Those of `names` that the caller may use, in their order: what it may know of."""
        role = self._role(caller)
        if role is None:
            return list(names)
        mine = frozenset(getattr(role, kind))
        return [name for name in names if name in mine]

    def policed(self, caller: Caller) -> bool:
        """Whether the contract's row policies apply: to everyone but the owner and exempt roles."""
        role = self._role(caller)
        if role is None:
            return caller.role is not None or bool(caller.facts)
        return role.row_policies

    def _role(self, caller: Caller) -> Role | None:
        if caller.role is None or (not self._roles and caller.token is None):
            return None
        role = self._roles.get(caller.role)
        if role is None:
            raise Denied(f"the database has no role {caller.role}{nearest(caller.role, self._roles)}")
        if role.tenant and not caller.tenant:
            raise Denied(f"role {role.name} is for one tenant at a time; the caller must name its tenant")
        return role


def encode(roles: Iterable[Role]) -> bytes:
    """The stored form: JSON, sorted by name."""
    return msgspec.json.encode(sorted(roles, key=lambda role: role.name))


def decode(data: bytes | None) -> Roles:
    """The roles that `encode` wrote; none for None."""
    return Roles(msgspec.json.decode(data, type=list[Role]) if data else ())


def read(tables: Iterable[Mapping[str, object]]) -> list[Role]:
    """Roles from the `[[roles]]` tables of a configuration; raises `ConfigError` with the table and key."""
    roles: list[Role] = []
    for number, table in enumerate(tables, start=1):
        try:
            roles.append(msgspec.convert(table, Role))
        except msgspec.ValidationError as error:
            raise ConfigError(f"[[roles]] number {number}: {error}") from error
    names = [role.name for role in roles]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"[[roles]]: {name} is declared twice; names must differ")
    return roles
