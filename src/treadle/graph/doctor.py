"""The activation check: what stands in the way of enrollment, and what is odd in an enrolled dataset.

`examine` is a pure function of the dataset and of what its caller knows about the process around it (which
write surfaces are guarded, who wrote lately).  Legacy definitions and active runs block; the rest warns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from treadle.graph.catalogue.safety import unsafe_axioms
from treadle.graph.delta import Delta
from treadle.graph.entities import grouped, is_plain, read_registration
from treadle.graph.fold import Registered
from treadle.graph.guard.fields import entity_problem
from treadle.graph.migrate import NO_ANSWERS, Answers, Severity, plan_migration
from treadle.graph.signatures import agent_name
from treadle.graph.terms import IRI, BlankNode, Quad, Resource
from treadle.graph.view import ANY, Graph, Survey
from treadle.graph.vocabulary import RDF_TYPE, Kind, Vocabulary


class Finding(NamedTuple):
    """One thing that doctor found.

    `code` is stable; `entity` and `graph` say where, when it is about a subject; `detail` what, and `remedy`
    what helps.
    """

    severity: Severity
    code: str
    graph: Graph
    entity: Resource | None
    detail: str
    remedy: str


class LegacyWrite(NamedTuple):
    """A recent write of the old way: a run moved without an event, or an event without revision."""

    commit: int
    principal: str
    what: str


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What doctor cannot read from the dataset.

    Attributes:
        surfaces: each way to write, and whether the guard judges it.
        identity_graphs: the graphs whose registrations count; None means every graph.
        legacy_writes: writes of the old way since the time that the caller looked back to.
        answers: what the operator decided for the migration.
        enrolled: whether the database is enrolled already.  Then nothing is left to migrate; whether runs
            fold is for `verify` to say, which knows the keys of each event's time.
    """

    surfaces: Mapping[str, bool] = field(default_factory=dict)
    identity_graphs: Collection[Graph] | None = None
    legacy_writes: Sequence[LegacyWrite] = ()
    answers: Answers = NO_ANSWERS
    enrolled: bool = False


REMEDIES = {
    "surface_unguarded": "send its writes through the database's own commit",
    "unmigrated": "run: treadle graph migrate --plan",
    "catalogue_unsafe": "replace the axiom by schema:domainIncludes or schema:rangeIncludes",
    "untyped_process_fact": "remove the fact, or write the type that it belongs to",
    "registration_unusable": "write it whole, on one subject in one graph",
    "two_roles": "give each entity its own IRI",
    "key_shared": "give each agent its own key",
    "agent_two_iris": "sign under one IRI; the name cannot sign in enrolled processing until then",
    "agent_unreachable": "let the agent's IRI end in ':' and the registered name",
    "no_registration": "load a registration: treadle graph keys register-text",
    "definition_without_signer": "load a registration that attests it",
    "identity_graphs_open": "name the graphs that hold registrations: identity_graphs",
    "legacy_writer": "stop the writer, or bring it to version 2",
}


def examine(
    data: Survey, names: Vocabulary, registered: Registered, around: Surroundings | None = None
) -> list[Finding]:
    """Everything that doctor has to say about a dataset, blocking findings first.

    Args:
        data: the dataset.
        names: its vocabulary.
        registered: the registrations that count for an event, as `treadle.graph.fold` takes them.
        around: what is known beside the data.
    """
    about = around or Surroundings()
    checks = (
        _surfaces(about),
        _unmigrated(data, names, registered, about),
        _catalogue(data, names),
        _untyped(data, names),
        _registrations(data, names, about),
        _roles(data, names),
        _keys(data, names, about),
        _agents(data, names),
        _identity_graphs(about),
        _legacy_writers(about),
    )
    findings = [finding for check in checks for finding in check]
    return sorted(findings, key=lambda finding: finding.severity is not Severity.BLOCKS)


def legacy_write(delta: Delta, names: Vocabulary) -> str | None:
    """What a logged change shows of a writer of the old way, or None.

    A run that moves without an event, or an event without the revision that it is signed for.
    """
    moved = {(q.g, q.s) for q in delta.added if q.p in (names.current_state, names.current_revision)}
    started = {(q.g, q.s) for q in delta.added if q.p == RDF_TYPE and q.o == names.run}
    events = {(q.g, q.s) for q in delta.added if q.p == RDF_TYPE and q.o == names.event}
    numbered = {(q.g, q.s) for q in delta.added if q.p == names.from_revision}
    if events - numbered:
        return "an event without revision"
    advanced = {(q.g, q.o) for q in delta.added if q.p == names.in_run and (q.g, q.s) in events}
    return "a run that moved without an event" if moved - started - advanced else None


def blocking(findings: Iterable[Finding]) -> list[Finding]:
    """The findings that enrollment is refused for."""
    return [finding for finding in findings if finding.severity is Severity.BLOCKS]


def _warn(code: str, graph: Graph, entity: Resource | None, detail: str) -> Finding:
    return Finding(Severity.WARNS, code, graph, entity, detail, REMEDIES[code])


def _surfaces(about: Surroundings) -> Iterator[Finding]:
    for surface, guarded in sorted(about.surfaces.items()):
        if not guarded:
            yield _warn("surface_unguarded", None, None, f"{surface} writes without the guard")


def _unmigrated(
    data: Survey, names: Vocabulary, registered: Registered, about: Surroundings
) -> Iterator[Finding]:
    """What migration would write or cannot solve: both are in the way, the first until it is applied."""
    if about.enrolled:
        return
    for item in plan_migration(data, names, registered, about.answers).items:
        severity = Severity.WARNS if item.severity is Severity.WARNS else Severity.BLOCKS
        detail = f"{item.field}: {item.detail}" if item.field else item.detail
        yield Finding(severity, "unmigrated", item.graph, item.entity, detail, REMEDIES["unmigrated"])


