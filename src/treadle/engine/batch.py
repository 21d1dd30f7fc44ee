"""One write transaction: catch up, seal the time, fetch, evaluate in order, write, commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from treadle import limits
from treadle.access import tokens
from treadle.access.caller import Caller
from treadle.access.tokens import Token
from treadle.engine import state as states
from treadle.engine.overlay import Overlay
from treadle.engine.state import Deployed, State
from treadle.errors import ClockJumped
from treadle.model import record
from treadle.model.facts import Cell
from treadle.model.record import LogRecord
from treadle.ports.clock import Clock
from treadle.ports.store import Head, LogEntry, StoredEvent, WriteTx


class ClockRule(NamedTuple):
    """How far the clock may be ahead of the last commit, in microseconds; None for no bound."""

    clock: Clock
    maximum_jump: int | None

    def seal(self, head: Head, now: int) -> int:
        """The transaction time: never before the last commit; raises `ClockJumped` past the bound."""
        if self.maximum_jump is not None and head.number and now - head.time > self.maximum_jump:
            days = (now - head.time) / (limits.CLOCK_JUMP_SECONDS * 1_000_000)
            raise ClockJumped(
                f"the clock is {days:.1f} days ahead of the last commit; "
                "if it is right, say so with `treadle clock confirm`"
            )
        return max(now, head.time)


class Part(Protocol):
    """Something besides rows and records that jobs of a batch change together, such as the graph's index."""

    def write(self) -> None:
        """Write what was decided into the transaction, just before it commits."""

    def ended(self, *, committed: bool) -> None:
        """The batch is over; unless it certainly committed, what was done in memory is taken back."""


class Batch:
    """What jobs share while their batch runs: the transaction, the sealed time, rows, what is appended."""

    def __init__(self, tx: WriteTx, state: State, rule: ClockRule, contracts: dict[bytes, Deployed]) -> None:
        self.tx = tx
        self.state = state
        head = tx.head()
        self.number = head.number
        self._hash = head.hash
        self.now = rule.clock.now()
        self.time = rule.seal(head, self.now)
        self.manual_clock = rule.clock.manual
        self.touched = False
        """Set by a job that wrote to the transaction something that is no part of the log."""
        self.parts: list[Part] = []
        """What jobs joined to the batch, in this order; each hears of its end."""
        self.overlay = Overlay(tx, state.deployed.tables if state.deployed else {})
        self.recorded: dict[bytes, object] = {}
        self.receipts: dict[bytes, int | None] = {}
        self._wanted: dict[bytes, None] = {}
        self._contracts = contracts
        self._tokens: dict[str, Token] = {}
        self._facts: dict[str, Mapping[str, Cell]] = {}
        self._entries: list[LogEntry] = []
        self._receipts: list[tuple[bytes, int]] = []
        self._events: list[StoredEvent] = []

    def want_receipts(self, identities: Sequence[bytes]) -> None:
        """Note idempotency identities whose receipts a job will ask for."""
        for identity in identities:
            self._wanted[identity] = None

    def load(self) -> None:
        """Fetch the receipts and rows that the jobs announced."""
        if self._wanted:
            identities = list(self._wanted)
            self.receipts.update(zip(identities, self.tx.receipts(identities), strict=True))
        self.overlay.load()

    def append(self, entry: LogRecord, identity: bytes | None = None) -> int:
        """Append a log record, whose number, time and chain are set here; returns its number."""
        number = self.number + 1
        data = record.encode(entry.at(number, self.time, self._hash))
        self._hash = record.chain(self._hash, data)
        self.number = number
        self._entries.append(LogEntry(number, self.time, self._hash, data))
        if identity is not None:
            self._receipts.append((identity, number))
        for ordinal, event in enumerate(entry.events):
            self._events.append(StoredEvent(number, ordinal, event.name, event.partition, event.fields))
        return number

    def check_token(self, caller: Caller) -> None:
        """Raise `Denied` unless the caller's token, if it came with one, is valid at the sealed time."""
        if caller.token is not None:
            self._token(caller.token).check(self.time)

    def confirmed(self, caller: Caller) -> Caller:
        """The caller, with a token's facts read under the contract that is in force in this batch.

        Raises `Denied` for a token that is not valid at the sealed time.
        """
        if caller.token is None:
            return caller
        token = self._token(caller.token)
        token.check(self.time)
        if not token.facts:
            return caller
        facts = self._facts.get(caller.token)
        if facts is None:
            facts = self._facts[caller.token] = self.state.facts_of(token)
        return caller._replace(facts=facts)

    def _token(self, digest: str) -> Token:
        known = self._tokens.get(digest)
        if known is None:
            data = self.tx.setting(tokens.PREFIX + digest)
            if data is None:
                raise tokens.refused()
            known = self._tokens[digest] = tokens.decode(data)
        return known

    def contract(self, identity: bytes) -> Deployed:
        """A contract that was deployed before, for a receipt that was made under it."""
        known = self._contracts.get(identity)
        if known is None:
            known = Deployed(states.load_contract(self.tx, identity.hex()), {})
            self._contracts[identity] = known
        return known

    @property
    def dirty(self) -> bool:
        """Whether there is anything to commit."""
        return self.touched or bool(self._entries)

    def write(self) -> None:
        """Write everything that the jobs decided into the transaction."""
        self.overlay.flush()
        for part in self.parts:
            part.write()
        if self._entries:
            self.tx.append_log(self._entries)
        if self._receipts:
            self.tx.write_receipts(self._receipts)
        if self._events:
            self.tx.append_events(self._events)

    def ended(self, *, committed: bool) -> None:
        """Tell every part that the batch is over."""
        for part in reversed(self.parts):
            part.ended(committed=committed)
