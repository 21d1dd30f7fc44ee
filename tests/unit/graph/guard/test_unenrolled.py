"""Where processing is not enforced: nothing is asked, or only that events are signed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.workflows import (
    AT,
    NAMES,
    OPERATOR,
    Release,
    Request,
    key,
    number,
    replaced,
    seed,
    text,
    without,
)
from treadle.graph import signatures
from treadle.graph.delta import Respelled
from treadle.graph.guard import Context, Refusal, Verdict
from treadle.graph.signatures import Transition
from treadle.graph.terms import IRI, XSD_DATETIME, Literal, Quad, Term
from treadle.graph.vocabulary import ENDED_AT, LABEL, RDF_TYPE

OFF = replace(OPERATOR, enrolled=False)
SIGNED = replace(OFF, verify_transitions=True)
R = Release()
EVENT = IRI("http://example.org/a/old-event")


def v1(*, at: Term | None = None, signed_at: str = AT, agent: str | None = None, **changes: str) -> set[Quad]:
    """An event of version 1, signed by the agent over the time as it was written."""
    name = R.agent_name
    plain = Transition(R.run.value, "submit", "Draft", "Review", signed_at, name)._replace(**changes)
    signature = signatures.sign(seed(name), plain.message())
    return R.about(
        EVENT,
        (RDF_TYPE, NAMES.event),
        (NAMES.in_run, R.run),
        (NAMES.at_step, R.step("submit")),
        (NAMES.from_state, text("Draft")),
        (NAMES.to_state, text("Review")),
        (ENDED_AT, at or text(signed_at)),
        (NAMES.performed_by, R.agent if agent is None else IRI(agent)),
        (NAMES.signature, text(signature)),
    )


def judged(
    added: set[Quad], *, removed: set[Quad] | None = None, setup: set[Quad] | None = None
) -> Verdict | Refusal:
    return Request(R.setup() if setup is None else setup, removed or set(), added).judge(SIGNED)


def reason(answer: Verdict | Refusal) -> str | None:
    return answer.reason if isinstance(answer, Refusal) else None


def test_everything_passes_while_both_are_off() -> None:
    nonsense = {
        Quad(R.run, NAMES.current_state, text("anything"), None),
        Quad(EVENT, RDF_TYPE, NAMES.event, None),
        Quad(R.plan, NAMES.initial_state, number(3), None),
    }
    request = Request(R.setup(), R.run_quads(), nonsense)
    assert request.judge(OFF) == Verdict()


@pytest.mark.parametrize("context", [OFF, SIGNED, OPERATOR], ids=["off", "signed", "enrolled"])
def test_registrations_need_the_permission_in_every_mode(context: Context) -> None:
    request = Request(R.plan_quads(), set(), R.registration_quads())
    answer = request.judge(replace(context, identity=False))
    assert reason(answer) == "registration_forbidden"
    accepted = request.judge(context)
    assert isinstance(accepted, Verdict)
    assert [entry.subject for entry in accepted.registrations] == [R.registration]


def test_a_version_1_event_passes_without_moving_its_run() -> None:
    assert judged(v1()) == Verdict()


def test_a_version_2_event_passes_too() -> None:
    assert judged(R.submit().event_quads()) == Verdict()


@pytest.mark.parametrize(
    "predicate", [NAMES.in_run, NAMES.at_step, NAMES.from_state, ENDED_AT, NAMES.performed_by]
)
def test_a_missing_field_is_refused(predicate: IRI) -> None:
    assert reason(judged(without(v1(), predicate))) == "event_incomplete"


def test_a_version_2_event_needs_its_revision() -> None:
    assert reason(judged(without(R.submit().event_quads(), NAMES.from_revision))) == "event_incomplete"


def test_an_unsigned_event_is_refused() -> None:
    assert reason(judged(without(v1(), NAMES.signature))) == "event_unsigned"


def test_stripping_a_signature_is_refused() -> None:
    event = v1()
    signature = event - without(event, NAMES.signature)
    assert reason(judged(set(), removed=signature, setup=R.setup() | event)) == "event_unsigned"


def test_removing_an_event_is_not_asked_about() -> None:
    event = v1()
    assert judged(set(), removed=event, setup=R.setup() | event) == Verdict()


def test_changing_a_signed_field_is_refused() -> None:
    event = v1()
    old = event - without(event, NAMES.to_state)
    new = {Quad(EVENT, NAMES.to_state, text("Released"), None)}
    assert reason(judged(new, removed=old, setup=R.setup() | event)) == "signature_invalid"


def test_a_label_on_a_signed_event_is_free() -> None:
    assert judged({Quad(EVENT, LABEL, text("old"), None)}, setup=R.setup() | v1()) == Verdict()


def test_a_version_1_signature_does_not_serve_version_2() -> None:
    event = v1() | R.about(EVENT, (NAMES.transition_version, number(2)), (NAMES.from_revision, number(0)))
    assert reason(judged(event)) == "signature_invalid"


def test_a_version_2_signature_does_not_serve_version_1() -> None:
    event = without(R.submit().event_quads(), NAMES.transition_version)
    assert reason(judged(event)) == "signature_invalid"


def test_other_fields_than_the_signed_ones_are_refused() -> None:
    assert reason(judged(v1(to_state="Released"))) == "signature_invalid"


def test_the_key_must_be_registered_before() -> None:
    setup = R.plan_quads() | R.run_quads()
    assert reason(judged(v1(), setup=setup)) == "signer_unregistered"
    assert reason(judged(v1() | R.registration_quads(), setup=setup)) == "signer_unregistered"
    other = replaced(R.registration_quads(), NAMES.public_key, text(key("somebody else")))
    assert reason(judged(v1(), setup=setup | other)) == "signature_invalid"


def test_the_registration_may_bind_the_agents_iri() -> None:
    setup = R.plan_quads() | R.run_quads() | R.registration_quads(agent=IRI("urn:other:agent"))
    assert reason(judged(v1(), setup=setup)) == "signer_mismatch"


def test_a_run_of_no_definition_has_no_signers() -> None:
    setup = R.plan_quads() | R.registration_quads()
    assert reason(judged(v1(), setup=setup)) == "signer_unregistered"


def test_an_ambiguous_field_is_refused() -> None:
    event = replaced(v1(), NAMES.to_state, text("Re|view"))
    assert reason(judged(event)) == "field_ambiguous"


def test_the_time_is_read_as_it_was_written() -> None:
    written, stored = "2026-11-30T20:00:00+00:00", "2026-11-30T20:00:00Z"
    quads = v1(at=Literal(stored, XSD_DATETIME), signed_at=written)
    quad = Quad(EVENT, ENDED_AT, Literal(stored, XSD_DATETIME), None)
    evidence = Respelled("insert", quad._replace(o=Literal(written, XSD_DATETIME)), quad)
    request = Request(R.setup(), set(), quads)
    assert reason(request.judge(SIGNED)) == "signature_invalid"
    assert replace(request, respelled=(evidence,)).judge(SIGNED) == Verdict()
