"""Maps that may be larger than memory: what is used lately is at hand, the rest lies in a temporary file.

The file is a private SQLite database without a name, which the system removes with its last user. There is
none as long as everything fits.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from itertools import islice
from typing import Any, Final, Generic, NamedTuple, TypeVar

import apsw

from treadle import limits
from treadle.store.sqlite.failures import guarded

K = TypeVar("K")
V = TypeVar("V")

AT_HAND: Final = 32 * limits.MIB
"""Bytes of one map, as they are stored, that are kept at hand."""

_WEIGHT: Final = 400
"""What an entry costs in memory beside its own bytes."""

PAGE: Final = 1_000


class Scratch:
    """A temporary database, made when it is first needed."""

    def __init__(self) -> None:
        self._connection: apsw.Connection | None = None
        self._sorted = 0

    @guarded
    def say(self, text: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """The rows of a statement."""
        return self._open().execute(text, values).fetchall()

    @guarded
    def each(self, text: str, values: Iterable[tuple[Any, ...]]) -> None:
        """A statement for many values, in one transaction."""
        with self._open() as connection:
            connection.executemany(text, values)

    def _open(self) -> apsw.Connection:
        if self._connection is None:
            self._connection = apsw.Connection("")
            self._connection.execute("PRAGMA journal_mode = OFF; PRAGMA cache_size = -8192")
        return self._connection

    def sorted(self, items: Iterable[bytes]) -> Iterator[bytes]:
        """The items in their order, however many there are."""
        self._sorted += 1
        name = f"sorted_{self._sorted}"
        self.say(f"CREATE TABLE {name} (item BLOB NOT NULL)")
        source = ((item,) for item in items)
        while page := list(islice(source, PAGE)):
            self.each(f"INSERT INTO {name} VALUES (?)", page)
        for (item,) in self._open().execute(f"SELECT item FROM {name} ORDER BY item"):
            yield item
        self.say(f"DROP TABLE {name}")

    def close(self) -> None:
        """Give the file back."""
        if self._connection is not None:
            self._connection.close(True)
            self._connection = None


class Coding(NamedTuple, Generic[K, V]):
    """How keys become bytes that sort as they should, and values something that `marshal` knows."""

    pack: Callable[[K], bytes]
    unpack: Callable[[bytes], K]
    plain: Callable[[V], Any]
    value: Callable[[Any], V]


class Shelf(MutableMapping[K, V]):
    """A map. Values are never None and do not change; keys come in the order of their bytes."""

    def __init__(self, scratch: Scratch, name: str, coding: Coding[K, V]) -> None:
        self._scratch = scratch
        self._name = name
        self._coding = coding
        self._near: dict[K, V] = {}
        self._changed: dict[K, bytes | None] = {}
        self._weight = 0
        self._far = False

    def get(self, key: K, default: Any = None) -> Any:
        """The value of a key."""
        found = self._near.get(key)
        if found is None and self._far and key not in self._changed:
            found = self._fetch(key)
        return default if found is None else found

    def _fetch(self, key: K) -> V | None:
        text = f"SELECT value FROM {self._name} WHERE key = ?"
        for (data,) in self._scratch.say(text, (self._coding.pack(key),)):
            value = self._near[key] = self._coding.value(marshal.loads(data))
            self._weigh(data)
            return value
        return None

    def __getitem__(self, key: K) -> V:
        found = self.get(key)
        if found is None:
            raise KeyError(key)
        value: V = found
        return value

    def __setitem__(self, key: K, value: V) -> None:
        data = marshal.dumps(self._coding.plain(value))
        self._near[key] = value
        self._changed[key] = data
        self._weigh(data)

    def __delitem__(self, key: K) -> None:
        if self.get(key) is None:
            raise KeyError(key)
        self._near.pop(key, None)
        if self._far:
            self._changed[key] = None
        else:
            del self._changed[key]

    def __contains__(self, key: Any) -> bool:
        return self.get(key) is not None

    def __len__(self) -> int:
        if not self._far:
            return len(self._near)
        self._flush()
        return int(self._scratch.say(f"SELECT count(*) FROM {self._name}")[0][0])

    def __iter__(self) -> Iterator[K]:
        return (key for key, _ in self.pairs())

    def pairs(self, prefix: bytes = b"") -> Iterator[tuple[K, V]]:
        """Keys whose bytes begin with a prefix, with their values, in order.

        Meanwhile values may be replaced, and keys that were met already removed.
        """
        if not self._far:
            near = sorted((self._coding.pack(key), key) for key in self._near)
            for data, key in near:
                if data.startswith(prefix):
                    yield key, self[key]
            return
        after, end = prefix, prefix + b"\xff"  # no tag of packed bytes is as high
        text = f"SELECT key, value FROM {self._name} WHERE key > ? AND key < ? ORDER BY key LIMIT {PAGE}"
        self._flush()
        while page := self._scratch.say(text, (after, end)):
            for data, value in page:
                yield self._coding.unpack(data), self._coding.value(marshal.loads(value))
            after = page[-1][0]
            self._flush()

    def _weigh(self, data: bytes) -> None:
        self._weight += len(data) + _WEIGHT
        if self._weight > AT_HAND:
            self._flush()
            self._near.clear()
            self._weight = 0

    def _flush(self) -> None:
        """Bring what changed to the file."""
        if not self._far:
            self._scratch.say(f"CREATE TABLE {self._name} (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")
            self._far = True
        pack = self._coding.pack
        gone = ((pack(key),) for key, data in self._changed.items() if data is None)
        put = ((pack(key), data) for key, data in self._changed.items() if data is not None)
        self._scratch.each(f"DELETE FROM {self._name} WHERE key = ?", gone)
        self._scratch.each(f"INSERT OR REPLACE INTO {self._name} VALUES (?, ?)", put)
        self._changed.clear()
