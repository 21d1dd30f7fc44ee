"""The PostgreSQL store: one schema, one connection that writes, and a few that read."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Final

from treadle.errors import Busy, StoreError, check
from treadle.ports.store import Capabilities
from treadle.store.handle import Lifetime, Turn, busy, deadline, remaining
from treadle.store.postgres import schema
from treadle.store.postgres.clock import ServerClock
from treadle.store.postgres.failures import Lost
from treadle.store.postgres.places import Place, read_place
from treadle.store.postgres.pool import Readers
from treadle.store.postgres.reads import PostgresRead
from treadle.store.postgres.relations import Shared, sweep
from treadle.store.postgres.sessions import Session, connect
from treadle.store.postgres.transactions import PostgresWrite

CAPABILITIES: Final = Capabilities(durable=True, processes=True, server_clock=True)

_SWEEP_SECONDS = 1.0
"""How long to wait after an attempt to drop retired tables, which fails while anybody reads."""


class _ReadBlock:
    """`with store.read()`: begins a snapshot, and ends it."""

    __slots__ = ("_session", "_store", "_tx")

    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    def __enter__(self) -> PostgresRead:
        self._session, self._tx = self._store.enter_read()
        return self._tx

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._store.leave_read(self._session, self._tx)


class _WriteBlock:
    """`with store.write()`: begins the write transaction, and rolls back what was not committed."""

    __slots__ = ("_store", "_timeout", "_tx")

    def __init__(self, store: PostgresStore, timeout: float | None) -> None:
        self._store = store
        self._timeout = timeout

    def __enter__(self) -> PostgresWrite:
        self._tx = self._store.enter_write(self._timeout)
        return self._tx

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._store.leave_write(self._tx)


class PostgresStore:
    """An open database. Safe for any number of threads; other processes and machines may have it open too."""

    capabilities = CAPABILITIES

    def __init__(self, place: Place, writer: Session) -> None:
        self._place = place
        self._writer = writer
        self._texts = schema.Texts(place.schema)
        self._shared = Shared(self._texts)
        self._life = Lifetime()
        self._turn = Turn()
        self._readers = Readers(place, self._life)
        self._committed = False
        self._sweep_at = 0.0
        self.clock = ServerClock()

    def __repr__(self) -> str:
        return f"<PostgresStore schema={self._place.schema!r}>"

    def read(self) -> _ReadBlock:
        """A snapshot for the length of the block."""
        return _ReadBlock(self)

    def write(self, timeout: float | None = None) -> _WriteBlock:
        """The write transaction; raises `Busy` after `timeout` seconds of waiting for other writers."""
        return _WriteBlock(self, timeout)

    # Readers.

    def enter_read(self) -> tuple[Session, PostgresRead]:
        self._life.check()
        while True:
            session, fresh = self._readers.take()
            try:
                return session, self._snapshot(session)
            except Lost:  # the server went away since the connection was used last
                self._readers.give(session)
                if fresh:
                    raise
            except BaseException:
                self._readers.give(session)
                raise

    def _snapshot(self, session: Session) -> PostgresRead:
        opening = schema.begin_read(session, self._texts)
        self.clock.note(opening.now)
        return PostgresRead(session, self._shared, opening)

    def leave_read(self, session: Session, tx: PostgresRead) -> None:
        if not self._life.forked:
            tx.end()
            self._readers.give(session)

    # The writer.

    def enter_write(self, timeout: float | None) -> PostgresWrite:
        self._life.check()
        until = deadline(timeout)
        self._turn.take(until)
        try:
            self._life.check()
            opening = self._begin(until)
            if opening.retired and time.monotonic() >= self._sweep_at:
                self._sweep_at = time.monotonic() + _SWEEP_SECONDS
                sweep(self._writer, self._texts)
                opening = self._begin(until)
            self._committed = False
            return PostgresWrite(self._writer, self._shared, opening, self._commit)
        except BaseException:
            self._writer.roll_back()
            self._turn.give()
            raise

    def _begin(self, until: float | None) -> schema.Opening:
        """Get the lock of all writers, of this machine and of others, and see what the last one left."""
        fresh = self._writer.lost
        if fresh:
            self._writer = connect(self._place)
        try:
            return self._locked(until)
        except Lost:  # the server went away since the connection was used last
            if fresh:
                raise
            self._writer.close()
            self._writer = connect(self._place)
            return self._locked(until)

    def _locked(self, until: float | None) -> schema.Opening:
        left = remaining(until)
        milliseconds = 0 if left is None else max(1, int(left * 1000))
        try:
            opening = schema.begin_write(self._writer, self._texts, milliseconds)
        except Busy:
            self._writer.roll_back()
            if left is not None:
                raise busy() from None
            raise
        self.clock.note(opening.now)
        return opening

    def _commit(self) -> None:
        check(not self._committed, "the transaction was committed before")
        self._committed = True
        self._writer.commit()

    def leave_write(self, tx: PostgresWrite) -> None:
        if self._life.forked:
            return
        tx.end()
        try:
            self._writer.roll_back()
        finally:
            self._turn.give()

    # What is PostgreSQL's own business.

    def copy(self, target: str, progress: Callable[[int, int], None] | None = None) -> None:
        """A PostgreSQL database is no file: always `StoreError`."""
        raise StoreError(
            f"a PostgreSQL database is no file; back it up with `pg_dump --schema={self._place.schema}`, "
            "or write its rows with `treadle export` (docs/howto/postgresql.md)"
        )

    def vacuum(self, timeout: float | None = None) -> tuple[int, int]:
        """PostgreSQL's autovacuum does it: always `StoreError`."""
        raise StoreError(
            "PostgreSQL gives space back by itself (autovacuum); an operator may run VACUUM FULL "
            f"on tables of the schema {self._place.schema}"
        )

    def close(self) -> None:
        """Release everything; idempotent. Open snapshots end by themselves."""
        if self._life.forked or self._life.closed:
            return
        check(not self._turn.mine, "the database is closed inside a write transaction")
        self._turn.take(None)
        first = self._life.end()
        self._turn.give()
        if first:
            self._readers.close()
            self._writer.close()


def open_database(where: str, *, create: bool = True) -> PostgresStore:
    """Open the PostgreSQL database at the URL `where`; an empty schema is made one if `create`.

    Raises `ConfigError` for a URL that cannot be read, `DatabaseMissing`, `DatabaseNewer`, `DatabaseCorrupt`
    (also for a schema that holds other tables), `ReadOnly` or `StoreError`.
    """
    place = read_place(where)
    writer = connect(place)
    try:
        schema.prepare(writer, place.schema, may_create=create)
        return PostgresStore(place, writer)
    except BaseException:
        writer.close()
        raise
