"""Where an event stands, and the texts that name the place: cursors for readers, tokens for deliveries.

Both begin with the history incarnation. After a restore the same place may hold another event, so a text
from before it is refused and not taken for what it seems to say. Neither gives a permission.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
from typing import Any, Final, NamedTuple

from treadle.errors import HistoryChanged, InvalidInput
from treadle.limits import U64_MAX

_HISTORY: Final = r"([0-9a-f]{1,64}\.[0-9]{1,20}(?:\.[0-9a-f]{16})?)"
_CURSOR: Final = re.compile(_HISTORY + r":([0-9]{1,20})\.([0-9]{1,10})", re.ASCII)
_TOKEN: Final = re.compile(_HISTORY + r":([A-Za-z0-9_-]{38})", re.ASCII)
_DELIVERY: Final = struct.Struct(">QQIQ")


class Position(NamedTuple):
    """The number of the commit that emitted an event, and which of the commit's events it is, from 0."""

    number: int
    ordinal: int

    @property
    def id(self) -> str:
        """The event's id, `commit:ordinal`."""
        return f"{self.number}:{self.ordinal}"


BEGINNING: Final = Position(0, 0)
"""Before every event: the first commit has number 1."""


class Token(NamedTuple):
    """One delivery: the consumer's number, the event's place, and the delivery's fence."""

    consumer: int
    position: Position
    fence: int


def cursor_text(history: str, position: Position) -> str:
    """The cursor after `position`."""
    return f"{history}:{position.number}.{position.ordinal}"


def read_cursor(text: Any, history: str, path: str = "after") -> Position:
    """The position of a cursor; raises `InvalidInput` (`cursor_invalid`) or `HistoryChanged`."""
    match = _CURSOR.fullmatch(text) if isinstance(text, str) else None
    if match is None or int(match[2]) > U64_MAX:
        raise InvalidInput(
            "this is not a cursor of a stream; start without one", path=path, code="cursor_invalid"
        )
    _check_history(match[1], history)
    return Position(int(match[2]), int(match[3]))


def token_text(history: str, token: Token) -> str:
    """The token of a delivery."""
    packed = _DELIVERY.pack(token.consumer, *token.position, token.fence)
    return f"{history}:{base64.urlsafe_b64encode(packed).rstrip(b'=').decode('ascii')}"


def read_token(text: Any, history: str, path: str = "tokens") -> Token:
    """What a delivery token says; raises `InvalidInput` or `HistoryChanged`."""
    match = _TOKEN.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise InvalidInput("this is not a delivery token; send it as it was pulled", path=path)
    _check_history(match[1], history)
    try:
        packed = base64.b64decode(match[2] + "==", altchars=b"-_", validate=True)
    except binascii.Error:
        raise InvalidInput("this is not a delivery token; send it as it was pulled", path=path) from None
    consumer, number, ordinal, fence = _DELIVERY.unpack(packed)
    return Token(consumer, Position(number, ordinal), fence)


def _check_history(given: str, history: str) -> None:
    if given != history:
        raise HistoryChanged("the database was restored since; pull again, or start from an older place")


def read_id(text: Any, path: str = "ids") -> Position:
    """The position of an event's id, `commit:ordinal`; raises `InvalidInput`."""
    number, separator, ordinal = text.partition(":") if isinstance(text, str) else ("", "", "")
    if not (separator and _digits(number, 20) and _digits(ordinal, 10)):
        raise InvalidInput("write an event's id, such as 42:0", path=path)
    return Position(int(number), int(ordinal))


def _digits(text: str, most: int) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= most
