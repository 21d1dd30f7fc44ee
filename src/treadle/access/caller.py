"""Who makes a request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from treadle.errors import InvalidInput
from treadle.limits import NAME_BYTES
from treadle.model.facts import NO_FACTS


class Caller(NamedTuple):
    """The established identity of a request.

    `principal` is the service that acts; it is part of the idempotency identity, so it must not change
    at a restart. `instance` says which process of it (recorded, not compared). `role` names a role of
    the database, or None for the embedded owner of the file, who may run every command. `tenant` is the
    partition value the caller is bound to, as text, or ''. `facts` are the principal's facts as cells.
    `token` is the digest of the token that the request came with, so that the batch can look again.
    """

    principal: str
    role: str | None = None
    instance: str = ""
    tenant: str = ""
    facts: Mapping[str, Any] = NO_FACTS
    kind: str = "owner"
    token: str | None = None


def check_name(value: Any, path: str, what: str) -> None:
    """Raise `InvalidInput` for what is no text that a record can hold: `what` says what to write instead."""
    if not isinstance(value, str):
        raise InvalidInput(f"{what}, as text; {type(value).__name__} was given", path=path)
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise InvalidInput(f"{what}, without lone surrogates", path=path) from None
    if size > NAME_BYTES or "\0" in value:
        raise InvalidInput(f"{what}, in at most {NAME_BYTES} bytes and without NUL", path=path)


def stated(
    principal: Any,
    role: Any = None,
    instance: Any = "",
    tenant: Any = "",
    facts: Mapping[str, Any] = NO_FACTS,
) -> Caller:
    """A caller as an application names it; raises `InvalidInput` for a name that cannot be recorded."""
    what = "name the service that acts, such as printer-service"
    check_name(principal, "principal", what)
    if not principal:
        raise InvalidInput(what, path="principal")
    if role is not None:
        check_name(role, "role", "name a role of the database")
    check_name(instance, "instance", "name the process, such as host-7/4242")
    check_name(tenant, "tenant", "write the tenant's partition value")
    return Caller(principal, role, instance, tenant, facts)
