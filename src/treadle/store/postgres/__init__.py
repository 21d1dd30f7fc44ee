"""The PostgreSQL store (psycopg 3): one schema of a database that many processes and machines share.

Reading order: `places` (URLs), `names` and `cells` (values), `views` and `statements` (an entity's table and
what is said to it), `schema` (the tables that every database has), `failures` (PostgreSQL's errors as ours),
`sessions` and `pool` (connections), `relations` (which table holds an entity's rows, in each snapshot),
`reads`, `queries` and `transactions` (what is asked and written), `clock`, `store`.
"""

from treadle.store.postgres.store import PostgresStore, open_database

__all__ = ["PostgresStore", "open_database"]
