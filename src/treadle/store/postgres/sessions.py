"""One connection to PostgreSQL: statements prepared once, answers in binary, errors as ours."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

import psycopg
from psycopg.pq import ConnStatus, TransactionStatus
from psycopg.types.array import ListBinaryDumper
from psycopg.types.numeric import Int8BinaryDumper, Int8Dumper
from psycopg.types.string import StrBinaryDumper

from treadle.errors import OutcomeUnknown, check
from treadle.store.postgres.failures import refused, translated
from treadle.store.postgres.places import Place

_SETTINGS: Final = (
    "SET search_path TO pg_catalog; "
    # Each of our statements is served by one index, in its order: no sorting, no scanning, no hashing.
    "SET enable_seqscan TO off; SET enable_bitmapscan TO off; SET enable_hashjoin TO off; "
    "SET enable_mergejoin TO off; SET enable_material TO off; SET max_parallel_workers_per_gather TO 0; "
    "SET jit TO off; SET extra_float_digits TO 1"
)

_PREPARED: Final = 512
_PAGE: Final = 256


class Session:
    """A connection, used by one thread at a time."""

    __slots__ = ("_connection", "_cursor", "_numbered")

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self._cursor = psycopg.RawCursor(connection)
        self._numbered = 0

    def rows(self, text: str, values: Sequence[Any] = (), *, prepare: bool = True) -> list[Any]:
        """The answer of a statement."""
        try:
            return self._cursor.execute(text.encode(), values, prepare=prepare, binary=True).fetchall()
        except (psycopg.Error, UnicodeError) as error:
            raise translated(error, lost=self.lost) from None

    def changed(self, text: str, values: Sequence[Any] = ()) -> int:
        """How many rows a statement changed."""
        try:
            return self._cursor.execute(text.encode(), values, prepare=True, binary=True).rowcount
        except (psycopg.Error, UnicodeError) as error:
            raise translated(error, lost=self.lost) from None

    def do(self, text: str, values: Sequence[Any]) -> None:
        """Run a statement that is not worth keeping and answers nothing."""
        try:
            self._cursor.execute(text.encode(), values, prepare=False, binary=True)
        except (psycopg.Error, UnicodeError) as error:
            raise translated(error, lost=self.lost) from None

    def script(self, text: str) -> None:
        """Run statements without values, in one message."""
        try:
            self._cursor.execute(text.encode(), prepare=False)
        except (psycopg.Error, UnicodeError) as error:
            raise translated(error, lost=self.lost) from None

    def answer(self, text: str) -> list[Any]:
        """Run statements without values, in one message; the answer of the last."""
        try:
            cursor = self._cursor.execute(text.encode(), prepare=False)
            while cursor.nextset():
                pass
            return cursor.fetchall()
        except (psycopg.Error, UnicodeError) as error:
            raise translated(error, lost=self.lost) from None

    def stepped(self, text: str, values: Sequence[Any]) -> Stepped:
        """A statement whose rows are fetched a few at a time, while other statements run."""
        self._numbered += 1
        return Stepped(self, f"treadle_{self._numbered}", text, values)

    def commit(self) -> None:
        """COMMIT; raises `OutcomeUnknown` where nobody can tell whether it happened."""
        heard = False
        try:
            self._cursor.execute(b"COMMIT", prepare=False)
            heard = True
        except psycopg.Error as error:
            heard = not self.lost
            if heard:
                raise translated(error) from None
        finally:
            if not heard:  # lost, or interrupted in the middle: the server may have carried it out
                self.close()
                raise OutcomeUnknown(
                    "the connection to PostgreSQL was lost during the commit; "
                    "repeat the same key to learn the outcome"
                )
        check(self._cursor.statusmessage == "COMMIT", "a failed transaction is not committed")

    def roll_back(self) -> None:
        """End a transaction, if one is open; a connection on which that fails is closed."""
        if self.lost:
            return
        if self._connection.info.transaction_status == TransactionStatus.IDLE:
            return
        try:
            self._cursor.execute(b"ROLLBACK", prepare=False)
        except psycopg.Error:
            self.close()

    @property
    def lost(self) -> bool:
        """Whether the connection is closed or broken."""
        return self._connection.closed or self._connection.pgconn.status != ConnStatus.OK

    @property
    def idle(self) -> bool:
        """Whether the connection is usable and in no transaction."""
        return not self.lost and self._connection.info.transaction_status == TransactionStatus.IDLE

    def close(self) -> None:
        """End the connection; idempotent."""
        with suppress(psycopg.Error, OSError):
            self._connection.close()


class Stepped:
    """A server-side cursor of a transaction; it ends with the transaction."""

    def __init__(self, session: Session, name: str, text: str, values: Sequence[Any]) -> None:
        self._session = session
        self._fetch = f"FETCH FORWARD {_PAGE} FROM {name}"
        session.do(f"DECLARE {name} NO SCROLL CURSOR FOR {text}", values)

    def fetch(self) -> list[Any]:
        """The next rows; none at the end."""
        return self._session.rows(self._fetch, prepare=False)


def connect(place: Place) -> Session:
    """A new connection; raises `StoreError` with what to do where there is none."""
    try:
        connection: psycopg.Connection[Any] = psycopg.Connection.connect(
            **place.parameters, autocommit=True, prepare_threshold=0
        )
    except (psycopg.Error, UnicodeError, OSError) as error:
        if isinstance(error, psycopg.Error):
            raise refused(error) from None
        raise refused(psycopg.OperationalError()) from None
    connection.prepared_max = _PREPARED
    # One type for each kind of value, so that a statement is prepared once, and arrays in binary.
    connection.adapters.register_dumper(int, Int8Dumper)
    connection.adapters.register_dumper(int, Int8BinaryDumper)
    connection.adapters.register_dumper(str, StrBinaryDumper)
    connection.adapters.register_dumper(list, ListBinaryDumper)
    session = Session(connection)
    try:
        session.script(_SETTINGS)
    except BaseException:
        session.close()
        raise
    return session
