"""Registrations: who may write them, and that they are whole."""

from __future__ import annotations

from dataclasses import replace

from tests.support.cases.base import COMMENT, OTHER, Case, Make, adding, moved, removing, renamed
from tests.support.workflows import NAMES, OPERATOR, Release, Request, advancing, key, replaced, text
from treadle.graph.terms import IRI, XSD, BlankNode, Literal, Quad
from treadle.graph.vocabulary import RDF_TYPE

STRANGER = replace(OPERATOR, identity=False)


def _register(r: Release) -> Request:
    return adding(r.plan_quads(), *r.registration_quads())


def _with(predicate: IRI, *values: Literal | IRI | BlankNode) -> Make:
    return lambda r: adding(r.plan_quads(), *replaced(r.registration_quads(), predicate, *values))


def _planted_key(r: Release) -> Request:
    return adding(r.setup(), Quad(IRI(f"{r.prefix}/note"), NAMES.public_key, text("x"), r.graph))


def _type_removed(r: Release) -> Request:
    return removing(r.setup(), Quad(r.registration, RDF_TYPE, NAMES.registration, r.graph))


def _second_graph(r: Release) -> Request:
    return adding(r.setup(), Quad(r.registration, NAMES.attests, IRI("http://example.org/b"), OTHER))


def _moved_in_two_graphs(r: Release) -> Request:
    return adding(r.plan_quads(), *r.registration_quads(), *moved(r.registration_quads(), OTHER))


def _verifier_removed(r: Release) -> Request:
    return removing(r.setup(), Quad(r.registration, NAMES.verifier, text(r.agent_name), r.graph))


def _registration_removed(r: Release) -> Request:
    return removing(r.setup(), *r.registration_quads())


def _registration_moved(r: Release) -> Request:
    gone = r.registration_quads()
    return Request(r.setup(), gone, moved(gone, OTHER))


def _annotated_elsewhere(r: Release) -> Request:
    return adding(r.setup(), Quad(r.registration, COMMENT, text("rotated"), OTHER))


def _planted_then_typed(r: Release) -> Request:
    typed = Quad(r.registration, RDF_TYPE, NAMES.registration, r.graph)
    return adding(r.plan_quads() | (r.registration_quads() - {typed}), typed)


def _rotated(r: Release) -> Request:
    second = renamed(r.registration_quads(), r.registration, IRI(f"{r.prefix}/registration-2"))
    return adding(r.setup(), *replaced(second, NAMES.public_key, text(key("next key"))))


REGISTRATIONS = [
    *(
        Case("registration_forbidden", label, make, field, STRANGER)
        for label, make, field in (
            ("a new registration", _register, "aegis:attests"),
            ("a key on any subject", _planted_key, "aegis:publicKey"),
            ("the type removed", _type_removed, "rdf:type"),
            ("facts in another graph", _second_graph, "aegis:attests"),
            ("all of it removed", _registration_removed, None),
        )
    ),
    Case(
        None,
        "an advance without the identity permission",
        lambda r: advancing(r.submit()),
        context=replace(STRANGER, define=False),
    ),
    Case("registration_incomplete", "no verifier", _with(NAMES.verifier), "aegis:verifier"),
    Case(
        "registration_incomplete",
        "two verifiers",
        _with(NAMES.verifier, text("a"), text("b")),
        "aegis:verifier",
    ),
    Case(
        "registration_incomplete",
        "a verifier with a space",
        _with(NAMES.verifier, text("a b")),
        "aegis:verifier",
    ),
    Case(
        "registration_incomplete",
        "two keys",
        _with(NAMES.public_key, text(key("a")), text(key("b"))),
        "aegis:publicKey",
    ),
    *(
        Case(
            "registration_incomplete",
            f"key {label}",
            _with(NAMES.public_key, value),
            "aegis:publicKey",
        )
        for label, value in (
            ("too short", text(key("a")[:-2])),
            ("too long", text(key("a") + "00")),
            ("upper case", text(key("a").upper())),
            ("no hex", text("g" * 64)),
            ("of small order", text("01" + "00" * 31)),
            ("not canonical", text("ee" + "ff" * 30 + "7f")),
            ("an IRI", IRI("urn:key:1")),
            ("of another datatype", Literal(key("a"), XSD + "hexBinary")),
            ("with a language", Literal(key("a"), language="en")),
            ("empty", text("")),
        )
    ),
    Case("registration_incomplete", "no attests", _with(NAMES.attests), "aegis:attests"),
    Case(
        "registration_incomplete",
        "a blank attests",
        _with(NAMES.attests, BlankNode("p")),
        "aegis:attests",
    ),
    Case(
        "registration_incomplete",
        "two agents",
        _with(NAMES.agent, IRI("urn:a:x"), IRI("urn:b:x")),
        "aegis:agent",
    ),
    Case(
        "registration_incomplete",
        "an agent's text",
        _with(NAMES.agent, text("urn:a:x")),
        "aegis:agent",
    ),
    Case("registration_incomplete", "a fact in a second graph", _second_graph),
    Case("registration_incomplete", "whole in two graphs", _moved_in_two_graphs),
    Case("registration_incomplete", "its verifier removed", _verifier_removed, "aegis:verifier"),
    Case(None, "complete", _register),
    Case(None, "without a key", _with(NAMES.public_key)),
    Case(None, "removed", _registration_removed),
    Case(None, "moved to another graph", _registration_moved),
    Case(None, "annotated in another graph", _annotated_elsewhere),
    Case(None, "planted first, typed later", _planted_then_typed),
    Case(None, "a second key", _rotated),
    Case(None, "the type removed", _type_removed),
    Case(None, "attests as text", _with(NAMES.attests, text("http://example.org/a/plan"))),
]
