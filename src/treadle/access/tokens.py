"""Tokens: 32 random bytes that stand for a principal in a role, shown once, stored as a keyed digest.

The stored form never holds the token: it is looked up by its digest under the database's own key, so a
stolen backup gives no token, and a lookup compares nothing that an attacker could time.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final

import msgspec

from treadle.errors import Denied, Malformed
from treadle.model import canonical
from treadle.model.scalars import timestamp_text

SIZE: Final = 32
DOMAIN: Final = "treadle.token/v1"
PREFIX: Final = "token."
"""Tokens are settings of the database: this prefix and the digest in hex."""


class Token(msgspec.Struct, frozen=True):
    """A stored token. `id` names it to people; times are microseconds since 1970 UTC.

    `tenant` is the partition value its holder is bound to ('' for none), `facts` the principal's facts in
    their JSON form. A token with neither `expires` nor `revoked` is valid until it is revoked.
    """

    id: str
    principal: str
    role: str
    tenant: str = ""
    facts: dict[str, Any] = {}
    created: int = 0
    expires: int | None = None
    revoked: int | None = None

    def valid(self, now: int) -> bool:
        """Whether it has neither expired nor been revoked at `now`."""
        return not any(end is not None and end <= now for end in (self.expires, self.revoked))

    def to_json(self) -> dict[str, Any]:
        """The token as JSON-ready values, times in RFC 3339; it holds neither the token's text nor digest."""
        shown: dict[str, Any] = {"id": self.id, "principal": self.principal, "role": self.role}
        shown |= {"tenant": self.tenant or None, "facts": self.facts}
        for name in ("created", "expires", "revoked"):
            time = getattr(self, name)
            shown[name] = None if time is None else timestamp_text(time)
        return shown

    def check(self, now: int) -> None:
        """Raise `Denied` (`unauthenticated`) unless the token is valid at `now`."""
        if not self.valid(now):
            raise refused()


def refused() -> Denied:
    """One answer for a token that is unknown, expired or revoked: which it is helps only an attacker."""
    return Denied("the token is not valid; ask an operator for a new one", code="unauthenticated")


def text_of(secret: bytes) -> str:
    """The form a token is shown and sent in: base64url without padding, 43 characters."""
    return base64.urlsafe_b64encode(secret).rstrip(b"=").decode("ascii")


def digest_of(text: str, key: bytes) -> str:
    """The digest a token is stored under, in hex; raises `Malformed` for what cannot be a token."""
    try:
        secret = base64.b64decode(text.encode("ascii") + b"=", altchars=b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error):
        secret = b""
    if len(secret) != SIZE or text_of(secret) != text:
        raise Malformed(
            "this is not a Treadle token; it has 43 letters, digits, - and _", code="unauthenticated"
        )
    return canonical.keyed(key, DOMAIN, secret).hex()


def encode(token: Token) -> bytes:
    """The stored form."""
    return msgspec.json.encode(token, order="sorted")


def decode(data: bytes) -> Token:
    """The token that `encode` wrote."""
    return msgspec.json.decode(data, type=Token)
