"""Who sends a request: a token becomes a caller.

A token is looked up by its digest under the database's key. What was found is kept until the database's
state changes, and its times are looked at on every request. Whatever writes is checked again in the batch,
at the sealed time; whatever reads is checked again beside its snapshot.
"""

from __future__ import annotations

import hmac
from base64 import b64decode
from typing import Final

from treadle.access import tokens
from treadle.access.caller import Caller
from treadle.engine import grants
from treadle.engine.core import Engine
from treadle.engine.grants import Known
from treadle.errors import Denied, Malformed

KEPT: Final = 4_096
SCHEME: Final = b"bearer "
BASIC: Final = b"basic "
OWNER: Final = Caller("owner")
"""Who holds the throw-away token, and who calls a server that was opened to its own machine."""


class Authenticator:
    """Finds the caller of a token.

    `throwaway` is a token of this process alone, which stands for the owner; `open_owner` takes a request
    without a token as the owner's.
    """

    def __init__(self, engine: Engine, *, throwaway: str | None = None, open_owner: bool = False) -> None:
        self._engine = engine
        self._throwaway = throwaway.encode() if throwaway else None
        self._open_owner = open_owner
        self._known: dict[str, Known] = {}

    def quick(self, header: bytes | None) -> Caller | None:
        """The caller, where it is known without asking the store; None where `look_up` must be called.

        Raises `Denied` or `Malformed`, both `unauthenticated`.
        """
        if header is None:
            if self._open_owner:
                return OWNER
            raise Denied("send a token: Authorization: Bearer TOKEN", code="unauthenticated")
        text = token_of(header)
        if self._throwaway is not None and hmac.compare_digest(text.encode(), self._throwaway):
            return OWNER
        state = self._engine.state
        known = self._known.get(tokens.digest_of(text, state.digests.current))
        if known is None or known.generation != state.generation:
            return None
        known.token.check(self._engine.clock.now())
        return known.caller

    def look_up(self, header: bytes) -> Caller:
        """The caller, from the store. Raises `Denied` or `Malformed`, both `unauthenticated`."""
        text = token_of(header)
        state = self._engine.refresh()
        with self._engine.store.read() as tx:
            known = grants.look_up(tx, state, text)
        known.token.check(self._engine.clock.now())
        if len(self._known) >= KEPT:
            self._known.clear()
        if known.caller.token is not None:
            self._known[known.caller.token] = known
        return known.caller


def token_of(header: bytes) -> str:
    """The token of an Authorization header; raises `Malformed` (`unauthenticated`) for any other header.

    SPARQL's clients send user and password (Basic); the password is the token, whatever the user is called.
    """
    try:
        if header[: len(SCHEME)].lower() == SCHEME:
            return header[len(SCHEME) :].strip(b" ").decode("ascii")
        if header[: len(BASIC)].lower() == BASIC:
            pair = b64decode(header[len(BASIC) :].strip(b" "), validate=True)
            return pair.partition(b":")[2].decode("ascii")
    except ValueError:
        raise Malformed(
            "this is not a Treadle token; it has 43 letters, digits, - and _", code="unauthenticated"
        ) from None
    raise Malformed(
        "Authorization must be: Bearer TOKEN, or Basic with the token as password", code="unauthenticated"
    )
