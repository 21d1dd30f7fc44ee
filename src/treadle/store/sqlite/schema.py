"""The tables that every database file has, and the marks by which a file is known as one of ours."""

from __future__ import annotations

from typing import Final
from zlib import crc32

import apsw

from treadle.errors import DatabaseCorrupt, DatabaseMissing, DatabaseNewer

APPLICATION_ID: Final = 0x54726C31
"""`Trl1` in the file's header: this file is a Treadle database."""

FORMAT: Final = 1
"""The version of a new file's format, in the header's user version."""

NEWEST: Final = 2
"""The newest format that is read. A file of format 2 has been enrolled in workflow processing: its graph may
be changed by releases only that know the guard."""

PAGE_BYTES: Final = 4096

TABLES: Final = """
CREATE TABLE treadle_settings (
  name TEXT NOT NULL PRIMARY KEY,
  value BLOB NOT NULL,
  sum INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE treadle_schema (
  sum INTEGER NOT NULL
) STRICT;

CREATE TABLE treadle_log (
  number INTEGER PRIMARY KEY,
  time INTEGER NOT NULL,
  hash BLOB NOT NULL,
  data BLOB NOT NULL
) STRICT;

CREATE TABLE treadle_receipts (
  identity BLOB NOT NULL PRIMARY KEY,
  number INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE treadle_uniques (
  entity TEXT NOT NULL,
  name TEXT NOT NULL,
  entry BLOB NOT NULL,
  key BLOB NOT NULL,
  PRIMARY KEY (entity, name, entry)
) STRICT, WITHOUT ROWID;

CREATE TABLE treadle_tombstones (
  entity TEXT NOT NULL,
  key BLOB NOT NULL,
  revision ANY NOT NULL,
  PRIMARY KEY (entity, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE treadle_events (
  name TEXT NOT NULL,
  number INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  partition BLOB NOT NULL,
  data BLOB NOT NULL,
  PRIMARY KEY (name, number, ordinal)
) STRICT, WITHOUT ROWID;

CREATE INDEX treadle_events_by_partition ON treadle_events (name, partition, number, ordinal);

CREATE TABLE treadle_entries (
  space TEXT NOT NULL,
  key BLOB NOT NULL,
  value BLOB NOT NULL,
  sum INTEGER NOT NULL,
  PRIMARY KEY (space, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE treadle_quads (
  graph TEXT NOT NULL,
  subject TEXT NOT NULL,
  predicate TEXT NOT NULL,
  object TEXT NOT NULL,
  PRIMARY KEY (graph, subject, predicate, object)
) STRICT, WITHOUT ROWID;

CREATE TABLE treadle_graphs (
  name TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;
"""

_NOT_OURS: Final = "this file is not a Treadle database; choose another file"


def _marks(connection: apsw.Connection) -> tuple[int, int, bool]:
    """Application id, format version, and whether the file holds anything at all."""
    application = int(connection.pragma("application_id"))
    version = int(connection.pragma("user_version"))
    empty = connection.execute("SELECT count(*) FROM sqlite_schema").fetchall() == [(0,)]
    return application, version, empty


def check_marks(connection: apsw.Connection) -> bool:
    """True if the file is a database of this format, false if it is empty.

    Raises `DatabaseNewer` for a later format, `DatabaseCorrupt` for anything that is not ours.
    """
    application, version, empty = _marks(connection)
    if empty and application in (0, APPLICATION_ID):
        return False
    if application != APPLICATION_ID:
        raise DatabaseCorrupt(_NOT_OURS)
    if version > NEWEST:
        raise DatabaseNewer(
            f"this database has format {version}, this release reads up to {NEWEST}; install a newer release"
        )
    if version < 1:
        raise DatabaseCorrupt("the database's format version is missing; restore a backup")
    return True


def schema_sum(connection: apsw.Connection) -> int:
    """The CRC-32 over the definitions of all tables, indexes and views."""
    found = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name")
    return crc32("\n".join("\t".join(map(str, row)) for row in found).encode())


def note_schema(connection: apsw.Connection) -> None:
    """Keep the sum of the definitions as they are now; to be called after each change of them."""
    connection.execute("DELETE FROM treadle_schema")
    connection.execute("INSERT INTO treadle_schema (sum) VALUES (?)", (schema_sum(connection),))


def create(connection: apsw.Connection) -> None:
    """Make an empty file a database; all or nothing."""
    connection.pragma("page_size", PAGE_BYTES)
    connection.pragma("journal_mode", "wal")
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not check_marks(connection):
            connection.execute(TABLES)
            note_schema(connection)
            connection.pragma("application_id", APPLICATION_ID)
            connection.pragma("user_version", FORMAT)
        connection.execute("COMMIT")
    except BaseException:
        if not connection.get_autocommit():
            connection.execute("ROLLBACK")
        raise


def prepare(connection: apsw.Connection, may_create: bool) -> None:
    """Check the file, and make it a database if it is empty and `may_create`."""
    if check_marks(connection):
        return
    if not may_create:
        raise DatabaseMissing("this file is empty; open it with create=True to make it a database")
    create(connection)
