"""Finding, creating and connecting to the database's file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple

import apsw

from treadle import limits
from treadle.errors import DatabaseMissing, ReadOnly, StoreError
from treadle.store.sqlite.failures import os_error, translated

_STATEMENTS: Final = 256
"""How many prepared statements a connection keeps."""

BUSY_MS: Final = 10_000
"""How long a connection waits inside SQLite, where nothing else is said."""

LOG_BYTES: Final = 128 * limits.MIB
"""A log that grew longer, because a snapshot was open for long, is cut to this when it begins anew."""

_WRITE_CACHE_KIB: Final = 65_536
_READ_CACHE_KIB: Final = 2_048


class Place(NamedTuple):
    """Where a database is: its real path, and the VFS that reads and writes it (None for the system's)."""

    path: str
    vfs: str | None

    @property
    def lock(self) -> str:
        """The file of the writers' queue; it stays."""
        return self.path + "-lock"


def locate(name: str, vfs: str | None) -> Place:
    """The place of the file `name`. Links are followed, so that all names of a file share one lock.

    Raises `StoreError` for something that is no file, `DatabaseMissing` if its folder is not there.
    """
    path = os.path.realpath(name)
    if os.path.isdir(path):
        raise StoreError(f"{path} is a folder; name a file in it, such as {os.path.join(path, 'work.db')}")
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise DatabaseMissing(f"there is no folder {folder}; create it first")
    return Place(path, vfs)


def exists(place: Place) -> bool:
    """Whether the file is there."""
    return os.path.exists(place.path)


def ensure_file(place: Place, create: bool) -> None:
    """Create the file, mode 0600, if it is missing and `create`; call it with the writers' lock held.

    SQLite gives its own files beside the database the same mode. (Nothing here opens a file that exists:
    closing it would drop the locks that SQLite holds on it for other handles of this process.)
    """
    if exists(place):
        return
    if not create:
        raise missing(place)
    try:
        os.close(os.open(place.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        _sync_folder(os.path.dirname(place.path))
    except OSError as error:
        raise os_error(error, f"cannot create {place.path}") from error


def missing(place: Place) -> DatabaseMissing:
    """The error of a database that is not there and may not be created."""
    return DatabaseMissing(
        f"there is no database at {place.path}; check the name, or open it with create=True"
    )


def read_only(place: Place) -> ReadOnly:
    """The error of a database that can be read but not written."""
    return ReadOnly(f"{place.path} cannot be written; check the permissions of the file and its folder")


def _sync_folder(folder: str) -> None:
    """Make a new name in a folder durable."""
    file = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def identity(place: Place) -> tuple[int, int]:
    """Device and inode of the file that bears the name now; raises `OSError` if there is none."""
    found = os.stat(place.path)
    return found.st_dev, found.st_ino


def close_quietly(connection: apsw.Connection) -> None:
    """Close; what is committed is in the log already, whatever the closing checkpoint meets."""
    with suppress(apsw.Error):
        connection.close(True)


@contextmanager
def being_opened(connection: apsw.Connection) -> Iterator[None]:
    """Close the connection again if the block fails, and translate SQLite's errors."""
    try:
        yield
    except apsw.Error as error:
        failure = translated(error, connection.system_errno)
        close_quietly(connection)
        raise failure from error
    except BaseException:
        close_quietly(connection)
        raise


def connect(place: Place) -> apsw.Connection:
    """A connection with the settings that all of ours share."""
    try:
        connection = apsw.Connection(
            place.path, flags=apsw.SQLITE_OPEN_READWRITE, vfs=place.vfs, statementcachesize=_STATEMENTS
        )
    except apsw.Error as error:
        if not exists(place):
            raise missing(place) from error
        if not os.access(place.path, os.R_OK | os.W_OK):
            raise read_only(place) from error
        raise translated(error) from error
    with being_opened(connection):
        if connection.readonly("main"):
            raise read_only(place)
        connection.set_busy_timeout(BUSY_MS)
        connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
        connection.config(apsw.SQLITE_DBCONFIG_DQS_DDL, 0)
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        # On macOS an fsync that waits for the disk has another name; elsewhere these do nothing.
        connection.execute(
            "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON"
        )
        connection.execute("PRAGMA temp_store = MEMORY")
    return connection


def connect_writer(place: Place) -> apsw.Connection:
    """The connection that writes. It never checkpoints by itself: `Checkpointer` does."""
    connection = connect(place)
    with being_opened(connection):
        connection.wal_autocheckpoint(0)
        connection.execute(
            f"PRAGMA cache_size = -{_WRITE_CACHE_KIB}; PRAGMA journal_size_limit = {LOG_BYTES}"
        )
    return connection


def connect_reader(place: Place) -> apsw.Connection:
    """A connection that cannot write."""
    connection = connect(place)
    with being_opened(connection):
        connection.execute(f"PRAGMA cache_size = -{_READ_CACHE_KIB}; PRAGMA query_only = ON")
    return connection
