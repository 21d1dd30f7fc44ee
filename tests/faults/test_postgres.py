"""A PostgreSQL server that goes away or refuses: nothing is lost, and each error says what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest

import treadle
from tests.support import postgres
from tests.support.engines import ORGANIZATION, SOURCE, create, successor, work_id
from tests.support.wire import Wire, wired
from treadle.errors import (
    Busy,
    ConfigError,
    DatabaseCorrupt,
    DatabaseMissing,
    DatabaseNewer,
    OutcomeUnknown,
    ReadOnly,
    StoreError,
)
from treadle.ports.store import LogEntry
from treadle.store.postgres.failures import translated
from treadle.store.postgres.transactions import PostgresWrite


@pytest.fixture
def server() -> postgres.Server:
    """The server that this process's tests share."""
    return postgres.shared()


@pytest.fixture
def wire(server: postgres.Server) -> Iterator[Wire]:
    with wired(server.port) as made:
        yield made


@pytest.fixture
def schema() -> str:
    return postgres.fresh_schema()


@pytest.fixture
def db(server: postgres.Server, wire: Wire, schema: str) -> Iterator[treadle.Database]:
    """A database with a contract, behind the proxy."""
    with treadle.open(server.url(schema, port=wire.port)) as opened:
        opened.deploy(SOURCE)
        yield opened


def run(db: treadle.Database, number: int) -> treadle.Receipt:
    """The command that creates a work item; its key is the number's."""
    return db.run(*create(number), principal="tests")


def created(db: treadle.Database, number: int) -> bool:
    """Create a work item; whether that had happened before."""
    receipt = run(db, number)
    receipt.expect("Created")
    return receipt.replayed


def present(db: treadle.Database, number: int) -> bool:
    return db.row("WorkItem", (ORGANIZATION, work_id(number))) is not None


def test_a_connection_lost_between_commands_is_made_anew(db: treadle.Database, wire: Wire) -> None:
    run(db, 1).expect("Created")
    wire.cut_all()
    assert present(db, 1)
    wire.cut_all()
    run(db, 2).expect("Created")
    wire.cut = "begin"
    run(db, 3).expect("Created")
    assert wire.cuts == 1 and db.verify().ok


@pytest.mark.parametrize("cut", ["before", "lost"])
def test_a_connection_lost_in_the_commit_leaves_the_outcome_open(
    db: treadle.Database, wire: Wire, cut: Any
) -> None:
    wire.cut = cut
    with pytest.raises(OutcomeUnknown, match="repeat the same key"):
        run(db, 1)
    assert wire.cuts == 1
    assert created(db, 1) == (cut == "lost")
    assert present(db, 1)
    run(db, 2).expect("Created")
    assert db.verify().ok


def test_a_connection_lost_after_the_commit_loses_nothing(db: treadle.Database, wire: Wire) -> None:
    wire.cut = "after"
    assert not created(db, 1)
    assert created(db, 1)
    run(db, 2).expect("Created")


def test_a_server_that_is_away_is_said_to_be_and_comes_back(db: treadle.Database, wire: Wire) -> None:
    run(db, 1).expect("Created")
    wire.down = True
    wire.cut_all()
    for _ in range(2):
        with pytest.raises(StoreError, match="no PostgreSQL server answers"):
            run(db, 2)
        with pytest.raises(StoreError, match="no PostgreSQL server answers"):
            present(db, 1)
    wire.down = False
    assert not created(db, 2)


def test_a_session_that_an_operator_ends_in_the_middle(
    db: treadle.Database, server: postgres.Server, schema: str
) -> None:
    store = db._engine.store
    with pytest.raises(StoreError), store.write() as tx:
        tx.put_setting("x", b"1")
        server.ask(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'treadle' AND state = 'idle in transaction'"
        )
        tx.put_setting("y", b"1")
    with store.read() as tx:
        assert tx.setting("x") is None
    run(db, 1).expect("Created")


@pytest.fixture
def own() -> Iterator[postgres.Server]:
    """A server of the test's own, which flushes as it should."""
    postgres.skip_unless_installed()
    server = postgres.made(durable=True)
    yield server
    postgres.removed(server)


