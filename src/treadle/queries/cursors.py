"""Cursors: where the next page begins, as opaque text that only its own query and caller can use.

A cursor holds the history incarnation, the commit that its page saw, and the place in the order. It is
encrypted and authenticated (AES-SIV, RFC 5297) under a key made from the database's digest key, bound to
the query's identity, the parameters and the caller. So nobody reads in it the order key of a row that was
hidden from them, and nobody makes or changes one. The same place gives the same text.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final, NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from treadle import limits
from treadle.access.caller import Caller
from treadle.engine.state import DigestKeys, State
from treadle.errors import HistoryChanged, InvalidInput, TooLarge
from treadle.model import canonical, packing
from treadle.model.facts import Cells

_DOMAIN: Final = "treadle.cursor/v1"
_FORM: Final = b"\x01"


class Place(NamedTuple):
    """Where a page ended: the last cells in the order, and the commit that it saw."""

    commit: int
    cells: Cells


class Binding(NamedTuple):
    """What a cursor belongs to. `parameters` are their canonical bytes."""

    identity: bytes
    parameters: bytes
    caller: Caller

    def data(self) -> list[bytes]:
        """The associated data."""
        caller = packing.pack((self.caller.principal, self.caller.role, self.caller.tenant))
        return [_FORM, self.identity, self.parameters, caller]


def write(place: Place, binding: Binding, state: State) -> str:
    """The cursor of a place; raises `TooLarge` where the order's cells are longer than a cursor may be."""
    plain = packing.pack((state.incarnation, place.commit, *place.cells))
    sealed = _cipher(state.digests.current).encrypt(plain, binding.data())
    if len(sealed) > limits.CURSOR_BYTES:
        message = f"a cursor holds {limits.CURSOR_BYTES:,} bytes of the fields that rows are ordered by"
        raise TooLarge(f"{message}; order by shorter ones")
    return base64.urlsafe_b64encode(_FORM + sealed).rstrip(b"=").decode("ascii")


def read(text: str, binding: Binding, state: State) -> Place:
    """The place of a cursor.

    Raises `InvalidInput` (`cursor_invalid`) for a text that is no cursor of this query, these parameters and
    this caller, `HistoryChanged` for one from before a restore.
    """
    sealed = _sealed(text)
    plain = _opened(sealed, binding, state.digests)
    if plain is None:
        raise _refused()
    incarnation, commit, *cells = packing.unpack(plain)
    if incarnation != state.incarnation:
        raise HistoryChanged(
            "the database was restored since this cursor was made; start from the first page"
        )
    return Place(commit, tuple(cells))


def _sealed(text: Any) -> bytes:
    if not isinstance(text, str) or len(text) > 2 * limits.CURSOR_BYTES:
        raise _refused()
    try:
        raw = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error):
        raise _refused() from None
    if not raw.startswith(_FORM):
        raise _refused()
    return raw[1:]


def _opened(sealed: bytes, binding: Binding, digests: DigestKeys) -> bytes | None:
    for key in digests.readable:
        try:
            return _cipher(key).decrypt(sealed, binding.data())
        except (InvalidTag, ValueError):
            continue
    return None


def _cipher(key: bytes) -> AESSIV:
    halves = [canonical.keyed(key, _DOMAIN, half) for half in (b"mac", b"encryption")]
    return AESSIV(b"".join(halves))


def _refused() -> InvalidInput:
    return InvalidInput(
        "this cursor belongs to another query, other parameters or another caller; start from the first page",
        path="after",
        code="cursor_invalid",
    )
