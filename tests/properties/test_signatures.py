"""Messages say one thing only, and signatures hold for exactly what was signed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.effort import effort
from treadle.errors import Refused
from treadle.graph import signatures
from treadle.graph.signatures import Transition

texts = st.text(max_size=6) | st.sampled_from(["a", "a|b", "v1", "0", "10", "", "\n", "\u00a0", "Ünïcode"])
revisions = st.none() | st.integers(0, 30).map(str) | texts
transitions = st.builds(Transition, texts, texts, texts, texts, texts, texts, revisions)
seeds = st.binary(min_size=32, max_size=32)


def message(transition: Transition) -> bytes | None:
    """The message, or None when a field is refused."""
    if transition.ambiguous() is None:
        return transition.message()
    with pytest.raises(Refused) as caught:
        transition.message()
    assert (caught.value.reason, caught.value.field) == ("field_ambiguous", transition.ambiguous())
    return None


@settings(max_examples=effort(300), deadline=None)
@given(transitions, transitions)
def test_two_transitions_never_have_one_message(one: Transition, two: Transition) -> None:
    first, second = message(one), message(two)
    if first is not None and first == second:
        assert one == two


@settings(max_examples=effort(300), deadline=None)
@given(transitions)
def test_a_message_can_be_taken_apart_again(transition: Transition) -> None:
    text = message(transition)
    if text is not None:
        version, *fields = text.decode().split("|")
        assert version == f"shuttle-transition-v{1 if transition.from_revision is None else 2}"
        assert fields == [field for field in transition if field is not None]


@settings(max_examples=effort(60), deadline=None)
@given(seeds, seeds, st.binary(max_size=100), st.binary(max_size=100))
def test_a_signature_holds_for_its_key_and_message_alone(
    seed: bytes, other: bytes, text: bytes, elsewhere: bytes
) -> None:
    signature, key = signatures.sign(seed, text), signatures.public_key_of(seed)
    assert signatures.is_signature(signature)
    assert signatures.key_problem(key) is None
    assert signatures.verify(key, signature, text)
    assert signatures.verify(signatures.public_key_of(other), signature, text) == (seed == other)
    assert signatures.verify(key, signature, elsewhere) == (text == elsewhere)


@settings(max_examples=effort(100), deadline=None)
@given(seeds, st.integers(0, 127), st.integers(1, 15))
def test_no_changed_digit_verifies(seed: bytes, place: int, change: int) -> None:
    signature, key = signatures.sign(seed, b"message"), signatures.public_key_of(seed)
    digit = f"{int(signature[place], 16) ^ change:x}"
    assert not signatures.verify(key, signature[:place] + digit + signature[place + 1 :], b"message")


@settings(max_examples=effort(200), deadline=None)
@given(st.text(max_size=130), st.text(max_size=70), st.binary(max_size=20))
def test_nothing_is_ever_raised(signature: str, key: str, text: bytes) -> None:
    assert signatures.verify(key, signature, text) is False


@settings(max_examples=effort(200), deadline=None)
@given(st.integers(0, 10**40))
def test_revisions_count_without_end(number: int) -> None:
    assert signatures.is_revision(str(number))
    assert signatures.successor(str(number)) == str(number + 1)