def test_what_was_answered_survives_the_server_s_crash(own: postgres.Server) -> None:
    with treadle.open(own.url("work")) as db:
        db.deploy(SOURCE)
        receipts = [run(db, number) for number in range(20)]
        own.stop()  # at once: nothing is flushed that was not
        with pytest.raises(StoreError):
            run(db, 20)
        own.start()
        assert [run(db, number).commit for number in range(20)] == [each.commit for each in receipts]
        assert not created(db, 20)
        assert db.verify().ok


def test_a_standby_says_that_it_only_reads(own: postgres.Server) -> None:
    with treadle.open(own.url("work")) as db:
        db.deploy(SOURCE)
        own.stop()
        own.become_standby()
        own.start()
        with pytest.raises(ReadOnly, match="target_session_attrs"):
            run(db, 1)
    with pytest.raises(ReadOnly, match="target_session_attrs"):
        treadle.open(own.url("work"))
    with pytest.raises(StoreError, match="target_session_attrs"):
        treadle.open(own.url("work", target_session_attrs="read-write"))


def test_a_wrong_password(server: postgres.Server, schema: str) -> None:
    server.ask("DROP ROLE IF EXISTS locked")
    server.ask(
        "SET password_encryption = 'scram-sha-256'; CREATE ROLE locked LOGIN SUPERUSER PASSWORD 'r1ght'"
    )
    server.ask_password_of("locked")
    with pytest.raises(StoreError, match="refused the user, the password") as caught:
        treadle.open(server.url(schema).replace("treadle@", "locked:wr0ng@"))
    assert "wr0ng" not in str(caught.value)
    treadle.open(server.url(schema).replace("treadle@", "locked:r1ght@")).close()


# What is refused, and how.


def test_a_missing_database_is_not_made_where_that_was_not_asked(server: postgres.Server) -> None:
    with pytest.raises(DatabaseMissing, match="schema nothing_here"):
        treadle.open(server.url("nothing_here"), create=False)
    assert not server.ask("SELECT 1 FROM pg_namespace WHERE nspname = 'nothing_here'")


def test_a_schema_of_somebody_else_is_left_alone(server: postgres.Server, schema: str) -> None:
    server.ask(f"CREATE SCHEMA {schema}")
    server.ask(f"CREATE TABLE {schema}.theirs (a integer)")
    with pytest.raises(DatabaseCorrupt, match="other tables"):
        treadle.open(server.url(schema))


def test_a_newer_format_is_refused(server: postgres.Server, schema: str) -> None:
    treadle.open(server.url(schema)).close()
    server.ask(f"UPDATE {schema}.treadle_format SET version = 99")
    with pytest.raises(DatabaseNewer, match="format 99"):
        treadle.open(server.url(schema))


