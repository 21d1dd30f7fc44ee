"""docs/reference/http.md: every route, what it takes and answers, from the routes themselves.

`tools/generated.py` lists it; `make docs` writes it and a test keeps it up to date.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from tools.reference import cell, rows
from treadle import limits
from treadle.errors import CODES
from treadle.server.app import endpoints
from treadle.server.endpoint import CALLER, OPEN, Endpoint
from treadle.server.history import PARAMETERS
from treadle.server.lines import READS
from treadle.server.openapi import WORDS

MADE = "<!-- Made by tools/http_reference.py; run `make docs` after a change. -->\n"

INTRO = """\
`treadle serve` answers JSON over HTTP/1.1; [serving a database](../howto/serve.md) says how to start it.
The deployed contract's own document, with every command, query, outcome and error, is the OpenAPI 3.1
document at `/openapi.json`, of which each caller sees what it may use; `/docs` is a page that shows it.
"""

WHO = {
    OPEN: "everyone",
    CALLER: "a token; its role decides",
    "audit": "the `audit` permission",
    "admin": "the `admin` permission",
}

JSONL = ", ".join(f"`{one}`" for one in READS)
REQUESTS = f"""\
- **Credentials**: `Authorization: Bearer TOKEN`. What is not a valid token is 401, and which of the
  reasons it was is not told.
- **Bodies** are JSON in UTF-8 with `Content-Type: application/json`, not compressed, at most
  `server.max_body_bytes`. Duplicate names, nesting over {limits.JSON_NESTING}, NaN, lone surrogates and
  unknown members are refused. JSON Lines are sent as {JSONL}.
- **`Idempotency-Key`**: taken as the command's key where that is an input of text and the body has none;
  bare, or a quoted string.
- **`Prefer: integers=string`** gives u64 and i64 as text, for readers whose numbers end at 2⁵³; both
  forms are always read.
- **`Prefer: wait=SECONDS`** bounds the time for an answer, at most `server.request_seconds`. What has not
  run by then ends in `busy` (certainly nothing happened) or `outcome_unknown` (repeat the same key).
- **`history` and `contract`** in the body of a command or query name the history incarnation and the
  contract's identity that the caller relies on; another one is refused as `history_changed` or
  `contract_mismatch`. Stored answers are given again all the same.
- **`Treadle-Instance`** says which process of the service calls, such as `host-7/4242`: recorded, never
  compared. Without it the address is.
- **`traceparent`** (W3C Trace Context) is taken over; else a trace id is made. It comes back as
  `trace-id`, and stands in the log record.
- **Values**: uuid, timestamp (RFC 3339 with up to six digits, any offset in, `Z` out), date, decimal and
  money as strings, bytes as base64, u64 and i64 as numbers or strings in and numbers out, an enum's
  variant by name, null or nothing for an absent optional.
"""

COMMANDS = """\
`{"input": {…}}` → 200 with

```json
{"outcome": "Claimed", "fields": {}, "workflow_revisions": [{"binding": "job", "revision": 2}],
 "commit": 5, "time": "2030-01-01T12:00:00Z", "history": "0f3b5c…", "replayed": false}
```

