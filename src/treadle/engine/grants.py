"""Giving, listing, ending tokens; each change is one record of the log, which never holds the token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from treadle.access import tokens
from treadle.access.caller import Caller
from treadle.access.tokens import Token
from treadle.engine import state as states
from treadle.engine.acts import ActJob
from treadle.engine.batch import Batch
from treadle.engine.state import State
from treadle.errors import InvalidInput, UnknownName
from treadle.model.facts import NO_FACTS
from treadle.ports.store import ReadTx
from treadle.text import nearest


class Granted(NamedTuple):
    """A new token: `text` is shown this once, `token` is what the database keeps of it."""

    text: str
    token: Token


class Grant(NamedTuple):
    """What a token is for. `seconds` is how long it is valid, None until revoked."""

    principal: str
    role: str
    tenant: str = ""
    facts: Mapping[str, Any] = NO_FACTS
    seconds: int | None = None


class CreateToken(ActJob):
    """Make a token for a principal in a role; the result is a `Granted`."""

    __slots__ = ("grant", "secret")

    any_clock = False

    def __init__(self, caller: Caller, grant: Grant, secret: bytes) -> None:
        super().__init__(caller)
        self.grant = grant
        self.secret = secret

    def act(self, batch: Batch) -> None:
        self._check(batch.state)
        grant = self.grant
        digest = tokens.digest_of(tokens.text_of(self.secret), batch.state.digests.current)
        token = Token(
            id=digest[:12],
            principal=grant.principal,
            role=grant.role,
            tenant=grant.tenant,
            facts=dict(grant.facts),
            created=batch.time,
            expires=None if grant.seconds is None else batch.time + grant.seconds * 1_000_000,
        )
        _put(batch, digest, token)
        batch.append(self.entry(batch, "grant", "create", _described(token)))
        self.result = Granted(tokens.text_of(self.secret), token)

    def _check(self, state: State) -> None:
        grant = self.grant
        if not grant.principal:
            raise InvalidInput("name the service that the token acts as", path="principal")
        if grant.seconds is not None and grant.seconds <= 0:
            raise InvalidInput("a token must be valid for at least a second", path="seconds")
        role = state.roles.get(grant.role)
        if role is None:
            known = [each.name for each in state.roles]
            raise UnknownName(f"the database has no role {grant.role}{nearest(grant.role, known)}")
        if role.tenant and not grant.tenant:
            raise InvalidInput(f"role {role.name} is for one tenant at a time; name it", path="tenant")
        if grant.facts:
            state.require().codec.facts_reader(grant.facts)


class RevokeToken(ActJob):
    """End a token, now or `seconds` from now; the result is the token as it is then."""

    __slots__ = ("id", "seconds")

    any_clock = False

    def __init__(self, caller: Caller, id: str, seconds: int = 0) -> None:
        super().__init__(caller)
        self.id = id
        self.seconds = seconds

    def act(self, batch: Batch) -> None:
        digest, token = find(batch.tx, self.id)
        until = batch.time + self.seconds * 1_000_000
        if self.seconds:
            expires = until if token.expires is None else min(token.expires, until)
            token = replace(token, expires=expires)
        else:
            token = replace(token, revoked=token.revoked or until)
        _put(batch, digest, token)
        name = "expire" if self.seconds else "revoke"
        batch.append(self.entry(batch, "grant", name, _described(token)))
        self.result = token


def replace(token: Token, **changes: Any) -> Token:
    """The token with some fields changed."""
    fields = {name: getattr(token, name) for name in token.__struct_fields__} | changes
    return Token(**fields)


def listed(tx: ReadTx) -> list[Token]:
    """All tokens, oldest first."""
    found = [tokens.decode(data) for data in tx.settings(tokens.PREFIX).values()]
    return sorted(found, key=lambda token: (token.created, token.id))


def find(tx: ReadTx, id: str) -> tuple[str, Token]:
    """A token by its id, with its digest; raises `UnknownName`."""
    for name, data in tx.settings(tokens.PREFIX + id).items():
        token = tokens.decode(data)
        if token.id == id:
            return name.removeprefix(tokens.PREFIX), token
    raise UnknownName(f"no token {id}; `treadle token list` shows them")


def authenticate(tx: ReadTx, state: State, text: str, instance: str) -> Caller:
    """Who sends this token. Raises `Denied` or `Malformed` (both `unauthenticated`).

    Whether it is valid at the transaction's time is checked again in the batch.
    """
    for key in state.digests.readable:
        digest = tokens.digest_of(text, key)
        data = tx.setting(tokens.PREFIX + digest)
        if data is not None:
            token = tokens.decode(data)
            facts = state.require().codec.facts_reader(token.facts) if token.facts else NO_FACTS
            return Caller(token.principal, token.role, instance, token.tenant, facts, "token", digest)
    raise tokens.refused()


def _put(batch: Batch, digest: str, token: Token) -> None:
    batch.tx.put_setting(tokens.PREFIX + digest, tokens.encode(token))
    states.bump(batch.tx)


def _described(token: Token) -> dict[str, Any]:
    """What the log says of a token: never its digest or its facts."""
    return {
        "id": token.id,
        "principal": token.principal,
        "role": token.role,
        "tenant": token.tenant or None,
        "expires": token.expires,
        "revoked": token.revoked,
    }
