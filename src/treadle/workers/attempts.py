"""The identity of a business attempt: what is to be done, to what, for which occasion.

Everybody who works off the same occasion computes the same idempotency keys, so that a command of the attempt
is carried out once, whoever comes to it and how often. The bytes and a test vector are in
docs/formats/attempts.md.
"""

from __future__ import annotations

import hashlib
import struct
import uuid
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from treadle.errors import InvalidInput, check
from treadle.limits import U64_MAX

DOMAIN: Final = b"riffdb.scheduled-attempt/v1"
HASH_PREFIX: Final = b"RIFFDB-HASH\x00\x01"
COMPONENTS: Final = 8
TARGET_BYTES: Final = 1_024

QUERY: Final = 1
EVENTS: Final = 2
SCHEDULE: Final = 3

_CLAIM: Final = 1
_BUSINESS: Final = 2
_RELEASE: Final = 3

Component = uuid.UUID | str | int
"""A part of the target: a uuid, a text, or a number from 0 to 2^64 - 1."""

NANOSECONDS: Final = 1_000
"""In a microsecond."""


class Due(NamedTuple):
    """The occasion: seconds since 1970 and nanoseconds."""

    seconds: int = 0
    nanoseconds: int = 0

    @staticmethod
    def of(microseconds: int, more: int = 0) -> Due:
        """The occasion of a time in microseconds; `more` nanoseconds (below 1000) tell equal times apart."""
        seconds, rest = divmod(microseconds, 1_000_000)
        return Due(seconds, rest * NANOSECONDS + more)


class Attempt(NamedTuple):
    """A business attempt. `source` is QUERY, EVENTS or SCHEDULE, `operation` the query, event or command.

    `module_hash` is 32 bytes: of the query's text, the identity of the contract that emitted the event, or
    zeros for a schedule, whose name and time are enough.
    """

    schedule: str
    source: int
    module_hash: bytes
    operation: str
    due: Due
    target: tuple[Component, ...]

    def business(self, command: str) -> str:
        """The key under which the attempt carries out `command`."""
        return _key(self, self.target, bytes((_BUSINESS,)) + _text(command))

    def claim(self, ordinal: int, *observed: int) -> str:
        """The key of one claim: of delivery `ordinal`, on what was `observed` then."""
        return _key(self, (*self.target, *observed), bytes((_CLAIM, ordinal)))

    def release(self, ordinal: int, *observed: int) -> str:
        """The key of the release of the same claim."""
        return _key(self, (*self.target, *observed), bytes((_RELEASE, ordinal)))


def component(value: Any) -> Component:
    """A value of a key as a part of the target; what is no uuid, text or number is its text."""
    if isinstance(value, uuid.UUID | str):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= U64_MAX:
        return value
    return str(value)


def derived(key: str, name: str) -> str:
    """A key for something that is done once under another key, such as what follows a claim."""
    return "sched_" + hashlib.sha256(f"{key}:{name}".encode()).hexdigest()


def _key(attempt: Attempt, target: tuple[Component, ...], kind: bytes) -> str:
    payload = b"".join(
        (
            b"\x01",
            _text(attempt.schedule),
            bytes((attempt.source,)),
            attempt.module_hash,
            _text(attempt.operation),
            struct.pack(">qI", *attempt.due),
            _target(target),
            kind,
        )
    )
    check(len(attempt.module_hash) == 32, "a module hash has 32 bytes")
    framed = HASH_PREFIX + struct.pack(">H", len(DOMAIN)) + DOMAIN + struct.pack(">Q", len(payload)) + payload
    return "sched_" + hashlib.sha256(framed).hexdigest()


def _text(text: str) -> bytes:
    raw = text.encode()
    return struct.pack(">I", len(raw)) + raw


def _target(target: Iterable[Component]) -> bytes:
    parts = [_component(part) for part in target]
    size = sum(len(part) for part in parts)
    if len(parts) > COMPONENTS or size > TARGET_BYTES:
        raise InvalidInput(
            f"what identifies an item has at most {COMPONENTS} parts of {TARGET_BYTES} bytes together, "
            f"not {len(parts)} of {size}",
            path="key",
        )
    return bytes((len(parts),)) + b"".join(parts)


def _component(part: Component) -> bytes:
    if isinstance(part, uuid.UUID):
        return b"\x01" + part.bytes
    if isinstance(part, str):
        return b"\x02" + _text(part)
    return b"\x03" + struct.pack(">Q", part)