def _catalogue(data: Survey, names: Vocabulary) -> Iterator[Finding]:
    for axiom in unsafe_axioms(data, names):
        yield _warn("catalogue_unsafe", axiom.graph, axiom.subject, axiom.detail)


def _untyped(data: Survey, names: Vocabulary) -> Iterator[Finding]:
    found: dict[tuple[Graph, Resource], set[str]] = {}
    for prop, owners in names.owners.items():
        for quad in data.scan(prop):
            if not any(data.exists(Quad(quad.s, RDF_TYPE, owner, quad.g)) for owner in owners):
                found.setdefault((quad.g, quad.s), set()).add(names.short(prop))
    for (graph, subject), props in sorted(found.items(), key=lambda item: (item[0][0] or (), item[0][1])):
        detail = f"bears {', '.join(sorted(props))} without the type"
        yield _warn("untyped_process_fact", graph, subject, detail)


def _registrations(data: Survey, names: Vocabulary, about: Surroundings) -> Iterator[Finding]:
    """Registrations that do not count, and those that no agent can use."""
    entity = names.entities[Kind.REGISTRATION]
    for subject, graph in _places(data, names.registration):
        problem = entity_problem(entity, data.facts(subject, graph))
        if problem is not None:
            yield _warn("registration_unusable", graph, subject, f"{problem[0]}: {problem[1]}")
            continue
        if isinstance(subject, BlankNode):
            yield _warn("registration_unusable", graph, subject, "is a blank node")
        facts = grouped(data.facts(subject, graph))
        usable = read_registration(data, subject, graph, names)
        if usable is None and facts.get(names.public_key):
            yield _warn("registration_unusable", graph, subject, "its facts stand in several graphs")
        elif usable is not None and usable.agent and agent_name(usable.agent.value) != usable.verifier:
            yield _warn("agent_unreachable", graph, subject, "its agent's IRI ends in another name")
        if about.identity_graphs is not None and graph not in about.identity_graphs:
            yield _warn("registration_unusable", graph, subject, "is outside the identity graphs")
    for prop in (names.verifier, names.public_key):
        for quad in data.scan(prop):
            if not is_plain(quad.o) and not data.exists(Quad(quad.s, RDF_TYPE, names.registration, quad.g)):
                detail = f"{names.short(prop)} is no plain string"
                yield _warn("registration_unusable", quad.g, quad.s, detail)


def _roles(data: Survey, names: Vocabulary) -> Iterator[Finding]:
    roles: dict[tuple[Graph, Resource], set[str]] = {}
    for marker, kind in names.markers.items():
        for subject, graph in data.subjects(RDF_TYPE, marker, ANY):
            roles.setdefault((graph, subject), set()).add(kind.value)
    for (graph, subject), kinds in sorted(roles.items(), key=lambda item: (item[0][0] or (), item[0][1])):
        if len(kinds) > 1:
            yield _warn("two_roles", graph, subject, f"is {' and '.join(sorted(kinds))} at once")


def _keys(data: Survey, names: Vocabulary, about: Surroundings) -> Iterator[Finding]:
    """Whether keys and agents are one to one, and whether anybody can sign at all, for each definition."""
    owners: dict[str, set[str]] = {}
    attested: set[str] = set()
    for subject, graph in _places(data, names.registration):
        usable = read_registration(data, subject, graph, names)
        if usable is None or (about.identity_graphs is not None and graph not in about.identity_graphs):
            continue
        owners.setdefault(usable.public_key, set()).add(usable.verifier)
        attested |= usable.attests
    for key, agents in sorted(owners.items()):
        if len(agents) > 1:
            detail = f"the key {key[:16]}… is registered for {', '.join(sorted(agents))}"
            yield _warn("key_shared", None, None, detail)
    if not owners:
        yield _warn("no_registration", None, None, "no registration is usable: nobody could advance a run")
        return
    for definition, graph in _places(data, names.definition):
        if str(definition) not in attested:
            detail = "no usable registration attests this definition: nobody could advance its runs"
            yield _warn("definition_without_signer", graph, definition, detail)


def _agents(data: Survey, names: Vocabulary) -> Iterator[Finding]:
    """Agent names that committed events use for several IRIs; the guard then takes none of them."""
    iris: dict[str, set[IRI]] = {}
    for quad in data.scan(names.performed_by):
        if isinstance(quad.o, IRI) and data.exists(Quad(quad.s, RDF_TYPE, names.event, quad.g)):
            iris.setdefault(agent_name(quad.o.value), set()).add(quad.o)
    for name, found in sorted(iris.items()):
        if len(found) > 1:
            known = ", ".join(iri.value for iri in sorted(found))
            yield _warn("agent_two_iris", None, None, f"events of {name!r} are performed by {known}")


def _identity_graphs(about: Surroundings) -> Iterator[Finding]:
    if about.identity_graphs is None:
        yield _warn("identity_graphs_open", None, None, "registrations in every graph count")


def _legacy_writers(about: Surroundings) -> Iterator[Finding]:
    for write in about.legacy_writes:
        detail = f"commit {write.commit} by {write.principal}: {write.what}"
        yield _warn("legacy_writer", None, None, detail)


def _places(data: Survey, marker: IRI) -> list[tuple[Resource, Graph]]:
    return sorted(data.subjects(RDF_TYPE, marker, ANY), key=lambda at: (at[1] or (), at[0]))
