"""What the server tells of itself: one JSON object a line, with names and numbers and never a value.

A line has the route's form, not the address, so that no key of a row, no token and no query stands in it.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TextIO

if TYPE_CHECKING:
    from treadle.server.call import Call

LOG: Final = logging.getLogger("treadle.server")
QUIET: Final = ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi")
"""Loggers of the libraries below, which name addresses and values; what they say is said here."""


class JsonLines(logging.Formatter):
    """A log record as one line of JSON; an exception by its type and place, not by its message."""

    def format(self, record: logging.LogRecord) -> str:
        body: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        body |= getattr(record, "fields", {})
        if record.exc_info and record.exc_info[0] is not None:
            body["exception"] = record.exc_info[0].__name__
            body["at"] = _places(record.exc_info[2])
        return json.dumps(body, ensure_ascii=False)


def _places(trace: Any) -> list[str]:
    """Where an exception came from, innermost last: files and lines of ours and of libraries."""
    places = []
    while trace is not None:
        code = trace.tb_frame.f_code
        places.append(f"{code.co_filename.rpartition('site-packages/')[2]}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    return places[-12:]


def set_up(stream: TextIO, *, requests: bool) -> None:
    """Send the server's log to `stream`; with `requests` one line for each request."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    root = logging.getLogger("treadle")
    root.handlers = [handler]
    root.propagate = False
    root.setLevel(logging.INFO)
    LOG.setLevel(logging.DEBUG if requests else logging.INFO)
    for name in QUIET:
        logger = logging.getLogger(name)
        logger.handlers = [logging.NullHandler()]
        logger.propagate = False
        logger.setLevel(logging.CRITICAL)


def request(call: Call, seconds: float) -> None:
    """Tell of a request: always where the server failed, else where every request is wanted."""
    level = logging.WARNING if call.status >= 500 else logging.DEBUG
    if LOG.isEnabledFor(level):
        fields = {
            "method": call.scope["method"],
            "route": call.route,
            "status": call.status,
            "ms": round(seconds * 1000, 2),
            "principal": call.caller.principal,
            "role": call.caller.role,
            "trace": call.trace.hex(),
        }
        LOG.log(level, "request", extra={"fields": fields})


def event(name: str, **fields: Any) -> None:
    """Tell of something that happened to the server."""
    LOG.info(name, extra={"fields": fields})
