"""The SQLite store (APSW): one file in WAL mode, every commit flushed before it is answered.

Reading order: `cells` (values), `views` and `statements` (an entity's table and what is said to it),
`schema` (the tables that every file has), `transactions`, `files` and `lock` (connections, the writers'
queue), `store`.
"""

from treadle.store.sqlite.store import SqliteStore, open_database

__all__ = ["SqliteStore", "open_database"]
