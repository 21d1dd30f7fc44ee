"""What is said to the tables that every schema has. `{s}` is the schema; arrays carry many rows at once."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from typing import Final, NamedTuple

_LONGEST: Final = 512
_HASHED: Final = b"\xff"
"""No packed tuple begins so."""


def place_of(entry: bytes) -> bytes:
    """What an index holds of a packed tuple: itself, or its hash where it is too long for one."""
    return entry if len(entry) <= _LONGEST else _HASHED + sha256(entry).digest()


def hashed(terms: tuple[str, ...]) -> bytes:
    """What an index holds of a statement or a graph's name."""
    return sha256("\0".join(terms).encode()).digest()


class Texts(NamedTuple):
    """Statements by what they do."""

    setting: str = "SELECT value, sum FROM {s}.treadle_settings WHERE name = $1"
    settings: str = (
        "SELECT name, value, sum FROM {s}.treadle_settings "
        "WHERE name >= $1 AND ($2::text IS NULL OR name < $2) ORDER BY name"
    )
    tombstones: str = (
        "SELECT v.n, t.revision::text FROM unnest($2::bytea[]) WITH ORDINALITY AS v(key, n) "
        "JOIN {s}.treadle_tombstones AS t ON t.entity = $1 AND t.key = v.key"
    )
    holders: str = (
        "SELECT v.n, t.key FROM unnest($1::text[], $2::text[], $3::bytea[]) "
        "WITH ORDINALITY AS v(entity, name, place, n) JOIN {s}.treadle_uniques AS t "
        "ON t.entity = v.entity AND t.name = v.name AND t.place = v.place"
    )
    receipts: str = (
        "SELECT v.n, t.number FROM unnest($1::bytea[]) WITH ORDINALITY AS v(identity, n) "
        "JOIN {s}.treadle_receipts AS t ON t.identity = v.identity"
    )
    count_receipts: str = "SELECT count(*), count(*) FILTER (WHERE number < 0) FROM {s}.treadle_receipts"
    count_stubs: str = "SELECT count(*) FROM {s}.treadle_receipts WHERE number < 0 AND number >= -$1::bigint"
    stubs: str = (
        "SELECT identity, -number FROM {s}.treadle_receipts WHERE number < 0 AND number >= -$1::bigint"
    )
    stub_ends: str = (
        "SELECT -number FROM {s}.treadle_receipts WHERE number < 0 AND number >= -$1::bigint "
        "ORDER BY number DESC, identity LIMIT 2 OFFSET $2"
    )
    drop_stubs: str = "DELETE FROM {s}.treadle_receipts WHERE number < 0 AND number >= -$1::bigint"
    log: str = (
        "SELECT number, time, hash, data FROM {s}.treadle_log "
        "WHERE number >= $1 AND number <= $2 ORDER BY number LIMIT $3"
    )
    drop_log: str = (
        "DELETE FROM {s}.treadle_log WHERE number IN "
        "(SELECT number FROM {s}.treadle_log WHERE number <= $1 ORDER BY number LIMIT $2)"
    )
    events: str = (
        "SELECT number, ordinal, name, partition, data FROM {s}.treadle_events "
        "WHERE name = $1 AND (number, ordinal) > ($2, $3) ORDER BY number, ordinal LIMIT $4"
    )
    partition: str = (
        "SELECT number, ordinal, name, partition, data FROM {s}.treadle_events "
        "WHERE name = $1 AND partition = $2 AND (number, ordinal) > ($3, $4) "
        "ORDER BY name, partition, number, ordinal LIMIT $5"
    )
    entries: str = (
        "SELECT key, value, sum FROM {s}.treadle_entries WHERE space = $1 AND key >= $2 ORDER BY key LIMIT $3"
    )
    entries_at: str = (
        "SELECT v.n, t.key, t.value, t.sum FROM unnest($2::bytea[]) WITH ORDINALITY AS v(key, n) "
        "JOIN {s}.treadle_entries AS t ON t.space = $1 AND t.key = v.key"
    )
    sums: str = (
        "SELECT convert_to(name, 'UTF8'), value, sum FROM {s}.treadle_settings "
        "UNION ALL SELECT key, value, sum FROM {s}.treadle_entries"
    )
    quads: str = (
        "SELECT place, subject, predicate, object, graph FROM {s}.treadle_quads "
        "WHERE place > $1 ORDER BY place LIMIT $2"
    )
    graphs: str = "SELECT name FROM {s}.treadle_graphs ORDER BY name"
    missing: str = (
        "SELECT t.name FROM {s}.treadle_tables AS t WHERE NOT EXISTS (SELECT 1 FROM pg_catalog.pg_class AS c "
        "JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace "
        "WHERE n.nspname = $1 AND c.relname = t.relation)"
    )
    gap: str = "SELECT count(*), max(number) - min(number) + 1 FROM {s}.treadle_log"

    bury: str = (
        "INSERT INTO {s}.treadle_tombstones (entity, key, revision) "
        "SELECT $1::text, v.key, v.revision FROM unnest($2::bytea[], $3::numeric[]) AS v(key, revision) "
        "ON CONFLICT (entity, key) DO UPDATE SET revision = excluded.revision"
    )
    unbury: str = "DELETE FROM {s}.treadle_tombstones WHERE entity = $1 AND key = ANY ($2::bytea[])"
    release: str = (
        "DELETE FROM {s}.treadle_uniques AS t USING unnest($1::text[], $2::text[], $3::bytea[]) "
        "AS v(entity, name, place) WHERE t.entity = v.entity AND t.name = v.name AND t.place = v.place"
    )
    take: str = (
        "INSERT INTO {s}.treadle_uniques (entity, name, place, entry, key) "
        "SELECT * FROM unnest($1::text[], $2::text[], $3::bytea[], $4::bytea[], $5::bytea[]) "
        "ON CONFLICT DO NOTHING"
    )
    clear: str = (
        "DELETE FROM {s}.treadle_uniques WHERE entity = $1 AND name = $2 AND place IN "
        "(SELECT place FROM {s}.treadle_uniques WHERE entity = $1 AND name = $2 ORDER BY place LIMIT $3)"
    )
    append: str = (
        "INSERT INTO {s}.treadle_log (number, time, hash, data) "
        "SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bytea[])"
    )
    bind: str = (
        "INSERT INTO {s}.treadle_receipts (identity, number) "
        "SELECT * FROM unnest($1::bytea[], $2::bigint[]) ON CONFLICT DO NOTHING"
    )
    prune: str = (
        "INSERT INTO {s}.treadle_receipts (identity, number) "
        "SELECT * FROM unnest($1::bytea[], $2::bigint[]) "
        "ON CONFLICT (identity) DO UPDATE SET number = excluded.number"
    )
    emit: str = (
        "INSERT INTO {s}.treadle_events (number, ordinal, name, partition, data) "
        "SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bytea[], $5::bytea[])"
    )
    unemit: str = (
        "DELETE FROM {s}.treadle_events AS t USING unnest($1::text[], $2::bigint[], $3::bigint[]) "
        "AS v(name, number, ordinal) "
        "WHERE t.name = v.name AND t.number = v.number AND t.ordinal = v.ordinal"
    )
    enter: str = (
        "INSERT INTO {s}.treadle_entries (space, key, value, sum) "
        "SELECT $1::text, v.* FROM unnest($2::bytea[], $3::bytea[], $4::bigint[]) AS v(key, value, sum) "
        "ON CONFLICT (space, key) DO UPDATE SET value = excluded.value, sum = excluded.sum"
    )
    leave: str = "DELETE FROM {s}.treadle_entries WHERE space = $1 AND key = ANY ($2::bytea[])"
    put: str = (
        "INSERT INTO {s}.treadle_settings (name, value, sum) VALUES ($1, $2, $3) "
        "ON CONFLICT (name) DO UPDATE SET value = excluded.value, sum = excluded.sum"
    )
    drop: str = "DELETE FROM {s}.treadle_settings WHERE name = $1"
    add_quads: str = (
        "INSERT INTO {s}.treadle_quads (place, subject, predicate, object, graph) "
        "SELECT * FROM unnest($1::bytea[], $2::text[], $3::text[], $4::text[], $5::text[]) "
        "ON CONFLICT DO NOTHING"
    )
    remove_quads: str = "DELETE FROM {s}.treadle_quads WHERE place = ANY ($1::bytea[])"
    add_graphs: str = (
        "INSERT INTO {s}.treadle_graphs (place, name) SELECT * FROM unnest($1::bytea[], $2::text[]) "
        "ON CONFLICT DO NOTHING"
    )
    remove_graphs: str = "DELETE FROM {s}.treadle_graphs WHERE place = ANY ($1::bytea[])"
    raise_format: str = "UPDATE {s}.treadle_format SET version = $1 WHERE version < $1"


@cache
def texts(schema: str) -> Texts:
    """The statements for a schema, whose name is given as an identifier."""
    # The schema's name is the only thing that is not ours; it may hold braces.
    return Texts(*(text.replace("{s}", schema) for text in Texts()))