Every declared outcome is a 200, and durable when it is answered. As JSON Lines each line is `{"command":
NAME, "input": {…}}`, with `history` and `contract` where wished. Each line that is not empty is answered
by one line, in order: a receipt, or a problem document. Lines are put into the queue in groups as they
come and are for themselves: one that is refused stops no other. Read while you send; of a client that
does not, the server stops reading when eight mebibytes of answers wait. A line that a lost connection cut
off is not run.
"""

QUERIES = """\
`{"parameters": {…}, "after": CURSOR, "at_least": COMMIT}` → `{"outcome", "fields", "next", "commit",
"after_commit", "history"}`. All of a page is from one snapshot, which holds at least the commit
`at_least`; `next` is the cursor of the page after it, or null.
"""

CONTRACT = """\
`PUT` takes `{"source": TEXT, "expected_version": N}` and, where wished, `queries` (a list of texts) and
`roles` (a list of objects as the `[[roles]]` tables), which replace the deployed ones in the same
transaction. `expected_version` is the version that is active now, 0 for none; a lost race is
`version_conflict`. What is wrong with a text comes as `diagnostics` in the problem document, in the form
of `treadle check --json`. A workflow comes as JSON, or as a Mermaid state diagram with `Accept:
text/vnd.mermaid`.
"""

LOG = """\
The log is the whole database's: it needs the `audit` permission and a caller that is bound to no tenant.
Secret fields, lease owners and fencing tokens are `•••` without the `admin` permission. A page has at
most a thousand records; `next` is what to give as `from` for the page after it.
"""

PROBLEMS = """\
What is no outcome is `application/problem+json` (RFC 9457): `type`, `title`, `status`, `code`, `detail`,
`recovery`, `trace_id`, and where there is one `path` (of the value at fault), `constraint`, `commit`,
`replayed`, `reason`, `diagnostics`. Codes and what to do about them are in [errors](errors.md). 503 comes
with `Retry-After` where trying again helps, 405 with `Allow`, 401 with `WWW-Authenticate`. No problem
holds a value, a key, a token or lease evidence.
"""

LIMITS = f"""\
| what | bound | then |
|---|---|---|
| a head: request line and headers | {limits.HTTP_HEAD_BYTES >> 10} KiB, {limits.HTTP_HEADERS} headers | 431 |
| a body; of JSON Lines a line | `server.max_body_bytes` | 413; a line is told so, and the stream goes on |
| bodies of all requests together | {limits.HTTP_HELD_BYTES >> 20} MiB | 503 |
| a head that does not come, a body that stops coming | `server.idle_seconds` | 408, and the connection ends |
| an answer that is not read | `server.idle_seconds` | the connection ends |
| connections at once | `server.max_connections` | 503 |
| requests at once | {limits.HTTP_REQUESTS:,} | 503 |
| commands that wait | {limits.QUEUE_COMMANDS:,}, {limits.QUEUE_BYTES >> 20} MiB | 503 |

A `Host` that is none of the server's names and an `Origin` that it was not told of are 403, whatever the
token.
"""

SECTIONS = (
    ("Commands", ("/v1/commands",), COMMANDS),
    ("Queries", ("/v1/queries",), QUERIES),
    ("Contract and workflows", ("/v1/contract", "/v1/workflows"), CONTRACT),
    ("The log", ("/v1/log",), LOG),
    ("Operations and documents", ("/health", "/ready", "/metrics", "/openapi.json", "/docs"), ""),
)
"""Sections with the beginnings of their paths; what belongs to none comes in a section at the end."""


def route(endpoint: Endpoint) -> str:
    """One row: method and path, who may call, what it does."""
    text = inspect.getdoc(endpoint.handler) or endpoint.summary
    access = WHO.get(endpoint.access, f"the `{endpoint.access}` permission")
    if endpoint.path == "/metrics":
        access = "everyone on loopback, else the `audit` permission"
    changes = "yes" if endpoint.writes else ""
    return f"`{endpoint.method} {endpoint.path}` | {access} | {changes} | {cell(text)}"


def sections() -> Iterator[str]:
    left = list(endpoints())
    for title, beginnings, text in SECTIONS:
        mine = [one for one in left if one.path.startswith(beginnings)]
        left = [one for one in left if one not in mine]
        yield from section(title, mine, text)
    if left:
        yield from section("More", left, "")


def section(title: str, mine: list[Endpoint], text: str) -> Iterator[str]:
    yield f"## {title}\n"
    yield rows("route | for | writes | what it does", map(route, mine)) + "\n"
    if text:
        yield text
    if title == "The log":
        yield (
            rows("parameter | what it is", (f"`{name}` | {text}" for name, text in PARAMETERS.items())) + "\n"
        )


def statuses() -> Iterator[str]:
    for status, text in WORDS.items():
        codes = ", ".join(f"`{code}`" for code, kind in sorted(CODES.items()) if kind.status == status)
        yield f"{status} | {text} | {codes}"


def http_page() -> dict[str, str]:
    """docs/reference/http.md."""
    page: list[Any] = [
        "# HTTP\n",
        MADE,
        INTRO,
        "## Requests\n",
        REQUESTS,
        *sections(),
        "## Problems\n",
        PROBLEMS,
        rows("status | means | codes", statuses()) + "\n",
        "## Limits\n",
        LIMITS,
    ]
    return {"docs/reference/http.md": "\n".join(page).rstrip() + "\n"}
