"""Tokens: their text, their digest, when they are valid, what may be shown of them."""

from __future__ import annotations

import pytest

from treadle.access import tokens
from treadle.access.tokens import Token
from treadle.errors import Denied, Malformed

KEY, SECRET = bytes(32), bytes(range(32))
TEXT = tokens.text_of(SECRET)


def test_the_text_is_43_letters_and_the_digest_depends_on_the_key() -> None:
    assert len(TEXT) == 43 and TEXT.isascii()
    digest = tokens.digest_of(TEXT, KEY)
    assert len(digest) == 64 and SECRET.hex() not in digest
    assert tokens.digest_of(TEXT, bytes([1]) * 32) != digest


@pytest.mark.parametrize(
    "text",
    ["", "x", TEXT + "A", TEXT[:-1], TEXT + "=", TEXT[:-1] + "\n", TEXT[:-1] + "!", "é" * 43, "A" * 10**6,
     "\0" * 43, TEXT[:-1] + chr(ord(TEXT[-1]) + 1), " " + TEXT],
)  # fmt: skip
def test_what_is_no_token_is_refused_without_a_look(text: str) -> None:
    with pytest.raises(Malformed, match="not a Treadle token") as error:
        tokens.digest_of(text, KEY)
    assert error.value.code == "unauthenticated" and error.value.status == 401
    assert not text or text not in str(error.value)


@pytest.mark.parametrize(
    "token, valid",
    [
        (Token("i", "p", "r"), True),
        (Token("i", "p", "r", expires=11), True),
        (Token("i", "p", "r", expires=10), False),
        (Token("i", "p", "r", revoked=10), False),
        (Token("i", "p", "r", expires=99, revoked=9), False),
    ],
)
def test_at_its_expiry_a_token_has_ended(token: Token, valid: bool) -> None:
    assert token.valid(10) is valid
    if not valid:
        with pytest.raises(Denied) as error:
            token.check(10)
        assert str(error.value) == str(tokens.refused())


def test_the_stored_form_comes_back_and_holds_no_secret() -> None:
    token = Token("i", "p", "r", "acme", {"region": "north"}, 1, 2, 3)
    assert tokens.decode(tokens.encode(token)) == token
    assert TEXT.encode() not in tokens.encode(token)


def test_what_is_shown() -> None:
    shown = Token("i", "p", "r", created=1_700_000_000_000_000).to_json()
    assert shown == {
        "id": "i", "principal": "p", "role": "r", "tenant": None, "facts": {},
        "created": "2023-11-14T22:13:20Z", "expires": None, "revoked": None,
    }  # fmt: skip
