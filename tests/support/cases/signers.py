"""Who signed: registrations that count, keys, signatures, and their reuse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.support.cases.base import OTHER, Case, Make, moved, renamed
from tests.support.workflows import NAMES, OPERATOR, Release, Request, advancing, key, replaced, text, without
from treadle.graph.terms import IRI, Quad
from treadle.graph.vocabulary import RDF_TYPE


def _unregistered(r: Release) -> Request:
    return advancing(r.submit(), setup=r.plan_quads() | r.run_quads())


def _registered_at_once(r: Release) -> Request:
    request = advancing(r.submit(), setup=r.plan_quads() | r.run_quads())
    request.added |= r.registration_quads()
    return request


def _registered_badly(change: Callable[[Release, set[Quad]], set[Quad]]) -> Make:
    def make(r: Release) -> Request:
        return advancing(r.submit(), setup=r.plan_quads() | r.run_quads() | change(r, r.registration_quads()))

    return make


def _removed_key(r: Release) -> Request:
    """The registration is removed in the request that uses its key: it was committed before, so it counts."""
    request = advancing(r.submit())
    request.removed |= r.registration_quads()
    return request


def _other_agent(r: Release) -> Request:
    setup = r.plan_quads() | r.run_quads() | r.registration_quads(agent=IRI("urn:other:x"))
    return advancing(r.submit(), setup=setup)


def _named_agent(r: Release) -> Request:
    setup = r.plan_quads() | r.run_quads() | r.registration_quads(agent=r.agent)
    return advancing(r.submit(), setup=setup)


def _elsewhere_event(r: Release, performer: IRI) -> set[Quad]:
    other = replace(r, graph=OTHER, prefix=f"{r.prefix}/old")
    advance = replace(other.submit(), performer=performer, signature_text="0" * 128)
    return advance.event_quads()


def _known_as_other(r: Release) -> Request:
    return advancing(r.submit(), setup=r.setup() | _elsewhere_event(r, IRI(f"urn:elsewhere:{r.agent_name}")))


def _planted_as_other(r: Release) -> Request:
    """Other data with `performedBy` takes no name: it is no event."""
    planted = {
        q for q in _elsewhere_event(r, IRI(f"urn:elsewhere:{r.agent_name}")) if q.p == NAMES.performed_by
    }
    return advancing(r.submit(), setup=r.setup() | planted)


def _two_names_at_once(r: Release) -> Request:
    second = IRI(f"{r.prefix}/second-run")
    one = r.submit()
    two = r.submit(run=second, performer=IRI(f"urn:elsewhere:{r.agent_name}"))
    return advancing(one, two, setup=r.setup() | r.run_quads(run=second))


def _two_runs(r: Release) -> Request:
    second = IRI(f"{r.prefix}/second-run")
    return advancing(r.submit(), r.submit(run=second), setup=r.setup() | r.run_quads(run=second))


def _forged(signature: Callable[[str], str]) -> Make:
    return lambda r: advancing(r.submit(signature_text=signature(r.submit().signature)))


def _signed_for(**changes: object) -> Make:
    """An advance with the signature of another one, which differs in one field."""
    return lambda r: advancing(r.submit(signature_text=replace(r.submit(), **changes).signature))  # type: ignore[arg-type]


def _flip(signature: str) -> str:
    return ("1" if signature[0] == "0" else "0") + signature[1:]


def _signature_elsewhere(r: Release) -> Request:
    other = replace(r, graph=OTHER)
    committed = r.submit().event_quads()
    return advancing(r.submit(), setup=r.setup() | other.plan_quads() | moved(committed, OTHER))


def _signature_on_other_data(r: Release) -> Request:
    planted = Quad(IRI(f"{r.prefix}/note"), NAMES.signature, text(r.submit().signature), r.graph)
    return advancing(r.submit(), setup=r.setup() | {planted})


def _same_run_two_graphs(r: Release) -> Request:
    other = replace(r, graph=OTHER)
    one, two = r.submit(), other.submit()
    return advancing(one, two, setup=r.setup() | other.plan_quads() | other.run_quads())


def _rotated_key(r: Release) -> Request:
    old = replaced(
        renamed(r.registration_quads(), r.registration, IRI(f"{r.prefix}/old-registration")),
        NAMES.public_key,
        text(key("old key")),
    )
    return advancing(r.submit(), setup=r.setup() | old)


def _without_key_beside(r: Release) -> Request:
    keyless = without(
        renamed(r.registration_quads(), r.registration, IRI(f"{r.prefix}/keyless")), NAMES.public_key
    )
    return advancing(r.submit(), setup=r.setup() | keyless)


_Change = Callable[[Release, set[Quad]], set[Quad]]
_UNUSABLE: list[tuple[str, _Change]] = [
    ("attests another plan", lambda r, q: replaced(q, NAMES.attests, IRI("http://example.org/third/plan"))),
    ("another agent", lambda r, q: replaced(q, NAMES.verifier, text("bob"))),
    ("no key", lambda r, q: without(q, NAMES.public_key)),
    ("no type", lambda r, q: without(q, RDF_TYPE)),
    ("two keys", lambda r, q: q | r.about(r.registration, (NAMES.public_key, text(key("x"))))),
    ("two verifiers", lambda r, q: q | r.about(r.registration, (NAMES.verifier, text("bob")))),
    ("in two graphs", lambda r, q: q | moved(q, OTHER)),
    (
        "the key in another graph",
        lambda r, q: {x._replace(g=OTHER) if x.p == NAMES.public_key else x for x in q},
    ),
    ("a small-order key", lambda r, q: replaced(q, NAMES.public_key, text("01" + "00" * 31))),
    ("an upper-case key", lambda r, q: replaced(q, NAMES.public_key, text(key(r.agent_name).upper()))),
]

SIGNERS = [
    Case("signer_unregistered", "no registration", _unregistered, "aegis:performedBy"),
    Case("signer_unregistered", "registered in the same request", _registered_at_once, "aegis:performedBy"),
    *(
        Case("signer_unregistered", label, _registered_badly(change), "aegis:performedBy")
        for label, change in _UNUSABLE
    ),
    Case(
        "signer_unregistered",
        "registered outside the identity graphs",
        lambda r: advancing(r.submit()),
        "aegis:performedBy",
        replace(OPERATOR, identity_graphs=frozenset([IRI("http://example.org/identity")])),
    ),
    Case(
        None,
        "registered in an identity graph",
        _registered_badly(lambda r, q: moved(q, IRI("http://example.org/identity"))),
        context=replace(OPERATOR, identity_graphs=frozenset([IRI("http://example.org/identity")])),
    ),
    Case(
        None,
        "attests as text",
        _registered_badly(lambda r, q: replaced(q, NAMES.attests, text(r.plan.value))),
    ),
    Case(
        None,
        "attests several plans",
        _registered_badly(lambda r, q: q | r.about(r.registration, (NAMES.attests, IRI("urn:x:p")))),
    ),
    Case(None, "the registration goes in the same request", _removed_key),
    Case("signer_mismatch", "registered under another IRI", _other_agent, "aegis:performedBy"),
    Case("signer_mismatch", "known under another IRI", _known_as_other, "aegis:performedBy"),
    Case("signer_mismatch", "two IRIs of one name at once", _two_names_at_once, "aegis:performedBy"),
    Case(None, "registered under this IRI", _named_agent),
    Case(None, "other data performed by another IRI", _planted_as_other),
    Case(None, "two runs at once", _two_runs),
    *(
        Case("signature_invalid", label, _forged(change), "aegis:signature")
        for label, change in (
            ("one digit changed", _flip),
            ("upper case", str.upper),
            ("too short", lambda s: s[:-2]),
            ("too long", lambda s: s + "00"),
            ("no hex", lambda s: "x" + s[1:]),
            ("empty", lambda s: ""),
            ("all zero", lambda s: "0" * 128),
        )
    ),
    *(
        Case(
            "signature_invalid",
            f"signed for another {label}",
            _signed_for(**{field: value}),
            "aegis:signature",
        )
        for label, field, value in (
            ("run", "run", IRI("http://example.org/other")),
            ("step", "step", IRI("http://example.org/a/step/other")),
            ("start", "from_state", "Review"),
            ("end", "to_state", "Draft"),
            ("time", "at", "2026-11-30T20:00:01Z"),
            ("agent", "performer", IRI("urn:agent:bob")),
            ("revision", "from_revision", "1"),
            ("key", "signer", b"\x01" * 32),
        )
    ),
    Case("signature_reused", "in another graph", _signature_elsewhere, "aegis:signature"),
    Case("signature_reused", "one run in two graphs at once", _same_run_two_graphs, "aegis:signature"),
    Case(None, "the signature on other data", _signature_on_other_data),
    Case(None, "a second registered key", _rotated_key),
    Case(None, "a registration without key beside", _without_key_beside),
]
