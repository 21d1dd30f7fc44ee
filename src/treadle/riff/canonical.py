"""The canonical source form of a contract, and its identity.

The form is the text of every token, in order, each followed by a line feed; commas that end a list are
left out. Comments, blank space and a byte order mark are not in it, so layout does not change a contract's
identity, and neither does a new release.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from treadle.riff.lalr import END, Token

_DOMAIN: Final = b"treadle riff source 1\n"
_CLOSING: Final = frozenset(("RBRACE", "RPAR", "MORE"))


def canonical_tokens(tokens: Sequence[Token]) -> Iterator[Token]:
    """The tokens without the end and without commas before a closing bracket."""
    for token, after in pairwise(tokens):
        if not (token.kind == "COMMA" and after.kind in _CLOSING):
            yield token


def canonical_source(tokens: Sequence[Token]) -> bytes:
    """The canonical source form; `tokens` end with the end of the text."""
    return b"".join(token.text.encode() + b"\n" for token in canonical_tokens(tokens) if token.kind != END)


def source_identity(tokens: Sequence[Token]) -> str:
    """SHA-256, in hex, over `treadle riff source 1` and a line feed, then the canonical source form."""
    return hashlib.sha256(_DOMAIN + canonical_source(tokens)).hexdigest()
