"""What is deployed: the part of the database that every process keeps in memory and catches up with.

All of it is read from settings of the store, and a counter, `generation`, rises with each change, so
that a batch learns with one read whether another process has deployed since.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Final, NamedTuple

import msgspec

from treadle.access import roles as access_roles
from treadle.access.roles import Roles
from treadle.access.tokens import Token
from treadle.engine import named
from treadle.engine.named import Queries
from treadle.errors import DatabaseCorrupt, Denied, RequestError, UnknownName
from treadle.model import contract as contracts
from treadle.model.coders import Encode
from treadle.model.contract import Command, Contract, Reimport
from treadle.model.facts import NO_FACTS, Cell
from treadle.model.values import Codec
from treadle.plan import CommandPlan, Plan, build
from treadle.ports.clock import Ids
from treadle.ports.store import ReadTx, Table, WriteTx
from treadle.text import nearest

DATABASE: Final = "database"
HISTORY: Final = "history"
BRANCH: Final = "branch"
"""Random bytes of the last restore or reset: two restores of one backup are two histories."""
GENERATION: Final = "generation"
DIGEST_CURRENT: Final = "digest.current"
DIGEST: Final = "digest."
ACTIVE: Final = "contract.active"
CONTRACT: Final = "contract.compiled."
SOURCE: Final = "contract.source."
TABLE_NAMES: Final = "contract.tables"
ROLES: Final = "roles"


class Deployed:
    """One contract, ready to run. Immutable; the parts that cost time are made on first use."""

    def __init__(self, contract: Contract, names: Mapping[str, str]) -> None:
        self.contract = contract
        self.names = dict(names)
        self.identity = contract.identity
        self.identity_bytes = bytes.fromhex(contract.identity)
        self.policy_names = tuple(policy.name for policy in contract.row_policies)
        self.version = contract.version

    @cached_property
    def plan(self) -> Plan:
        return build(self.contract, self.names)

    @cached_property
    def codec(self) -> Codec:
        return Codec(self.contract)

    @cached_property
    def tables(self) -> dict[str, Table]:
        return {table.entity: table for table in self.plan.tables}

    @cached_property
    def row_encoders(self) -> dict[str, tuple[Encode, Encode]]:
        """By entity, the encoders of a key and of a row's image."""
        codec = self.codec
        return {name: (codec.key_encoder(name), codec.row_encoder(name)) for name in self.plan.entities}

    @cached_property
    def outcome_encoders(self) -> dict[tuple[str, str], Encode]:
        """By command (or reimport command) and outcome, the encoder of the outcome's fields."""
        declared: tuple[Command | Reimport, ...] = (*self.contract.commands, *self.contract.reimports)
        return {
            (command.name, outcome.name): self.codec.outcome_encoder(command.name, outcome.name)
            for command in declared
            for outcome in command.outcomes
        }

    def command(self, name: str) -> CommandPlan:
        """The plan of a command; raises `UnknownName` that names the nearest."""
        found = self.plan.commands.get(name)
        if found is None:
            raise UnknownName(
                f"no command {name} in contract {self.contract.name}{nearest(name, self.plan.commands)}"
            )
        return found


class DigestKeys(NamedTuple):
    """The keys of idempotency digests: `current` signs, all of `readable` are looked up."""

    current: bytes
    readable: tuple[bytes, ...]


class State(NamedTuple):
    """One generation of the database's own state."""

    generation: int
    database: bytes
    incarnation: int
    branch: str
    digests: DigestKeys
    deployed: Deployed | None
    roles: Roles
    queries: Queries

    @property
    def history(self) -> str:
        """The name of this history incarnation: it changes with every restore."""
        name = f"{self.database.hex()[:12]}.{self.incarnation}"
        return f"{name}.{self.branch}" if self.branch else name

    def require(self) -> Deployed:
        """What is deployed; raises `UnknownName` where nothing is."""
        if self.deployed is None:
            raise UnknownName(
                "no contract is deployed yet; deploy one with `treadle deploy FILE` or `db.deploy(source)`"
            )
        return self.deployed

    def facts_of(self, token: Token) -> Mapping[str, Cell]:
        """The facts of a token's principal as cells; raises `Denied` where they fit no longer."""
        if not token.facts:
            return NO_FACTS
        try:
            return self.require().codec.facts_reader(token.facts)
        except RequestError:
            raise Denied(
                "the facts of this token do not fit the deployed contract; an operator has to give a new one"
            ) from None


