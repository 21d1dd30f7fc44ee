"""Errors as problem documents (RFC 9457): stable code, recovery, and never a value, key or token."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

import msgspec

from treadle.errors import CODES, ContractError, TreadleError
from treadle.registry import load

MEDIA: Final = "application/problem+json"
TYPE: Final = "urn:treadle:error:"
RETRY_SECONDS: Final = 1
"""What Retry-After says: a full queue empties within a second, or it will be full again."""

FIELDS: Final = (
    "path", "constraint", "commit", "replayed", "reason", "entity", "field", "graph", "remedy", "line",
    "column",
)  # fmt: skip
"""Further members, where the error has them."""


def problem(error: TreadleError, trace: str | None = None) -> dict[str, Any]:
    """The problem document of an error; `trace` is the request's trace id."""
    status = error.status
    body: dict[str, Any] = {
        "type": TYPE + error.code,
        "title": title(error.code),
        "status": status,
        "code": error.code,
        "detail": error.message,
        "recovery": error.recovery,
    }
    for name in FIELDS:
        value = getattr(error, name, None)
        if value not in (None, ""):
            body[name] = value
    if isinstance(error, ContractError) and error.diagnostics:
        body |= load("riff").to_json(error.diagnostics)
    if trace is not None:
        body["trace_id"] = trace
    return body


def title(code: str) -> str:
    """The code in words, the same for every occurrence."""
    return code.replace("_", " ").capitalize()


def encoded(error: TreadleError, trace: str | None = None) -> bytes:
    """The problem document as JSON."""
    return msgspec.json.encode(problem(error, trace))


def retry_after(error: TreadleError) -> int | None:
    """Seconds for the Retry-After header, where the caller should try again by itself."""
    return RETRY_SECONDS if error.recovery == "retry" and error.status in (429, 503) else None


def bare(status: int, code: str, detail: str) -> bytes:
    """A problem document for what never becomes a request: malformed HTTP, too many connections."""
    return msgspec.json.encode(
        {
            "type": TYPE + code,
            "title": HTTPStatus(status).phrase,
            "status": status,
            "code": code,
            "detail": detail,
            "recovery": CODES[code].recovery,
        }
    )
