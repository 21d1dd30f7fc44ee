"""Time and ids, as the engine asks for them."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """The store's clock."""

    def now(self) -> int:
        """The time now, in microseconds since 1970 UTC."""

    @property
    def manual(self) -> bool:
        """True for a test clock; the log says so."""


class Ids(Protocol):
    """Fresh identifiers."""

    def uuid7(self, now: int) -> bytes:
        """A new UUID version 7 (16 bytes) for the time `now`, in microseconds."""

    def token(self, size: int) -> bytes:
        """`size` unpredictable bytes."""
