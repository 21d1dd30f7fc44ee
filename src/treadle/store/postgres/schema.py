"""The tables that every database's schema has, and how a schema is known as one of ours."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple

from treadle.errors import DatabaseCorrupt, DatabaseMissing, DatabaseNewer, StoreError
from treadle.ports.store import Head
from treadle.store.handle import NO_RECORD
from treadle.store.postgres.names import quoted
from treadle.store.postgres.sessions import Session

FORMAT: Final = 1
"""The version of a new schema's format."""

NEWEST: Final = 2
"""The newest format that is read; 2 has been enrolled in workflow processing (docs/formats/versions.md)."""

_LOCKED_MS: Final = 30_000
"""How long a statement of the writer waits for a lock that is not the writers' own, such as a report's."""

OLDEST_SERVER: Final = 13_00_00

TABLES: Final = """
CREATE TABLE {schema}.treadle_format (
  one boolean PRIMARY KEY CHECK (one),
  version integer NOT NULL,
  generation bigint NOT NULL
);
CREATE TABLE {schema}.treadle_gate (nothing boolean);
CREATE TABLE {schema}.treadle_tables (
  name text COLLATE "C" PRIMARY KEY,
  relation text COLLATE "C" NOT NULL
);
CREATE TABLE {schema}.treadle_retired (
  relation text COLLATE "C" PRIMARY KEY
);
CREATE TABLE {schema}.treadle_settings (
  name text COLLATE "C" PRIMARY KEY,
  value bytea NOT NULL,
  sum bigint NOT NULL
);
CREATE TABLE {schema}.treadle_log (
  number bigint PRIMARY KEY,
  time bigint NOT NULL,
  hash bytea NOT NULL,
  data bytea NOT NULL
);
CREATE TABLE {schema}.treadle_receipts (
  identity bytea PRIMARY KEY,
  number bigint NOT NULL
);
CREATE INDEX treadle_receipts_stubs ON {schema}.treadle_receipts (number DESC, identity) WHERE number < 0;
CREATE TABLE {schema}.treadle_uniques (
  entity text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  place bytea NOT NULL,
  entry bytea NOT NULL,
  key bytea NOT NULL,
  PRIMARY KEY (entity, name, place)
);
CREATE TABLE {schema}.treadle_tombstones (
  entity text COLLATE "C" NOT NULL,
  key bytea NOT NULL,
  revision numeric(20) NOT NULL,
  PRIMARY KEY (entity, key)
);
CREATE TABLE {schema}.treadle_events (
  name text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  ordinal bigint NOT NULL,
  partition bytea NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (name, number, ordinal)
);
CREATE INDEX treadle_events_by_partition
  ON {schema}.treadle_events (name, partition, number, ordinal);
CREATE TABLE {schema}.treadle_entries (
  space text COLLATE "C" NOT NULL,
  key bytea NOT NULL,
  value bytea NOT NULL,
  sum bigint NOT NULL,
  PRIMARY KEY (space, key)
);
CREATE TABLE {schema}.treadle_quads (
  place bytea PRIMARY KEY,
  subject text COLLATE "C" NOT NULL,
  predicate text COLLATE "C" NOT NULL,
  object text COLLATE "C" NOT NULL,
  graph text COLLATE "C" NOT NULL
);
CREATE TABLE {schema}.treadle_graphs (
  place bytea PRIMARY KEY,
  name text COLLATE "C" NOT NULL
);
"""

_FOUND: Final = (
    "SELECT current_setting('server_version_num')::bigint, current_setting('server_encoding'), "
    "EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1), "
    "(SELECT count(*) FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n "
    "ON n.oid = c.relnamespace WHERE n.nspname = $1), "
    "(SELECT count(*) FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n "
    "ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = 'treadle_format')"
)

_STATE: Final = (
    "SELECT f.version, f.generation, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, "
    "EXISTS (SELECT 1 FROM {schema}.treadle_retired), h.number, h.time, h.hash "
    "FROM {schema}.treadle_format AS f LEFT JOIN LATERAL "
    "(SELECT number, time, hash FROM {schema}.treadle_log ORDER BY number DESC LIMIT 1) AS h ON true"
)


