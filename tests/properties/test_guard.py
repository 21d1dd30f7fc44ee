"""The guard under random histories: runs fold, events and plans stay, signatures count once."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from unittest.mock import patch

from hypothesis import note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.support.effort import effort
from tests.support.quads import MemoryQuads
from tests.support.workflows import AT, NAMES, OPERATOR, Advance, Release, key, number, seed, text
from treadle.graph.delta import Delta
from treadle.graph.entities import Event, Registration, only_iri, only_text, read_plan, registrations
from treadle.graph.fold import fold_all
from treadle.graph.guard import REASONS, Refusal, Verdict, judge
from treadle.graph.terms import IRI, BlankNode, Quad, Resource, Term
from treadle.graph.view import ANY, Graph
from treadle.graph.vocabulary import ENDED_AT, LABEL, RDF_TYPE, Kind

MODULE = import_module("treadle.graph.guard.judge")
GRAPHS: list[Graph] = [None, IRI("http://example.org/g")]
RELEASES = [Release(f"http://example.org/{name}", graph) for name in "ab" for graph in GRAPHS]
RUNS = [IRI(f"http://example.org/{name}/run{i}") for name in "ab" for i in range(2)]
STATES = ["Draft", "Review", "Released", "Elsewhere"]
TYPES = [t for row in NAMES.entities.values() for t in row.types]
MOVING = (NAMES.current_state, NAMES.current_revision)
PREDICATES = sorted({p.iri for row in NAMES.entities.values() for p in row.properties} | {RDF_TYPE})
CALLERS = [OPERATOR, replace(OPERATOR, identity=False), replace(OPERATOR, define=False)]

releases = st.sampled_from(RELEASES)
terms: st.SearchStrategy[Term] = st.one_of(
    st.sampled_from(STATES).map(text),
    st.integers(0, 4).map(number),
    st.sampled_from(TYPES),
    st.sampled_from(RUNS),
    releases.map(lambda r: r.plan),
    releases.flatmap(lambda r: st.sampled_from([r.step("submit"), r.step("reject"), r.step("approve")])),
    st.sampled_from([text(key("x")), text("0" * 128), text(AT), BlankNode("b")]),
)
subjects: st.SearchStrategy[Resource] = st.one_of(
    st.sampled_from(RUNS),
    releases.flatmap(
        lambda r: st.sampled_from([r.plan, r.registration, r.step("submit"), r.step("approve")])
    ),
    st.sampled_from([IRI("http://example.org/note"), BlankNode("b")]),
)
quads = st.builds(Quad, subjects, st.sampled_from(PREDICATES), terms, st.sampled_from(GRAPHS))


class Guarded(RuleBasedStateMachine):
    """A dataset in which only what the guard accepts is committed."""

    def __init__(self) -> None:
        super().__init__()
        self.data = MemoryQuads()
        self.events: dict[tuple[Graph, Resource], set[tuple[IRI, Term]]] = {}
        self.plans: dict[tuple[Graph, Resource], set[tuple[IRI, Term]]] = {}
        self.keys: dict[tuple[Graph, Resource], list[Registration]] = {}
        self.sent: list[tuple[set[Quad], set[Quad]]] = []

    def send(self, removed: set[Quad], added: set[Quad], caller: int = 0) -> Verdict | Refusal:
        """Judge a request and commit it when it is accepted, keeping what must never change again."""
        delta = self.data.delta(removed, added)
        answer = judge(self.data, delta, CALLERS[caller])
        with patch.object(MODULE, "_asked", lambda mode, kinds: MODULE._MODES[mode].values()):
            assert judge(self.data, delta, CALLERS[caller]) == answer, "the same when every rule is asked"
        if isinstance(answer, Refusal):
            note(f"refused: {answer.reason} {answer.entity} {answer.field}")
            assert answer.reason in {reason.name for reason in REASONS}
            return answer
        self.remember_keys(delta)
        self.check_permissions(delta, caller)
        self.data.apply(delta)
        self.remember()
        self.sent.append((removed, added))
        return answer

    def remember_keys(self, delta: Delta) -> None:
        for s, p, o, g in delta.added:
            if p == NAMES.performed_by and isinstance(o, IRI):
                name = o.value.rpartition(":")[2]
                self.keys[(g, s)] = registrations(self.data, name, NAMES)

    def check_permissions(self, delta: Delta, caller: int) -> None:
        changed = {quad.p for quad in (*delta.removed, *delta.added)}
        types = {quad.o for quad in delta.added if quad.p == RDF_TYPE}
        if not CALLERS[caller].identity:
            assert not changed & NAMES.registration_properties
            assert NAMES.registration not in types
        if not CALLERS[caller].define:
            assert not types & {NAMES.definition, NAMES.step, NAMES.run}

    def remember(self) -> None:
        for subject, graph in self.data.subjects(RDF_TYPE, NAMES.event, ANY):
            self.events.setdefault((graph, subject), set(self.data.facts(subject, graph)))
        for kind in (Kind.DEFINITION, Kind.STEP):
            for subject, graph in self.data.subjects(RDF_TYPE, NAMES.entities[kind].marker, ANY):
                facts = {fact for fact in self.data.facts(subject, graph) if fact[0] != LABEL}
                self.plans.setdefault((graph, subject), facts)

    # --- legal requests ---------------------------------------------------------------------------------

    @initialize()
    def start(self) -> None:
        for release in RELEASES:
            self.send(set(), release.plan_quads())
            if release.graph is None:
                self.send(set(), release.registration_quads())
            self.send(set(), release.run_quads(run=IRI(f"{release.prefix}/run0")))
        for which in range(len(RELEASES)):
            advance = self.legal_advance(which, 0)
            assert advance is not None
            assert isinstance(self.send(advance.removed(), advance.added()), Verdict)

    @rule(release=releases, run=st.sampled_from(RUNS))
    def start_run(self, release: Release, run: IRI) -> None:
        touched = set(self.data.facts(run, release.graph))
        answer = self.send(set(), release.run_quads(run=run))
        if not touched:
            assert isinstance(answer, Verdict)
            assert [entry.subject for entry in answer.started] == [run]

    def legal_advance(self, which: int, step: int) -> Advance | None:
        """A correct advance of one of the committed runs, where one is legal."""
        runs = sorted(self.data.subjects(RDF_TYPE, NAMES.run, ANY), key=lambda at: (at[1] or (), at[0]))
        if not runs:
            return None
        run, graph = runs[which % len(runs)]
        definition = only_iri(self.data.objects(run, NAMES.run_of, graph))
        release = next(r for r in RELEASES if r.plan == definition and r.graph == graph)
        state = only_text(self.data.objects(run, NAMES.current_state, graph))
        revision = only_text(self.data.objects(run, NAMES.current_revision, graph))
        plan = read_plan(self.data, release.plan, graph, NAMES)
        assert isinstance(run, IRI)
        assert state is not None
        assert revision is not None
        assert plan is not None
        if not plan.legal(state):
            return None
        taken = plan.legal(state)[step % len(plan.legal(state))]
        at = f"2026-11-30T20:00:00.{len(self.sent)}Z"
        agent = release.agent
        return Advance(release, run, taken.iri, state, taken.to_state, at, agent, revision)

    @rule(which=st.integers(0, 7), step=st.integers(0, 1))
    def advance(self, which: int, step: int) -> None:
        advance = self.legal_advance(which, step)
        if advance is None:
            return
        name = advance.of.agent_name
        usable = [one for one in registrations(self.data, name, NAMES) if one.public_key == key(name)]
        attested = [one for one in usable if advance.of.plan.value in one.attests]
        bound = [one for one in attested if one.agent in (None, advance.performer)]
        answer = self.send(advance.removed(), advance.added())
        if bound and not set(self.data.performers(name)) - {advance.performer}:
            assert isinstance(answer, Verdict), answer
            assert [move.event for move in answer.advances] == [advance.event]
        else:
            assert isinstance(answer, Refusal)

    @rule(release=releases, keep=st.booleans(), caller=st.integers(0, 2))
    def rotate(self, release: Release, keep: bool, caller: int) -> None:
        old = {
            Quad(release.registration, p, o, release.graph)
            for p, o in self.data.facts(release.registration, release.graph)
        }
        self.send(set() if keep else old, release.registration_quads(), caller)

    @rule(release=releases, caller=st.integers(0, 2))
    def unregister(self, release: Release, caller: int) -> None:
        old = {
            Quad(release.registration, p, o, release.graph)
            for p, o in self.data.facts(release.registration, release.graph)
        }
        self.send(old, set(), caller)

    # --- requests that bend a legal one -------------------------------------------------------------------

    @rule(
        which=st.integers(0, 7),
        step=st.integers(0, 13),
        extra=st.lists(quads, max_size=1),
        how=st.sampled_from(["drop", "move", "extra", "keep old", "replace"]),
        value=terms,
        caller=st.integers(0, 2),
    )
    def bent_advance(
        self, which: int, step: int, extra: list[Quad], how: str, value: Term, caller: int
    ) -> None:
        advance = self.legal_advance(which, step)
        if advance is None:
            return
        added, removed = sorted(advance.added(), key=lambda q: q[:3]), advance.removed()
        chosen = added[step % len(added)]
        if how in ("drop", "move", "replace"):
            added.remove(chosen)
        if how == "move":
            added.append(chosen._replace(g=GRAPHS[chosen.g is None]))
        elif how == "replace":
            added.append(chosen._replace(o=value))
        elif how == "keep old":
            removed = set(sorted(removed)[:1])
        self.send(removed, {*added, *extra}, caller)

    @rule(
        which=st.integers(0, 7),
        step=st.integers(0, 1),
        field=st.sampled_from(["step", "from_state", "to_state", "at", "performer", "from_revision", "run"]),
        value=st.integers(0, 3),
        resigned=st.booleans(),
    )
    def other_field(self, which: int, step: int, field: str, value: int, resigned: bool) -> None:
        """One field of the advance differs from the legal one, with the signature of either."""
        advance = self.legal_advance(which, step)
        if advance is None:
            return
        values: dict[str, object] = {
            "step": RELEASES[value].step("approve"),
            "from_state": STATES[value],
            "to_state": STATES[value],
            "at": ["", "now", "2026-11-30T20:00:00Z", "2026-11-30T20:00:00.77Z"][value],
            "performer": IRI(f"urn:agent:{['alice', 'bob', 'carol'][value % 3]}"),
            "from_revision": str(value),
            "run": RUNS[value],
        }
        signature = advance.signature
        changed = replace(advance, **{field: values[field]}, signature_text=signature)  # type: ignore[arg-type]
        if resigned and changed.transition.ambiguous() is None:
            changed = replace(changed, signature_text=None, signer=seed(advance.of.agent_name))
        self.send(advance.removed(), changed.added())

    @rule(which=st.integers(0, 7), other=st.integers(0, 7), step=st.integers(0, 1), stolen=st.booleans())
    def two_advances(self, which: int, other: int, step: int, stolen: bool) -> None:
        one, two = self.legal_advance(which, step), self.legal_advance(other, step)
        if one is not None and two is not None:
            if stolen:
                two = replace(two, signature_text=one.signature)
            self.send(one.removed() | two.removed(), one.added() | two.added())

    @rule(
        which=st.integers(0, 7),
        state=st.sampled_from(STATES),
        revision=st.integers(0, 3),
        signed=st.booleans(),
    )
    def move(self, which: int, state: str, revision: int, signed: bool) -> None:
        """A run goes to any state and revision, with a legal event or none."""
        advance = self.legal_advance(which, 0)
        if advance is not None:
            release, run = advance.of, advance.run
            added = {q for q in release.run_quads(state, revision, run) if q.p in MOVING}
            self.send(advance.removed(), added | (advance.event_quads() if signed else set()))

    @rule(
        release=releases,
        name=st.sampled_from(["run8", "run9"]),
        state=st.sampled_from(STATES),
        revision=st.integers(0, 2),
        plan=releases,
        caller=st.integers(0, 2),
    )
    def start_anywhere(
        self, release: Release, name: str, state: str, revision: int, plan: Release, caller: int
    ) -> None:
        quads = release.run_quads(state, revision, IRI(f"{release.prefix}/{name}"))
        self.send(set(), {q._replace(o=plan.plan) if q.p == NAMES.run_of else q for q in quads}, caller)

    @rule(added=st.lists(quads, max_size=4), removed=st.lists(quads, max_size=4), caller=st.integers(0, 2))
    def anything(self, added: list[Quad], removed: list[Quad], caller: int) -> None:
        self.send(set(removed), set(added), caller)

    @rule(data=st.data(), predicate=st.sampled_from([*PREDICATES, None]), caller=st.integers(0, 2))
    def remove_committed(self, data: st.DataObject, predicate: IRI | None, caller: int) -> None:
        committed = sorted(self.data, key=lambda quad: (quad.g or (), *quad[:3]))
        if committed:
            one = data.draw(st.sampled_from(committed))
            same = {q for q in committed if (q.s, q.g) == (one.s, one.g) and predicate in (None, q.p)}
            self.send(same, set(), caller)

    @rule(graph=st.sampled_from(GRAPHS))
    def drop_graph(self, graph: Graph) -> None:
        self.send({quad for quad in self.data if quad.g == graph}, set())

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def replay(self, data: st.DataObject) -> None:
        removed, added = data.draw(st.sampled_from(self.sent))
        self.send(removed, added)

    # --- what holds after every request ------------------------------------------------------------------

    @invariant()
    def runs_fold(self) -> None:
        def registered(event: Event, graph: Graph) -> list[Registration]:
            return self.keys[(graph, event.iri)]

        for folded in fold_all(self.data, NAMES, registered):
            assert folded.ok, folded.problems
            assert not folded.legacy

    @invariant()
    def revisions_count_events(self) -> None:
        for run, graph in self.data.subjects(RDF_TYPE, NAMES.run, ANY):
            revision = only_text(self.data.objects(run, NAMES.current_revision, graph))
            events = [
                event
                for event, where in self.data.subjects(NAMES.in_run, run, graph)
                if self.data.exists(Quad(event, RDF_TYPE, NAMES.event, where))
            ]
            assert revision == str(len(events))

    @invariant()
    def committed_events_and_plans_stay(self) -> None:
        for (graph, subject), facts in self.events.items():
            assert set(self.data.facts(subject, graph)) == facts
        for (graph, subject), facts in self.plans.items():
            kept = {fact for fact in self.data.facts(subject, graph) if fact[0] in {p for p, _ in facts}}
            assert kept == facts

    @invariant()
    def signatures_count_once(self) -> None:
        signatures = [o for _, facts in self.events.items() for p, o in facts if p == NAMES.signature]
        assert len(signatures) == len(set(signatures))

    @invariant()
    def times_are_signed_texts(self) -> None:
        for facts in self.events.values():
            assert len([o for p, o in facts if p == ENDED_AT]) == 1


TestGuarded = Guarded.TestCase
TestGuarded.settings = settings(max_examples=effort(60), stateful_step_count=30, deadline=None)
