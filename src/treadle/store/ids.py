"""The operating system's dice: time-ordered UUIDs and unpredictable bytes."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable
from typing import Final

from treadle.ports.clock import Ids

_MILLISECONDS: Final = 48
_TAIL: Final = 62
_MOST: Final = (1 << _MILLISECONDS) * 1000 - 1


class SystemIds:
    """UUID version 7 (RFC 9562): milliseconds, twelve bits of the microsecond, 62 random bits.

    Within a process ids only grow, also when `now` stands still or goes back: then the last id's random
    part is raised by a random step. `draw` gives random bytes; tests hand in their own.
    """

    def __init__(self, draw: Callable[[int], bytes] = os.urandom) -> None:
        self._draw = draw
        self._lock = threading.Lock()
        self._head = -1  # the 60 bits that come of the time
        self._tail = 0

    def uuid7(self, now: int) -> bytes:
        """A new id (16 bytes) for the time `now`, in microseconds since 1970; earlier times count as 1970."""
        milliseconds, rest = divmod(min(max(now, 0), _MOST), 1000)
        head = milliseconds << 12 | rest * 4096 // 1000
        with self._lock:
            if head > self._head:
                self._head = head
                self._tail = self._random(_TAIL - 1)  # half of the range is left for the steps
            else:
                self._step()
            head, tail = self._head, self._tail
        value = head >> 12 << 80 | 0x7 << 76 | (head & 0xFFF) << 64 | 0b10 << _TAIL | tail
        return value.to_bytes(16, "big")

    def _step(self) -> None:
        # 48 random bits: two processes that share a state after a fork still part at once.
        self._tail += 1 + self._random(48)
        if self._tail >> _TAIL:
            self._head += 1
            self._tail = self._random(_TAIL - 1)

    def _random(self, bits: int) -> int:
        return int.from_bytes(self._draw(8), "big") >> (64 - bits)

    def token(self, size: int) -> bytes:
        """`size` unpredictable bytes."""
        return self._draw(size)


def fresh_key() -> str:
    """An idempotency key nobody has used: 22 URL-safe characters from 128 random bits."""
    return secrets.token_urlsafe(16)


_IS_IDS: Final[type[Ids]] = SystemIds
