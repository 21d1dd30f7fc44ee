"""What a route answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final, NamedTuple

import msgspec

from treadle.errors import TreadleError
from treadle.server import problems

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


__all__ = ["CLOSE", "JSON", "Answer", "Headers", "json_answer", "problem_answer", "text_answer"]
