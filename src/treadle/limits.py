"""Every fixed bound, in one place, with the relations between them checked at import.

Sizes are bytes, durations seconds, unless a name says otherwise.
"""

from __future__ import annotations

from typing import Final

from treadle.errors import check

KIB: Final = 1024
MIB: Final = 1024 * KIB

# The language.
SOURCE_BYTES: Final = 1 * MIB
SOURCE_TOKENS: Final = 262_144
NESTING: Final = 32
DECLARATION_MEMBERS: Final = 4_096
ENTITY_FIELDS: Final = 1_500  # every store holds them: PostgreSQL about 1,600 columns, SQLite 1,996
LIST_MEMBERS: Final = 1_024
IDENTIFIER_BYTES: Final = 256
DIAGNOSTICS: Final = 32
EXPRESSION_DEPTH: Final = 100  # operators that nest in a checked expression
NAME_BYTES: Final = 1_024  # who acts: a principal, role, instance or tenant, as UTF-8
PRINCIPAL_FACTS: Final = 64
ROW_POLICIES: Final = 64  # on one entity
POLICY_PROBES: Final = 8  # `exists` in one rule

# Types.
STRING_BYTES: Final = 1 * MIB
LIST_ENTRIES: Final = 65_535
DECIMAL_PRECISION: Final = 38
ROW_BYTES: Final = 1 * MIB
KEY_BYTES: Final = 128  # an idempotency key, as UTF-8
U64_MAX: Final = 2**64 - 1
I64_MIN: Final = -(2**63)
I64_MAX: Final = 2**63 - 1
TIMESTAMP_MIN: Final = -62_135_596_800_000_000  # 0001-01-01T00:00:00Z in microseconds since 1970
TIMESTAMP_MAX: Final = 253_402_300_799_999_999  # 9999-12-31T23:59:59.999999Z
DATE_MIN: Final = -719_162  # 0001-01-01 in days since 1970
DATE_MAX: Final = 2_932_896  # 9999-12-31

# Commands.
LEASE_SECONDS: Final = 86_400
BULK_ELEMENTS: Final = 1_024
BULK_MUTATIONS: Final = 4_096
COMMAND_BYTES: Final = 16 * MIB  # input, rows and events of one command together
CASCADE_RELATIONSHIPS: Final = 32
CASCADE_ROWS: Final = 256  # roots times (1 + the sum of the maxima)
CASCADE_MAXIMUM: Final = 255

# The engine.
BATCH_COMMANDS: Final = 512
BATCH_BYTES: Final = 64 * MIB
QUEUE_COMMANDS: Final = 65_536
QUEUE_BYTES: Final = 256 * MIB
CLOCK_JUMP_SECONDS: Final = 86_400
CATCH_UP_SECONDS: Final = 0.05

# JSON.
JSON_NESTING: Final = 32

# Streams and workers.
PULL_EVENTS: Final = 64
IN_FLIGHT_EVENTS: Final = 64_000
STREAM_LEASE_SECONDS: Final = (5, 900)
NACK_SECONDS: Final = 3_600
DELIVERIES: Final = 10
POLL_SECONDS: Final = 30
WORKER_IN_FLIGHT: Final = 8
PAGE_ROWS: Final = 1_000

# Named queries.
QUERY_STATEMENTS: Final = 32
QUERY_NESTING: Final = 4  # lists in lists
QUERY_ROWS: Final = 10_000  # of one list, counted over all rows that it is nested in
QUERY_RANGES: Final = 64  # what the `in` conditions of one access multiply to
QUERY_ENTRIES: Final = 1_024  # of a list parameter
QUERY_EXAMINED: Final = 10_000  # index entries that one page looks at in one range, before it ends early
QUERY_AGGREGATED: Final = 1_000_000  # rows behind one aggregate
QUERY_BYTES: Final = 16 * MIB  # cells of one answer
QUERY_SECONDS: Final = 30  # waiting for a commit and running together
CURSOR_BYTES: Final = 64 * KIB

# The server.
HTTP_BODY_BYTES: Final = 16 * MIB  # one request's body; of JSON Lines, one line
HTTP_HELD_BYTES: Final = 256 * MIB  # bodies of all requests that are being read or run
HTTP_HEAD_BYTES: Final = 64 * KIB  # request line and headers
HTTP_HEADERS: Final = 100
HTTP_REQUEST_SECONDS: Final = 30
HTTP_IDLE_SECONDS: Final = 15  # without a byte from a client that should send, or from one that should read
HTTP_CONNECTIONS: Final = 1_000
HTTP_REQUESTS: Final = 4_096  # at once
HTTP_DRAIN_SECONDS: Final = 20
HTTP_LINES: Final = 256  # commands of a stream of lines that go into the queue together
HTTP_ANSWER_BYTES: Final = 8 * MIB  # answers of a stream that wait for a client that is still sending
LOG_PAGE: Final = 1_000  # records of one page, and at most this many bytes of them:
LOG_PAGE_BYTES: Final = 8 * MIB

# Graph.
UPDATE_COPY_QUADS: Final = 250_000

check(ROW_BYTES <= COMMAND_BYTES <= BATCH_BYTES <= QUEUE_BYTES, "row <= command <= batch <= queue")
check(BATCH_COMMANDS <= QUEUE_COMMANDS, "a batch fits the queue")
check(ENTITY_FIELDS <= DECLARATION_MEMBERS, "the fields of an entity fit a declaration")
check(STRING_BYTES <= ROW_BYTES, "one string fits a row")
check(PAGE_ROWS <= QUERY_ROWS and PAGE_ROWS <= QUERY_EXAMINED, "a full page fits the bounds of a query")
check(BULK_ELEMENTS <= BULK_MUTATIONS, "one mutation an element fits a bulk command")
check(HTTP_BODY_BYTES <= HTTP_HELD_BYTES, "one body fits what is held of all")
check(HTTP_LINES <= BATCH_COMMANDS <= HTTP_REQUESTS, "lines fit a batch, a batch fits the requests")
check(CASCADE_MAXIMUM < CASCADE_ROWS, "a root and its cascade fit the bound")
