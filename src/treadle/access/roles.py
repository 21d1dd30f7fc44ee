"""Roles: exact names of what a caller may do. They are state of the database, written by deployments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal

import msgspec

from treadle.access.caller import Caller
from treadle.errors import ConfigError, Denied
from treadle.text import nearest

Permission = Literal["read", "update", "define", "identity", "restore", "admin"]


class Role(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One role. `graph` and `operations` hold permissions; `tenant` is true where tokens must name a tenant.

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
    """The roles of a database. With none declared, a stated role is recorded and restricts nothing:
    an embedded caller owns the file anyway, and a server refuses to start without roles and tokens.
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

    def check_permission(self, caller: Caller, permission: Permission) -> None:
        """Raise `Denied` unless the caller's role carries `permission`."""
        role = self._role(caller)
        if role is not None and permission not in role.graph and permission not in role.operations:
            raise Denied(f"role {role.name} has no {permission} permission; add it to the role and deploy")

    def policed(self, caller: Caller) -> bool:
        """Whether the contract's row policies apply: to everyone but the owner and exempt roles."""
        role = self._role(caller)
        if role is None:
            return caller.role is not None or bool(caller.facts)
        return role.row_policies

    def _role(self, caller: Caller) -> Role | None:
        if caller.role is None or not self._roles:
            return None
        role = self._roles.get(caller.role)
        if role is None:
            raise Denied(f"the database has no role {caller.role}{nearest(caller.role, self._roles)}")
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
