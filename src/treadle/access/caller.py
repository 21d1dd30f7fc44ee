"""Who makes a request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

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
