"""Finding the store of a database's URL."""

from __future__ import annotations

import pytest

from treadle.errors import ConfigError, DatabaseMissing
from treadle.store import open_store, shown_url, split_url
from treadle.store.memory import MemoryStore
from treadle.store.sqlite import SqliteStore


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (":memory:", ("memory", "")),
        ("work.db", ("sqlite", "work.db")),
        ("/srv/work.db", ("sqlite", "/srv/work.db")),
        ("a b%20c.db", ("sqlite", "a b%20c.db")),
        ("sqlite:///work.db", ("sqlite", "work.db")),
        ("sqlite:////srv/work.db", ("sqlite", "/srv/work.db")),
        ("sqlite:///a%20b.db", ("sqlite", "a b.db")),
        ("postgresql://host/db?x=1", ("postgresql", "postgresql://host/db?x=1")),
        ("postgres://host/db", ("postgresql", "postgres://host/db")),
    ],
)
def test_urls(url, expected):
    assert split_url(url) == expected


@pytest.mark.parametrize(
    "url",
    [
        "",
        "mysql://host/db",
        "sqlite://",
        "sqlite:///",
        "sqlite://work.db",
        "sqlite:///a?mode=ro",
        "memory://",
        "a\0b",
    ],
)
def test_urls_that_name_nothing(url):
    with pytest.raises(ConfigError):
        split_url(url)


def test_open_store(tmp_path):
    memory = open_store(":memory:")
    assert isinstance(memory, MemoryStore)
    memory.close()
    path = tmp_path / "work.db"
    with pytest.raises(DatabaseMissing):
        open_store(path, create=False)
    for url in (path, f"sqlite:///{path}"):
        store = open_store(url)
        assert isinstance(store, SqliteStore)
        assert store.path == str(path)
        store.close()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("work.db", "work.db"),
        ("postgresql://host:5432/db?user=a@b", "postgresql://host:5432/db?user=a@b"),
        ("postgresql://ann:p@ss@host:5432/db?schema=x", "postgresql://ann:•••@host:5432/db?schema=x"),
        ("postgresql://host/db?password=p@ss&x=1", "postgresql://host/db?password=•••&x=1"),
    ],
)
def test_a_password_is_not_shown(url, shown):
    assert shown_url(url) == shown
