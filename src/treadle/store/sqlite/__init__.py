"""The SQLite store (APSW): one file in WAL mode, every commit flushed before it is answered.

Reading order: `cells` (values), `views` and `statements` (an entity's table and what is said to it),
`schema` (the tables that every file has), `transactions` and `queries` (what is asked and written),
`failures` (SQLite's errors as ours), `files`, `lock` and `forks` (connections, the writers' queue, what a
child process may not touch), `checkpoint` (the log, and doubt after a failed flush), `copying`, `store`.
"""

from treadle.store.sqlite.store import SqliteStore, open_database

__all__ = ["SqliteStore", "open_database"]
