"""Doctor: one finding for each thing that is wrong, and none for a dataset that is ready."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.legacy import legacy_plan, legacy_run, v1
from tests.support.quads import MemoryQuads
from tests.support.workflows import NAMES, Release, key, number, replaced, text, without
from treadle.graph.delta import Delta
from treadle.graph.doctor import REMEDIES, LegacyWrite, Surroundings, blocking, examine, legacy_write
from treadle.graph.fold import current_registrations
from treadle.graph.migrate import Answers, Severity
from treadle.graph.terms import IRI, XSD, BlankNode, Literal, Quad
from treadle.graph.view import Graph
from treadle.graph.vocabulary import RDF_TYPE, RDFS_NS

R = Release()
CLOSED = frozenset[Graph]([None])
READY = Surroundings(identity_graphs=CLOSED, surfaces={"SPARQL Update": True})
OTHER = IRI("http://example.org/g")


def codes(quads: set[Quad], around: Surroundings = READY) -> Counter[str]:
    view = MemoryQuads(quads)
    findings = examine(view, NAMES, current_registrations(view, NAMES), around)
    for finding in findings:
        assert finding.detail
        assert finding.remedy == REMEDIES[finding.code]
    return Counter(finding.code for finding in findings)


def test_a_dataset_that_is_ready() -> None:
    assert codes(R.setup()) == {}


def test_an_empty_dataset_lacks_only_keys() -> None:
    assert codes(set()) == {"no_registration": 1}


def test_legacy_data_blocks_and_comes_first() -> None:
    view = MemoryQuads(legacy_plan() | legacy_run("Draft") | R.registration_quads())
    findings = examine(view, NAMES, current_registrations(view, NAMES))
    found = blocking(findings)
    assert {finding.code for finding in found} == {"unmigrated"}
    assert {finding.entity for finding in found} >= {R.plan, R.run, R.step("submit")}
    severities = [finding.severity for finding in findings]
    assert severities == sorted(severities, key=lambda severity: severity is not Severity.BLOCKS)
    assert severities[-1] is Severity.WARNS  # registrations count in every graph


def test_answers_are_handed_on() -> None:
    quads = legacy_plan() | R.registration_quads()
    details = [
        f.detail
        for answers in (Answers(), Answers(initial={R.plan: "Draft"}))
        for f in examine(
            MemoryQuads(quads),
            NAMES,
            current_registrations(MemoryQuads(quads), NAMES),
            Surroundings(answers=answers),
        )
        if "initialState" in f.detail
    ]
    assert len(details) == 2
    assert details[0].startswith("aegis:initialState: no single state is first")
    assert details[1] == "aegis:initialState: starts at 'Draft'"


def test_a_finished_run_that_does_not_fold_only_warns() -> None:
    quads = R.plan_quads() | R.registration_quads() | legacy_run("Released")
    view = MemoryQuads(quads)
    findings = examine(view, NAMES, current_registrations(view, NAMES), READY)
    assert [(f.code, f.severity) for f in findings] == [("unmigrated", Severity.WARNS)]


def test_an_unguarded_surface() -> None:
    around = Surroundings(identity_graphs=CLOSED, surfaces={"bulk load": False, "SPARQL Update": True})
    assert codes(R.setup(), around) == {"surface_unguarded": 1}


def test_open_identity_graphs() -> None:
    assert codes(R.setup(), Surroundings()) == {"identity_graphs_open": 1}


def test_an_unsafe_catalogue() -> None:
    axiom = Quad(NAMES.from_state, IRI(RDFS_NS + "domain"), NAMES.event)
    assert codes(R.setup() | {axiom}) == {"catalogue_unsafe": 1}


def test_process_facts_on_untyped_subjects() -> None:
    note = IRI("http://example.org/note")
    quads = {Quad(note, NAMES.current_state, text("x")), Quad(note, NAMES.from_revision, number(1))}
    quads |= {Quad(R.run, NAMES.current_state, text("x"), OTHER)}
    assert codes(R.setup() | quads) == {"untyped_process_fact": 2}


@pytest.mark.parametrize(
    "predicate, values",
    [
        (NAMES.public_key, (text(key("a")), text(key("b")))),
        (NAMES.verifier, (text("a"), text("b"))),
        (NAMES.public_key, (text(key("a").upper()),)),
        (NAMES.public_key, (Literal(key("a"), XSD + "hexBinary"),)),
        (NAMES.attests, ()),
    ],
)
def test_doubled_or_oddly_spelled_registrations(predicate: IRI, values: tuple[Literal, ...]) -> None:
    second = {q._replace(s=IRI("urn:r:2")) for q in R.registration_quads()}
    assert codes(R.setup() | replaced(second, predicate, *values)) == {"registration_unusable": 1}


def test_a_registration_in_two_graphs_or_on_a_blank_node() -> None:
    second = {q._replace(s=IRI("urn:r:2")) for q in R.registration_quads()}
    doubled = second | {q._replace(g=OTHER) for q in second}
    assert codes(R.setup() | doubled)["registration_unusable"] >= 2
    blank = {q._replace(s=BlankNode("r")) for q in R.registration_quads()}
    assert codes(R.setup() | blank) == {"registration_unusable": 1}


def test_a_registration_outside_the_identity_graphs() -> None:
    around = Surroundings(identity_graphs=frozenset([OTHER]))
    assert codes(R.setup(), around) == {"registration_unusable": 1, "no_registration": 1}


def test_an_untyped_key_that_is_no_plain_string() -> None:
    stray = Quad(IRI("urn:r:3"), NAMES.public_key, Literal(key("a"), XSD + "hexBinary"))
    assert codes(R.setup() | {stray}) == {"registration_unusable": 1}


def test_an_agent_that_can_never_sign() -> None:
    named = R.about(R.registration, (NAMES.agent, IRI("urn:agent:somebody-else")))
    assert codes(R.setup() | named) == {"agent_unreachable": 1}


def test_subjects_of_two_roles() -> None:
    both = R.about(R.registration, (RDF_TYPE, NAMES.event))
    assert codes(R.setup() | both)["two_roles"] == 1
    apart = {Quad(R.registration, RDF_TYPE, NAMES.step, OTHER)}
    assert codes(R.setup() | apart)["two_roles"] == 0


def test_one_key_for_two_names() -> None:
    second = {q._replace(s=IRI("urn:r:2")) for q in R.registration_quads()}
    assert codes(R.setup() | replaced(second, NAMES.verifier, text("bob"))) == {"key_shared": 1}
    assert codes(R.setup() | second) == {}


def test_nobody_may_sign() -> None:
    quads = R.plan_quads() | without(R.registration_quads(), NAMES.public_key)
    assert codes(quads) == {"no_registration": 1}
    elsewhere = replaced(R.registration_quads(), NAMES.attests, IRI("urn:p:other"))
    assert codes(R.plan_quads() | elsewhere) == {"definition_without_signer": 1}


def test_one_name_for_two_iris() -> None:
    second = {
        q._replace(o=IRI(f"urn:b:{R.agent_name}")) if q.p == NAMES.performed_by else q
        for q in v1("reject", "2025-01-02T00:00:00Z")
    }
    quads = R.setup() - R.run_quads() | R.run_quads("Draft", 2)
    found = codes(quads | v1("submit", "2025-01-01T00:00:00Z") | second)
    assert found["agent_two_iris"] == 1


def test_legacy_writers() -> None:
    around = Surroundings(
        identity_graphs=CLOSED, legacy_writes=[LegacyWrite(17, "exporter", "an event without revision")]
    )
    assert codes(R.setup(), around) == {"legacy_writer": 1}


def test_what_a_writer_of_the_old_way_leaves_in_the_log() -> None:
    advance = R.submit()
    enrolled = Delta.of(advance.removed(), advance.added())
    assert legacy_write(enrolled, NAMES) is None
    assert legacy_write(Delta.of(added=R.setup()), NAMES) is None
    assert legacy_write(Delta.of(removed=R.setup()), NAMES) is None
    alone = Delta.of(advance.removed(), advance.moved())
    assert legacy_write(alone, NAMES) == "a run that moved without an event"
    old = Delta.of(advance.removed(), advance.moved() | v1("submit", "2025-01-01T00:00:00Z"))
    assert legacy_write(old, NAMES) == "an event without revision"


def test_an_enrolled_database_has_nothing_left_to_migrate() -> None:
    """A key may be gone by now that signed when it counted; that is no legacy."""
    advance = R.submit()
    quads = (R.setup() - R.registration_quads() - advance.removed()) | advance.added()
    assert codes(quads)["unmigrated"] == 1
    around = Surroundings(identity_graphs=CLOSED, enrolled=True)
    assert codes(quads, around) == {"no_registration": 1}


def test_every_code_has_a_remedy_and_a_test() -> None:
    source = __file__
    with open(source, encoding="utf-8") as file:
        text_ = file.read()
    assert [code for code in REMEDIES if f'"{code}"' not in text_] == []
