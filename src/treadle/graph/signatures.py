"""Signatures of transition events: the two message forms, their fields, and strict Ed25519.

    v1  shuttle-transition-v1|{run}|{step}|{from}|{to}|{at}|{agent}
    v2  shuttle-transition-v2|{run}|{step}|{from}|{to}|{at}|{agent}|{from_revision}

Messages are UTF-8 text.  docs/formats/signatures.md holds the format and its test vectors.
"""

from __future__ import annotations

import hashlib
import re
from datetime import date
from functools import lru_cache
from typing import Final, NamedTuple

from nacl import bindings
from nacl.exceptions import BadSignatureError

from treadle.errors import Refused

_UNFIT: Final = re.compile(r"[|\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_SPACE: Final = re.compile(r"\s")
_TIME: Final = re.compile(r"(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?Z", re.ASCII)
_REVISION: Final = re.compile(r"0|[1-9][0-9]*")
_KEY: Final = re.compile(r"[0-9a-f]{64}")
_SIGNATURE: Final = re.compile(r"[0-9a-f]{128}")
_NAMES: Final = frozenset(("step", "agent", "from_revision"))


class Transition(NamedTuple):
    """The signed fields of an event, as text.  `from_revision` None makes the v1 message, else v2.

    Attributes:
        run: the run's IRI.
        step: the step's name, see `step_name`.
        from_state, to_state: the states before and after.
        at: the time, `YYYY-MM-DDThh:mm:ss[.f]Z`.
        agent: the agent's name, see `agent_name`.
        from_revision: the run's revision before the step, in canonical decimal.
    """

    run: str
    step: str
    from_state: str
    to_state: str
    at: str
    agent: str
    from_revision: str | None = None

    def ambiguous(self) -> str | None:
        """The name of the first field that the message cannot hold, or None.

        A field is unfit when it is empty, holds `|` or a control character, or, where a name stands
        (step, agent, revision), white space.
        """
        for name, text in zip(self._fields, self, strict=True):
            if text is None:
                continue
            if unfit(text) or (name in _NAMES and _SPACE.search(text)):
                return name
        return None

    def message(self) -> bytes:
        """The bytes that are signed.

        Raises:
            Refused: reason `field_ambiguous`; `field` names the field.
        """
        field = self.ambiguous()
        if field is not None:
            raise Refused(
                f"the field {field} cannot be signed: it is empty, or holds '|', a control character "
                "or, in a name, white space",
                reason="field_ambiguous",
                field=field,
                remedy="choose a value without them",
            )
        texts = [text for text in self if text is not None]
        version = 1 if self.from_revision is None else 2
        return "|".join((f"shuttle-transition-v{version}", *texts)).encode()


def unfit(text: str) -> bool:
    """Whether a text is empty or holds `|` or a control character (Unicode category Cc)."""
    return not text or _UNFIT.search(text) is not None


def unfit_name(text: str) -> bool:
    """Whether a text cannot be a name: unfit, or with white space in it."""
    return unfit(text) or _SPACE.search(text) is not None


def step_name(iri: str) -> str:
    """A step's name: what follows the last `/` of its IRI, byte for byte (or the whole IRI)."""
    return iri.rpartition("/")[2]


def agent_name(iri: str) -> str:
    """An agent's name: what follows the last `:` of its IRI, byte for byte (or the whole IRI)."""
    return iri.rpartition(":")[2]


def is_time(text: str) -> bool:
    """Whether a text is a real time of the form `YYYY-MM-DDThh:mm:ss[.f]Z`."""
    match = _TIME.fullmatch(text)
    if match is None:
        return False
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    try:
        date(year, month, day)
    except ValueError:
        return False
    return hour < 24 and minute < 60 and second < 60


def is_revision(text: str) -> bool:
    """Whether a text is a revision: `0`, or a nonzero digit followed by digits."""
    return _REVISION.fullmatch(text) is not None


def successor(revision: str) -> str:
    """The next revision, as text: revisions have no greatest value and are never made machine integers."""
    head = revision.rstrip("9")
    zeros = "0" * (len(revision) - len(head))
    return f"{head[:-1]}{int(head[-1]) + 1}{zeros}" if head else f"1{zeros}"


def sign(seed: bytes, message: bytes) -> str:
    """The signature of a message as 128 lower-case hex digits.

    Args:
        seed: the private key's 32 bytes (RFC 8032).
        message: what `Transition.message` returns.

    Raises:
        ValueError: the seed has another length.
    """
    if len(seed) != bindings.crypto_sign_SEEDBYTES:
        raise ValueError("an Ed25519 private key has 32 bytes")
    _, secret = bindings.crypto_sign_seed_keypair(seed)
    return bindings.crypto_sign(message, secret)[: bindings.crypto_sign_BYTES].hex()


def verify(public_key: str, signature: str, message: bytes) -> bool:
    """Whether a signature is valid, by strict Ed25519 verification.

    Both are lower-case hex of exact length.  S ≥ L, points in another than their canonical encoding and
    keys of small order are refused (libsodium); everything that is not a valid signature is False, never
    an exception.
    """
    if not _SIGNATURE.fullmatch(signature) or key_problem(public_key) is not None:
        return False
    try:
        bindings.crypto_sign_open(bytes.fromhex(signature) + message, bytes.fromhex(public_key))
    except BadSignatureError:
        return False
    return True


@lru_cache(maxsize=4096)
def key_problem(public_key: str) -> str | None:
    """Why a text is no usable Ed25519 public key, or None.

    Refused: another length or alphabet than 64 lower-case hex digits, an encoding that is not canonical,
    and points outside the prime-order group (small and mixed order), which no signer produces and some
    of which verify every message.
    """
    if not _KEY.fullmatch(public_key):
        return "is not 64 lower-case hex digits"
    if not bindings.crypto_core_ed25519_is_valid_point(bytes.fromhex(public_key)):
        return "is no canonical Ed25519 point of prime order"
    return None


def is_signature(text: str) -> bool:
    """Whether a text is spelled as a signature: 128 lower-case hex digits."""
    return _SIGNATURE.fullmatch(text) is not None


def public_key_of(seed: bytes) -> str:
    """The public key of a 32-byte private key, as 64 lower-case hex digits."""
    public, _ = bindings.crypto_sign_seed_keypair(seed)
    return public.hex()


def event_iri(run: str, from_revision: str, signature: str) -> str:
    """The IRI that a client gives an event: `{run}/event/{revision}-{16 hex}` of the signature's SHA-256.

    It is known before the answer arrives, so a lost answer is resolved by reading, and nobody can guess it
    and take it first.
    """
    return f"{run}/event/{from_revision}-{hashlib.sha256(signature.encode()).hexdigest()[:16]}"
