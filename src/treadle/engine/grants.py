"""Giving, listing, ending tokens; each change is one record of the log, which never holds the token."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final, NamedTuple

from treadle.access import tokens
from treadle.access.caller import Caller, stated
from treadle.access.tokens import Token
from treadle.engine import state as states
from treadle.engine.acts import ActJob
from treadle.engine.batch import Batch
from treadle.engine.core import Engine
from treadle.engine.state import Deployed, State
from treadle.errors import InvalidInput, UnknownName, check
from treadle.limits import TIMESTAMP_MAX
from treadle.model.facts import NO_FACTS
from treadle.ports.store import ReadTx
from treadle.text import nearest

OPERATOR: Final = "owner"
LONGEST: Final = 100 * 366 * 86_400
"""The longest a token may be valid, in seconds; one that shall last longer has no end at all."""


class Granted(NamedTuple):
    """A new token: `text` is shown this once, `token` is what the database keeps of it."""

    text: str
    token: Token


class Grant(NamedTuple):
    """What a token is for. `seconds` is how long it is valid, None until revoked.

    `facts` are the principal's facts by name, as Python values or in their JSON form.
    """

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
        facts = check_grant(self.grant, batch.state)
        token = put_new(batch, self.grant, facts, self.secret)
        batch.append(self.entry(batch, "grant", "create", _described(token)))
        self.result = Granted(tokens.text_of(self.secret), token)


class RevokeToken(ActJob):
    """End a token now, or `seconds` from now; the result is the token as it is then."""

    __slots__ = ("id", "seconds")

    any_clock = False

    def __init__(self, caller: Caller, id: str, seconds: int = 0) -> None:
        super().__init__(caller)
        self.id = id
        self.seconds = seconds

    def act(self, batch: Batch) -> None:
        digest, token = find(batch.tx, self.id)
        token = ended(token, batch.time, self.seconds)
        _put(batch, digest, token)
        name = "expire" if self.seconds else "revoke"
        batch.append(self.entry(batch, "grant", name, _described(token)))
        self.result = token


class RotateToken(ActJob):
    """Give a successor to a token, which stays valid for `overlap` seconds; the result is a `Granted`.

    The successor has the same principal, role, tenant and facts. `seconds` is how long it is valid; without
    it as long as the old one was made for.
    """

    __slots__ = ("id", "overlap", "secret", "seconds")

    any_clock = False

    def __init__(self, caller: Caller, id: str, secret: bytes, overlap: int, seconds: int | None) -> None:
        super().__init__(caller)
        self.id = id
        self.secret = secret
        self.overlap = overlap
        self.seconds = seconds

    def act(self, batch: Batch) -> None:
        digest, old = find(batch.tx, self.id)
        if not old.valid(batch.time):
            raise InvalidInput("the token has ended already; create a new one", path="id")
        seconds = self.seconds
        if seconds is None and old.expires is not None:
            seconds = max(1, (old.expires - old.created) // 1_000_000)
        grant = Grant(old.principal, old.role, old.tenant, old.facts, seconds)
        token = put_new(batch, grant, check_grant(grant, batch.state), self.secret)
        old = ended(old, batch.time, self.overlap)
        _put(batch, digest, old)
        body = _described(token) | {"replaces": old.id, "until": old.revoked or old.expires}
        batch.append(self.entry(batch, "grant", "rotate", body))
        self.result = Granted(tokens.text_of(self.secret), token)


class Tokens:
    """The tokens of a database: `db.tokens`.

    Each change is a record of the log, by `operator`, and takes effect for every process at once. An
    operator who states a role needs its `admin` permission. The token's text is shown once, by `create`
    and `rotate`; the database keeps a keyed digest of it.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def create(
        self,
        principal: str,
        *,
        role: str,
        tenant: str = "",
        facts: Mapping[str, Any] | None = None,
        valid_for: timedelta | None = None,
        operator: str = OPERATOR,
        operator_role: str | None = None,
    ) -> Granted:
        """Make a token that acts as `principal` in `role`; returns its `.text` and `.token`.

        `tenant` is the partition value that its holder is bound to, as text. `facts` are the principal's
        facts for row policies. Without `valid_for` it is valid until it is revoked.
        Raises `UnknownName` for a role that the database has not, `InvalidInput`, `Denied`.
        """
        seconds = None if valid_for is None else whole_seconds(valid_for, "valid_for")
        grant = Grant(principal, role, tenant, facts or NO_FACTS, seconds)
        granted: Granted = self._run(
            CreateToken(Caller(operator, operator_role), grant, self._engine.ids.token(tokens.SIZE))
        )
        return granted

    def list(self) -> list[Token]:
        """Every token, those that have ended too, oldest first."""
        with self._engine.store.read() as tx:
            return listed(tx)

    def revoke(self, id: str, *, operator: str = OPERATOR, operator_role: str | None = None) -> Token:
        """End a token at once; ending it twice is fine. Raises `UnknownName`."""
        token: Token = self._run(RevokeToken(Caller(operator, operator_role), id))
        return token

    def rotate(
        self,
        id: str,
        *,
        overlap: timedelta = timedelta(0),
        valid_for: timedelta | None = None,
        operator: str = OPERATOR,
        operator_role: str | None = None,
    ) -> Granted:
        """Give a token a successor alike; both are valid for `overlap`, and then only the new one.

        Without `valid_for` the successor is valid for as long as the old token was made for.
        Raises `UnknownName`, and `InvalidInput` for a token that has ended.
        """
        caller = Caller(operator, operator_role)
        secret = self._engine.ids.token(tokens.SIZE)
        seconds = None if valid_for is None else whole_seconds(valid_for, "valid_for")
        kept = whole_seconds(overlap, "overlap", least=0)
        granted: Granted = self._run(RotateToken(caller, id, secret, kept, seconds))
        return granted

    def _run(self, job: ActJob) -> Any:
        answer = self._engine.submit([job])[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer


def whole_seconds(length: timedelta, path: str, *, least: int = 1) -> int:
    """A length of time in whole seconds, rounded up; raises `InvalidInput` outside `least` to a century."""
    seconds = -((-length) // timedelta(seconds=1))
    if not least <= seconds <= LONGEST:
        raise InvalidInput(f"must be {least} second{'' if least == 1 else 's'} to a hundred years", path=path)
    return seconds


def check_grant(grant: Grant, state: State) -> dict[str, Any]:
    """The facts of a grant in their JSON form; raises for a grant that makes no sense in this database."""
    stated(grant.principal, grant.role, tenant=grant.tenant)
    if grant.seconds is not None and not 0 < grant.seconds <= LONGEST:
        raise InvalidInput("a token is valid for 1 second to a hundred years", path="seconds")
    role = state.roles.get(grant.role)
    if role is None:
        known = [each.name for each in state.roles]
        hint = nearest(grant.role, known) if known else "; declare roles and deploy them first"
        raise UnknownName(f"the database has no role {grant.role}{hint}")
    if role.tenant and not grant.tenant:
        raise InvalidInput(f"role {role.name} is for one tenant at a time; name it", path="tenant")
    return _facts_json(state.require(), grant.facts) if grant.facts else {}


def _facts_json(deployed: Deployed, facts: Mapping[str, Any]) -> dict[str, Any]:
    codec = deployed.codec
    cells = codec.facts_reader(facts)
    types = {field.name: field.type for field in deployed.contract.principal_facts}
    return {name: codec.json(types[name])(cell) for name, cell in cells.items()}


def put_new(batch: Batch, grant: Grant, facts: dict[str, Any], secret: bytes) -> Token:
    """Store a new token, whose text is `secret`."""
    digest = tokens.digest_of(tokens.text_of(secret), batch.state.digests.current)
    check(batch.tx.setting(tokens.PREFIX + digest) is None, "a token's secret is fresh")
    expires = None if grant.seconds is None else batch.time + grant.seconds * 1_000_000
    token = Token(
        id=digest[:12],
        principal=grant.principal,
        role=grant.role,
        tenant=grant.tenant,
        facts=facts,
        created=batch.time,
        expires=None if expires is None else min(expires, TIMESTAMP_MAX),
    )
    _put(batch, digest, token)
    return token


def ended(token: Token, now: int, seconds: int) -> Token:
    """The token, ending `seconds` from `now`, or at once for 0; never later than it would have."""
    if not seconds:
        return replace(token, revoked=now if token.revoked is None else token.revoked)
    until = min(now + seconds * 1_000_000, TIMESTAMP_MAX)
    return replace(token, expires=until if token.expires is None else min(token.expires, until))


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


class Known(NamedTuple):
    """A token that was found, and who it stands for under one state of the database."""

    token: Token
    caller: Caller
    generation: int


def authenticate(tx: ReadTx, state: State, text: str, instance: str) -> Caller:
    """Who sends this token, from `instance`; as `look_up`."""
    return look_up(tx, state, text).caller._replace(instance=instance)


def look_up(tx: ReadTx, state: State, text: str) -> Known:
    """What is known of a token. Raises `Denied` or `Malformed` (both `unauthenticated`).

    Whether it is valid is for the caller to check, now; a batch checks it again at its sealed time.
    """
    for key in state.digests.readable:
        digest = tokens.digest_of(text, key)
        data = tx.setting(tokens.PREFIX + digest)
        if data is not None:
            token = tokens.decode(data)
            return Known(token, caller_of(token, digest, state), state.generation)
    raise tokens.refused()


def caller_of(token: Token, digest: str, state: State) -> Caller:
    """The caller that a stored token stands for; raises `Denied` where its facts fit no longer."""
    return Caller(token.principal, token.role, "", token.tenant, state.facts_of(token), "token", digest)


def confirm(engine: Engine, caller: Caller, now: int) -> State:
    """The newest state, for a read by `caller`; raises `Denied` if its token has ended meanwhile."""
    state = engine.refresh()
    if caller.token is not None:
        with engine.store.read() as tx:
            data = tx.setting(tokens.PREFIX + caller.token)
        if data is None:
            raise tokens.refused()
        tokens.decode(data).check(now)
    return state


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