def test_another_encoding_is_refused(server: postgres.Server) -> None:
    server.ask("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(StoreError, match="UTF8"):
        treadle.open(server.url("work").replace("/postgres?", "/latin?"))


def test_a_role_needs_no_more_than_its_schema(server: postgres.Server, schema: str) -> None:
    server.ask("DROP ROLE IF EXISTS plain")
    server.ask("CREATE ROLE plain LOGIN NOSUPERUSER")
    url = server.url(schema).replace("treadle@", "plain@")
    with pytest.raises(ReadOnly, match="CREATE"):
        treadle.open(url)
    server.ask(f"CREATE SCHEMA {schema} AUTHORIZATION plain")
    with treadle.open(url) as db:
        db.deploy(SOURCE)
        run(db, 1).expect("Created")
    assert not server.ask("SELECT 1 FROM pg_tables WHERE schemaname = 'public'")


def test_transactions_that_may_not_write(server: postgres.Server, schema: str) -> None:
    treadle.open(server.url(schema)).close()
    server.ask("DROP ROLE IF EXISTS reader")
    server.ask("CREATE ROLE reader LOGIN NOSUPERUSER")
    with pytest.raises(ReadOnly, match="role"):
        treadle.open(server.url(schema).replace("treadle@", "reader@"))


def test_a_statement_timeout_of_the_operator_s(server: postgres.Server, schema: str) -> None:
    treadle.open(server.url(schema)).close()
    url = server.url(schema, options="-c%20statement_timeout%3D500ms")
    with treadle.open(url) as one, treadle.open(server.url(schema)) as other:
        one.deploy(SOURCE)
        with other._engine.store.write(), pytest.raises(Busy, match="nothing happened"):
            run(one, 1)
        assert not created(one, 1)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("/postgres?", "/nowhere?"), "no such database"),
        (("treadle@", "nobody_known@"), "no such role"),
        (("?schema", "?sslmode=require&schema"), "no PostgreSQL server answers|refused|way of connecting"),
        (("?schema", "?target_session_attrs=standby&schema"), "target_session_attrs"),
    ],
)
def test_a_url_that_leads_nowhere(server: postgres.Server, change: tuple[str, str], says: str) -> None:
    with pytest.raises(StoreError, match=says):
        treadle.open(server.url("work").replace(*change))


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:s3cret%zz@host/db",
        "postgresql://ann:s3cret@host/db?schema=public",
        "postgresql://ann:s3cret@host/db?schema=pg_x",
        "postgresql://ann:s3cret@host/db?schema=",
        "postgresql://ann:s3cret@host/db?pool=0",
        "postgresql://ann:s3cret@host/db?pool=many",
        "postgresql://ann:s3cret@host/db?nonsense=1",
    ],
)
def test_a_wrong_url_shows_no_secret(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        treadle.open(url)
    error: BaseException | None = caught.value
    while error is not None:
        assert "s3cret" not in str(error) and "s3cret" not in repr(error)
        error = error.__cause__


def test_a_password_is_shown_by_nothing(wire: Wire) -> None:
    wire.down = True
    with pytest.raises(StoreError) as caught:
        treadle.open(f"postgresql://ann:s3cret@127.0.0.1:{wire.port}/db")
    assert "s3cret" not in str(caught.value) and caught.value.__cause__ is None


def test_a_handle_shows_no_password(server: postgres.Server, schema: str) -> None:
    url = server.url(schema, password="s3cret").replace("treadle@", "treadle:s3cret@")
    with treadle.open(url) as db:
        assert "s3cret" not in repr(db) and "s3cret" not in db.url
        assert "s3cret" not in repr(vars(db._engine.store))


def test_a_backup_is_postgresql_s_own_business(db: treadle.Database, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="pg_dump"):
        db.backup(tmp_path / "copy.db")
    assert list(tmp_path.iterdir()) == []


def test_all_readers_at_work(server: postgres.Server, schema: str) -> None:
    with treadle.open(server.url(schema, pool=1, pool_timeout=0.1)) as db:
        store = db._engine.store
        with store.read() as tx, pytest.raises(Busy, match="pool"), store.read():
            tx.head()
        with store.read() as tx:
            assert tx.head().number == 0


def test_a_snapshot_that_has_read_a_table_holds_up_its_growth_alone(
    server: postgres.Server, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treadle.store.postgres.schema._LOCKED_MS", 100)
    with treadle.open(server.url(schema)) as db:
        db.deploy(SOURCE)
        table = db._engine.state.require().tables["WorkItem"]
        with db._engine.store.read() as tx:
            assert tx.scan(table, None, 9) == []
            with pytest.raises(Busy, match="nothing happened"):
                db.deploy(successor(), expected_version=1)
            run(db, 1).expect("Created")
            assert tx.scan(table, None, 9) == []
        db.deploy(successor(), expected_version=1)
        run(db, 2).expect("Created")
        assert db.verify().ok


@pytest.mark.parametrize("times", [1, 5])
def test_what_gives_way_runs_again(db: treadle.Database, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    original, left = PostgresWrite.append_log, [times]

    def append(self: PostgresWrite, entries: Sequence[LogEntry]) -> None:
        if left[0]:
            left[0] -= 1
            raise translated(psycopg.errors.DeadlockDetected())
        original(self, entries)

    monkeypatch.setattr(PostgresWrite, "append_log", append)
    assert not created(db, 1) and left == [0]
    assert db.verify().ok


def test_an_interrupt_in_the_commit_leaves_the_outcome_open(
    db: treadle.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = psycopg.RawCursor.execute

    def execute(self: Any, text: bytes, *given: Any, **more: Any) -> Any:
        found = original(self, text, *given, **more)
        if text == b"COMMIT":
            raise KeyboardInterrupt
        return found

    with monkeypatch.context() as patched:
        patched.setattr(psycopg.RawCursor, "execute", execute)
        with pytest.raises(OutcomeUnknown):
            run(db, 1)
    assert created(db, 1)
