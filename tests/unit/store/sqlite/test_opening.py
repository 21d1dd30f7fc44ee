"""Opening a file: what is created, and what is said of files that cannot be used."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import apsw
import pytest

from tests.support.tables import JOB, created, entry, job, job_key
from treadle.errors import DatabaseCorrupt, DatabaseMissing, DatabaseNewer, DiskFull, ReadOnly, StoreError
from treadle.store.sqlite import open_database, schema


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "work.db")


def make(path: str) -> None:
    """A database with a job in it."""
    store = open_database(path)
    with store.write() as tx:
        tx.create_table(JOB)
        tx.write_rows(JOB, [created(JOB, job(1))], [1])
        tx.commit()
    store.close()


def test_a_new_file_is_private_and_marked(path):
    store = open_database(path)
    with store.write() as tx:
        tx.append_log([entry(1)])
        tx.commit()
    with store.read():
        for suffix in ("", "-wal", "-shm", "-lock"):
            assert stat.S_IMODE(os.stat(path + suffix).st_mode) == 0o600, suffix
    writer = store._writer
    assert writer.pragma("application_id") == schema.APPLICATION_ID
    assert writer.pragma("user_version") == schema.FORMAT
    assert writer.pragma("journal_mode") == "wal"
    assert writer.pragma("synchronous") == 2
    assert writer.pragma("encoding") == "UTF-8"
    strict = writer.execute(
        "SELECT name, strict FROM pragma_table_list WHERE type = 'table' AND name LIKE 'treadle%'"
    )
    assert all(flag for _, flag in strict)
    store.close()
    assert not os.path.exists(path + "-wal")


def test_a_missing_file_is_not_created_unasked(path, tmp_path):
    with pytest.raises(DatabaseMissing, match="create=True"):
        open_database(path, create=False)
    assert os.listdir(tmp_path) == []


def test_a_missing_folder(tmp_path):
    with pytest.raises(DatabaseMissing, match="no folder"):
        open_database(str(tmp_path / "nowhere" / "work.db"))


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(StoreError, match="is a folder"):
        open_database(str(tmp_path))


def test_an_empty_file(path):
    Path(path).touch()
    with pytest.raises(DatabaseMissing, match="empty"):
        open_database(path, create=False)
    make(path)
    open_database(path, create=False).close()


@pytest.mark.parametrize("content", [b"hello", b"x" * 10_000, b"SQLite format 3\0" + b"x" * 5000])
def test_a_file_that_is_no_database_is_left_alone(path, content):
    with open(path, "wb") as file:
        file.write(content)
    with pytest.raises(DatabaseCorrupt):
        open_database(path)
    with open(path, "rb") as file:
        assert file.read() == content


def test_somebody_elses_database_is_left_alone(path, tmp_path):
    other = apsw.Connection(path)
    other.execute("CREATE TABLE t (a)")
    other.close()
    before = Path(path).read_bytes()
    with pytest.raises(DatabaseCorrupt, match="not a Treadle database"):
        open_database(path)
    assert Path(path).read_bytes() == before
    assert os.listdir(tmp_path) == ["work.db"]


def test_another_programs_empty_database_is_not_taken(path):
    other = apsw.Connection(path)
    other.pragma("application_id", 7)
    other.close()
    with pytest.raises(DatabaseCorrupt, match="not a Treadle database"):
        open_database(path)


@pytest.mark.parametrize(("version", "error"), [(schema.NEWEST + 1, DatabaseNewer), (0, DatabaseCorrupt)])
def test_other_format_versions(path, version, error):
    make(path)
    other = apsw.Connection(path)
    other.pragma("user_version", version)
    other.close()
    with pytest.raises(error):
        open_database(path)


def test_a_raised_format_stays(path):
    store = open_database(path)
    for version in (schema.NEWEST, schema.FORMAT):
        with store.write() as tx:
            tx.raise_format(version)
            tx.commit()
    with store.write() as tx:
        tx.raise_format(99)  # rolled back
    store.close()
    other = apsw.Connection(path)
    assert other.pragma("user_version") == schema.NEWEST
    other.close()
    open_database(path).close()


def test_a_damaged_file(path):
    make(path)
    with open(path, "r+b") as file:
        file.seek(4096)
        file.write(b"\xee" * 4096 * 30)
    with pytest.raises(DatabaseCorrupt, match="damaged"):
        store = open_database(path)
        try:
            with store.read() as tx:
                list(tx.log(0, 10))
                tx.rows(JOB, [job_key(1)])
        finally:
            store.close()


def test_a_link_shares_the_file_and_its_lock(path, tmp_path):
    make(path)
    link = str(tmp_path / "link.db")
    os.symlink(path, link)
    store = open_database(link)
    assert store.path == path
    store.close()
    assert not os.path.exists(link + "-lock")


class ReadOnlyDisk(apsw.VFS):
    """A disk that cannot be written."""

    def __init__(self) -> None:
        super().__init__("read-only-disk", "")

    def xOpen(self, name, flags):
        if flags[0] & apsw.SQLITE_OPEN_MAIN_DB:
            flags[0] = flags[0] & ~apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_READONLY
        return apsw.VFSFile("", name, flags)


def test_a_file_that_cannot_be_written(path):
    make(path)
    disk = ReadOnlyDisk()
    with pytest.raises(ReadOnly, match="cannot be written"):
        open_database(path, vfs="read-only-disk")
    disk.unregister()
    open_database(path).close()


def test_a_folder_that_cannot_be_written(path, monkeypatch):
    def refuse(*args: object, **kwargs: object) -> int:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        with pytest.raises(ReadOnly, match="permission"):
            open_database(path)
    make(path)


FULL = """
    import resource, sys
    from tests.support.tables import entry
    from treadle.errors import DiskFull
    from treadle.store.sqlite import open_database
    store = open_database(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
    full = 0
    for number in range(1, 200):
        try:
            with store.write() as tx:
                tx.append_log([entry(tx.head().number + 1, b"x" * 8000)])
                tx.commit()
        except DiskFull as error:
            full += 1
    assert full, "the limit was never met"
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    with store.write() as tx:
        head = tx.head().number
        assert head + full == 199
        tx.append_log([entry(head + 1)])
        tx.commit()
    store.close()
"""


def test_a_disk_that_is_really_full(path):
    """A limit on the file's size is met like the end of a disk; the same handle goes on when it is gone."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FULL), path],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert DiskFull.default == "disk_full"


def test_many_openers_at_once_make_one_database(path):
    script = "import sys; from treadle.store.sqlite import open_database; open_database(sys.argv[1]).close()"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    running = [
        subprocess.Popen([sys.executable, "-c", script, path], env=environment, stderr=subprocess.PIPE)
        for _ in range(6)
    ]
    for process in running:
        assert process.communicate(timeout=60)[1] == b""
        assert process.returncode == 0
    open_database(path, create=False).close()


def test_opening_reads_as_much_of_a_long_history(tmp_path):
    """A long one has deeper trees, and nothing else that is read."""
    pages = []
    for records in (10, 5_000):
        path = str(tmp_path / f"{records}.db")
        store = open_database(path)
        with store.write() as tx:
            tx.append_log([entry(number, b"%d" % number * 100) for number in range(1, records + 1)])
            tx.write_receipts([(number.to_bytes(32), number) for number in range(1, records + 1)])
            tx.commit()
        store.close()
        store = open_database(path)
        with store.read() as tx:
            assert tx.head().number == records
            readers = store.connections()
            pages.append(sum(one.status(apsw.SQLITE_DBSTATUS_CACHE_MISS)[0] for one in readers))
        store.close()
        assert not os.path.exists(path + "-wal"), "closing leaves nothing to recover"
    assert pages[1] <= pages[0] + 8, pages