def read_number(data: bytes | None) -> int:
    """A setting that holds a number; 0 where it is absent."""
    return int(data) if data else 0


def initialise(tx: WriteTx, ids: Ids) -> None:
    """Give a new database its id, its first digest key and its first history incarnation."""
    if tx.setting(DATABASE) is not None:
        return
    if tx.head().number or tx.settings(""):
        raise DatabaseCorrupt("the database has lost its identity: the file is damaged; restore a backup")
    tx.put_setting(DATABASE, ids.token(16))
    tx.put_setting(HISTORY, b"1")
    tx.put_setting(DIGEST + "1", ids.token(32))
    tx.put_setting(DIGEST_CURRENT, b"1")
    tx.put_setting(GENERATION, b"1")
    tx.commit()


def load(tx: ReadTx, known: State | None = None) -> State:
    """The state as of `tx`; parts that `known` already holds are kept, so that plans are not made again."""
    generation = read_number(tx.setting(GENERATION))
    if known is not None and known.generation == generation:
        return known
    database = tx.setting(DATABASE)
    if database is None:
        raise DatabaseCorrupt("the database has no identity; it was not created by Treadle, or it is damaged")
    return State(
        generation=generation,
        database=database,
        incarnation=read_number(tx.setting(HISTORY)),
        branch=(tx.setting(BRANCH) or b"").hex(),
        digests=_digests(tx),
        deployed=_deployed(tx, known),
        roles=access_roles.decode(tx.setting(ROLES)),
        queries=named.load(tx, known.queries if known is not None else None),
    )


def load_contract(tx: ReadTx, identity: str) -> Contract:
    """A contract that is or was deployed; raises `DatabaseCorrupt` if the database does not hold it."""
    data = tx.setting(CONTRACT + identity)
    if data is None:
        raise DatabaseCorrupt(f"the database does not hold contract {identity[:12]}… that its log names")
    try:
        return contracts.decode(data)
    except msgspec.MsgspecError as error:
        raise DatabaseCorrupt(f"the compiled contract {identity[:12]}… cannot be read: {error}") from error


def table_names(tx: ReadTx) -> dict[str, str]:
    """Entity names and the table names fixed for them."""
    data = tx.setting(TABLE_NAMES)
    return msgspec.json.decode(data, type=dict[str, str]) if data else {}


def begin_history(tx: WriteTx, branch: bytes) -> None:
    """Begin a history incarnation: one more than the last, told from every other by random bytes."""
    tx.put_setting(HISTORY, b"%d" % (read_number(tx.setting(HISTORY)) + 1))
    tx.put_setting(BRANCH, branch)
    bump(tx)


def bump(tx: WriteTx) -> None:
    """Tell every other process that the state has changed."""
    tx.put_setting(GENERATION, b"%d" % (read_number(tx.setting(GENERATION)) + 1))


def _digests(tx: ReadTx) -> DigestKeys:
    settings = tx.settings(DIGEST)
    current = settings.pop(DIGEST_CURRENT, b"").decode("ascii", "replace")
    key = settings.get(DIGEST + current)
    if key is None:
        raise DatabaseCorrupt(
            "the key of idempotency digests is not there: the file is damaged; restore a backup"
        )
    readable = [value for name, value in sorted(settings.items()) if value != key]
    return DigestKeys(key, (key, *readable))


def _deployed(tx: ReadTx, known: State | None) -> Deployed | None:
    active = tx.setting(ACTIVE)
    if active is None:
        return None
    identity = active.decode("ascii")
    names = table_names(tx)
    current = known.deployed if known is not None else None
    if current is not None and (current.identity, current.names) == (identity, names):
        return current
    return Deployed(load_contract(tx, identity), names)