def lock_number(schema: str) -> int:
    """The number of the advisory lock that writers of this schema queue for."""
    return int.from_bytes(sha256(b"treadle\0" + schema.encode()).digest()[:8], "big", signed=True)


class Opening(NamedTuple):
    """What a transaction finds when it begins; `now` is the server's time in microseconds."""

    version: int
    generation: int
    now: int
    retired: bool
    head: Head


class Texts:
    """The statements by which transactions begin in one schema."""

    __slots__ = ("gate", "lock", "name", "read", "schema", "write")

    def __init__(self, name: str) -> None:
        self.name = name
        self.schema = quoted(name)
        state = _STATE.replace("{schema}", self.schema)
        self.gate = f"LOCK TABLE {self.schema}.treadle_gate IN ACCESS EXCLUSIVE MODE NOWAIT"
        self.read = (
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; "
            f"LOCK TABLE {self.schema}.treadle_gate IN ACCESS SHARE MODE; {state}"
        )
        self.lock = f"SELECT pg_advisory_xact_lock({lock_number(name)})"
        self.write = (
            "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL lock_timeout TO {milliseconds}; "
            f"{self.lock}; SET LOCAL lock_timeout TO {_LOCKED_MS}; {state}"
        )


def begin_read(session: Session, texts: Texts) -> Opening:
    """Begin a snapshot; raises `DatabaseNewer` or `DatabaseCorrupt`."""
    return _opening(session.answer(texts.read), texts)


def begin_write(session: Session, texts: Texts, milliseconds: int) -> Opening:
    """Begin to write, once the lock of all writers is got; raises `Busy` after the time given, 0 for none."""
    # Statements of one message have a snapshot each, so the last sees what the lock's last holder left.
    return _opening(session.answer(texts.write.replace("{milliseconds}", str(milliseconds))), texts)


def _opening(rows: Sequence[Any], texts: Texts) -> Opening:
    if len(rows) != 1:
        raise DatabaseCorrupt(f"schema {texts.name} has lost its format's mark; restore a backup")
    version, generation, now, retired, number, time, hash_ = rows[0]
    if version > NEWEST:
        raise DatabaseNewer(
            f"this database has format {version}, this release reads up to {NEWEST}; install a newer release"
        )
    if version < 1:
        raise DatabaseCorrupt("the database's format version is missing; restore a backup")
    head = NO_RECORD if number is None else Head(number, time, hash_)
    return Opening(version, generation, now, retired, head)


def prepare(session: Session, name: str, *, may_create: bool) -> None:
    """Check the server and the schema, and make it a database if it is empty and `may_create`."""
    if _is_ours(session, name):
        return
    if not may_create:
        raise DatabaseMissing(
            f"there is no Treadle database in the schema {name}; open it with create=True to make it one"
        )
    session.script(f"BEGIN; {Texts(name).lock}")
    try:
        _create(session, name)
        session.script("COMMIT")
    finally:
        session.roll_back()


def _is_ours(session: Session, name: str) -> bool:
    """Whether the schema is a database; raises where it, or the server, can be none."""
    version, encoding, _, relations, marks = session.rows(_FOUND, [name])[0]
    if version < OLDEST_SERVER:
        raise StoreError(f"this server is PostgreSQL {version // 10_000}; Treadle needs 13 or later")
    if encoding != "UTF8":
        raise StoreError(
            f"this database is encoded in {encoding}; create one with ENCODING 'UTF8' TEMPLATE template0"
        )
    if relations and not marks:
        raise DatabaseCorrupt(
            f"the schema {name} holds other tables and no Treadle database; choose another schema"
        )
    return bool(marks)


def _create(session: Session, name: str) -> None:
    if _is_ours(session, name):  # another process was first
        return
    if not session.rows(_FOUND, [name])[0][2]:
        session.script(f"CREATE SCHEMA {quoted(name)}")
    session.script(TABLES.replace("{schema}", quoted(name)))
    session.script(f"INSERT INTO {quoted(name)}.treadle_format VALUES (true, {FORMAT}, 0)")
