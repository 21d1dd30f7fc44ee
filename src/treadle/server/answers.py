"""What a route answers, and how it goes out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from treadle.errors import TreadleError
from treadle.server import problems

if TYPE_CHECKING:
    from treadle.server.call import Call

JSON: Final = "application/json"
Headers = tuple[tuple[bytes, bytes], ...]

COMMON: Final[Headers] = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
CLOSE: Final[Headers] = ((b"connection", b"close"),)


class Answer(NamedTuple):
    """A response. `body` is all of it, or an iterator of parts; `headers` come beside the common ones."""

    status: int
    body: bytes | AsyncIterator[bytes]
    media: str = JSON
    headers: Headers = ()


def json_answer(value: Any, status: int = 200, headers: Headers = ()) -> Answer:
    """A JSON answer."""
    return Answer(status, msgspec.json.encode(value), JSON, headers)


def text_answer(text: str, media: str) -> Answer:
    """A text in UTF-8."""
    return Answer(200, text.encode(), f"{media}; charset=utf-8")


def problem_answer(error: TreadleError, trace: str | None = None, headers: Headers = ()) -> Answer:
    """The problem document of an error."""
    seconds = problems.retry_after(error)
    if seconds is not None:
        headers = (*headers, (b"retry-after", b"%d" % seconds))
    if error.code == "unauthenticated":
        headers = (*headers, (b"www-authenticate", b'Bearer realm="treadle"'))
    return Answer(error.status, problems.encoded(error, trace), problems.MEDIA, headers)


async def write(call: Call, answer: Answer) -> None:
    """Send an answer with the common headers and the trace id."""
    call.status = answer.status
    send, body = call.send, answer.body
    headers = [
        (b"content-type", answer.media.encode("latin-1")),
        (b"trace-id", call.trace.hex().encode()),
        *COMMON,
        *call.cross_origin,
        *answer.headers,
    ]
    if isinstance(body, bytes):
        headers.append((b"content-length", b"%d" % len(body)))
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})
        return
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    async for part in body:
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


__all__ = ["CLOSE", "JSON", "Answer", "Headers", "json_answer", "problem_answer", "text_answer", "write"]
