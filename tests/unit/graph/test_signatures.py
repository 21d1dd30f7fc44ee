"""Messages, signatures and keys, against the vectors that docs/formats/signatures.md publishes."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.support.shared import ROOT
from treadle.errors import Refused
from treadle.graph import signatures
from treadle.graph.signatures import Transition, agent_name, event_iri, step_name

PAGE = (ROOT / "docs" / "formats" / "signatures.md").read_text(encoding="utf-8")
VECTORS: dict[str, Any] = {}
for block in re.findall(r"```json\n(.*?)\n```", PAGE, re.DOTALL):
    VECTORS.update(json.loads(block))
SIGNED = VECTORS["signatures"]
KEYS = VECTORS["keys"]
SOUND = Transition("http://example.org/r", "submit", "Draft", "Review", "2026-11-30T20:00:00Z", "alice", "0")


def transition(vector: dict[str, Any]) -> Transition:
    names = ("run", "step", "from", "to", "at", "agent", "from_revision")
    return Transition._make(vector.get(name) for name in names)


def test_the_page_has_all_vectors() -> None:
    assert {vector["version"] for vector in SIGNED} == {1, 2}
    assert len(SIGNED) >= 8
    assert len(VECTORS["refused_keys"]) >= 14
    assert len(VECTORS["refused_signatures"]) >= 10


@pytest.mark.parametrize("vector", SIGNED, ids=lambda v: v["message"])
def test_a_published_vector(vector: dict[str, Any]) -> None:
    own, other = KEYS[vector["key"]], next(k for name, k in KEYS.items() if name != vector["key"])
    message = transition(vector).message()
    assert message == vector["message"].encode()
    assert signatures.sign(bytes.fromhex(own["private"]), message) == vector["signature"]
    assert signatures.verify(own["public"], vector["signature"], message)
    assert not signatures.verify(other["public"], vector["signature"], message)
    assert not signatures.verify(own["public"], vector["signature"], message + b" ")
    if vector["version"] == 2:
        assert event_iri(vector["run"], vector["from_revision"], vector["signature"]) == vector["event"]


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_public_keys_follow_from_the_private_ones(key: dict[str, str]) -> None:
    assert signatures.public_key_of(bytes.fromhex(key["private"])) == key["public"]
    assert signatures.key_problem(key["public"]) is None


@pytest.mark.parametrize("vector", VECTORS["refused_keys"], ids=lambda v: v["why"])
def test_a_bad_key_is_refused(vector: dict[str, str]) -> None:
    assert signatures.key_problem(vector["public"]) is not None
    forged = VECTORS["refused_everywhere"]["signature"]
    for signature in (forged, "0" * 128, SIGNED[0]["signature"]):
        assert not signatures.verify(vector["public"], signature, b"any message")


@pytest.mark.parametrize(
    "text", ["", "0" * 63, "0" * 65, "G" * 64, "é" * 64, "٠" * 64, KEYS["bob"]["public"] + "\n"]
)
def test_a_malformed_key_is_refused(text: str) -> None:
    assert signatures.key_problem(text) == "is not 64 lower-case hex digits"
    assert not signatures.verify(text, SIGNED[0]["signature"], b"")


@pytest.mark.parametrize("vector", VECTORS["refused_signatures"], ids=lambda v: v["why"])
def test_a_bad_signature_does_not_verify(vector: dict[str, str]) -> None:
    public = KEYS[vector["key"]]["public"]
    assert not signatures.verify(public, vector["signature"], vector["message"].encode())


@pytest.mark.parametrize("vector", VECTORS["refused_fields"], ids=lambda v: f"{v['field']} {v['value']!r}")
def test_an_ambiguous_field_is_refused(vector: dict[str, str]) -> None:
    changed = SOUND._replace(**{vector["field"]: vector["value"]})
    with pytest.raises(Refused) as caught:
        changed.message()
    assert (caught.value.reason, caught.value.field) == ("field_ambiguous", vector["field"])


def test_states_may_hold_spaces_and_names_any_letters() -> None:
    changed = SOUND._replace(from_state="In review", to_state="Veröffentlicht", step="100%25", agent="李")
    assert changed.message().endswith("|100%25|In review|Veröffentlicht|2026-11-30T20:00:00Z|李|0".encode())


@pytest.mark.parametrize(
    "iri, step, agent",
    [
        ("http://example.org/step/submit", "submit", "//example.org/step/submit"),
        ("urn:agent:alice", "urn:agent:alice", "alice"),
        ("http://example.org/", "", "//example.org/"),
        ("urn:agent:", "urn:agent:", ""),
        ("urn:a/b:c%2Fd", "b:c%2Fd", "c%2Fd"),
    ],
)
def test_names_are_what_follows_the_last_separator(iri: str, step: str, agent: str) -> None:
    assert (step_name(iri), agent_name(iri)) == (step, agent)


@pytest.mark.parametrize(
    "text", ["2026-11-30T20:00:00Z", "2024-02-29T00:00:00.5Z", "0001-01-01T23:59:59.123456789Z"]
)
def test_a_time(text: str) -> None:
    assert signatures.is_time(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-11-30",
        "2026-11-30T20:00Z",
        "2026-11-30T20:00:00",
        "2026-11-30T20:00:00z",
        "2026-11-30T20:00:60Z",
        "2026-11-30T20:60:00Z",
        "2026-11-30T24:00:00Z",
        "2023-02-29T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-11-30T20:00:00.Z",
        "2026-11-30T20:00:00+00:00",
        " 2026-11-30T20:00:00Z",
        "2026-11-30T20:00:00Z\n",
        "２０２６-11-30T20:00:00Z",
        "12026-11-30T20:00:00Z",
    ],
)
def test_no_time(text: str) -> None:
    assert not signatures.is_time(text)


@pytest.mark.parametrize("text", ["0", "1", "10", "9" * 5000])
def test_a_revision(text: str) -> None:
    assert signatures.is_revision(text)


@pytest.mark.parametrize("text", ["", "00", "01", "-1", "+1", "1.0", "1e3", " 1", "1\n", "١", "x"])
def test_no_revision(text: str) -> None:
    assert not signatures.is_revision(text)


@pytest.mark.parametrize("number", [0, 1, 8, 9, 10, 19, 99, 100, 199, 999, 10**18, 2**63 - 1, 2**64 - 1])
def test_the_next_revision(number: int) -> None:
    assert signatures.successor(str(number)) == str(number + 1)


def test_revisions_have_no_greatest_value() -> None:
    assert signatures.successor("9" * 5000) == "1" + "0" * 5000


def test_a_seed_has_32_bytes() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        signatures.sign(b"short", b"message")
