"""What the workflow client must do over any transport: the tests, without the server.

A test module subclasses `WorkflowClientSuite` and says how a client reaches a `GuardedServer`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from tests.support.flaky import GuardedServer
from tests.support.workflows import NAMES, Release, key, number, seed, text, without
from treadle.errors import ConfigError, Denied, Refused, TreadleError
from treadle.graph.client import (
    Advanced,
    Conflict,
    Edge,
    Indeterminate,
    Pending,
    Transport,
    Unreachable,
    VerificationFailed,
    WorkflowClient,
    exit_code,
)
from treadle.graph.fold import current_registrations, fold_all
from treadle.graph.keys import AgentKey
from treadle.graph.memory import Statements
from treadle.graph.terms import IRI, Quad
from treadle.graph.view import ANY
from treadle.graph.vocabulary import LABEL, RDF_TYPE

GRAPH = IRI("http://example.org/g")
RELEASES = [Release(), Release("http://example.org/b", GRAPH)]
NOON = 1_796_040_000_000_000


class Stopped:
    """A clock that stands still: what tells two advances apart is not the time."""

    manual = True

    def now(self) -> int:
        return NOON


class WorkflowClientSuite:
    """The tests; `reach` wraps a server into the transport under test."""

    def reach(self, server: GuardedServer) -> Transport:
        raise NotImplementedError

    def serve(self, quads: Iterable[Quad] = ()) -> GuardedServer:
        return GuardedServer(quads)

    @pytest.fixture(params=RELEASES, ids=["default graph", "named graph"])
    def r(self, request: pytest.FixtureRequest) -> Release:
        release: Release = request.param
        return release

    @pytest.fixture
    def server(self, r: Release) -> GuardedServer:
        return self.serve(r.setup())

    @pytest.fixture
    def client(self, r: Release, server: GuardedServer) -> WorkflowClient:
        return self.connect(r, server)

    def connect(self, r: Release, server: GuardedServer, **changes: Any) -> WorkflowClient:
        settings: dict[str, Any] = {
            "agent": r.agent.value,
            "key": AgentKey(seed(r.agent_name)),
            "graph": None if r.graph is None else r.graph.value,
            "clock": Stopped(),
            "pause": lambda seconds: None,
            **changes,
        }
        return WorkflowClient(self.reach(server), **settings)

    def events(self, server: GuardedServer) -> list[Any]:
        data = Statements(server.quads())
        return [subject for subject, _ in data.subjects(RDF_TYPE, NAMES.event, ANY)]

    def check_whole(self, server: GuardedServer) -> None:
        data = Statements(server.quads())
        for folded in fold_all(data, NAMES, current_registrations(data, NAMES)):
            assert folded.ok, folded.problems

    # --- the ordinary way -------------------------------------------------------------------------------

    def test_a_run_from_plan_to_end(self, r: Release) -> None:
        server = self.serve(r.registration_quads())
        client = self.connect(r, server)
        edges = [
            Edge(r.step("submit").value, "Draft", "Review", "Hand in"),
            Edge(r.step("reject").value, "Review", "Draft"),
            Edge(r.step("approve").value, "Review", "Released"),
        ]
        counts = [
            client.define(r.plan.value, label="Release", initial="Draft", terminal=["Released"], steps=edges)
            for _ in range(2)
        ]
        assert [applied.asserted for applied in counts] == [8 + 3 * 5, 0]
        assert client.start(r.run.value, r.plan.value).asserted == 4
        assert client.start(r.run.value, r.plan.value).asserted == 0
        for name in ("submit", "reject", "submit", "approve"):
            done = client.advance(r.run.value, name)
            assert not done.resolved
            assert done.tx == server.tx
        status = client.status(r.run.value)
        assert (status.state, status.revision, status.finished) == ("Released", "4", True)
        assert status.legal == ()
        assert client.verify(r.run.value).revision == "4"
        assert [line.problem for line in client.history(r.run.value)] == [None] * 4
        self.check_whole(server)

    def test_status_names_legal_steps_and_labels(self, r: Release, client: WorkflowClient) -> None:
        status = client.status(r.run.value)
        assert (status.state, status.revision, status.finished) == ("Draft", "0", False)
        assert [status.named(step) for step in status.legal] == ["submit (Submit)"]

    def test_a_step_may_be_named_by_its_iri(self, r: Release, client: WorkflowClient) -> None:
        assert client.advance(r.run.value, r.step("submit").value).to_state == "Review"

    def test_the_answer_says_what_was_done(
        self, r: Release, server: GuardedServer, client: WorkflowClient
    ) -> None:
        done = client.advance(r.run.value, "submit")
        assert done._replace(event="", tx=1) == Advanced(
            r.run.value, "", r.step("submit").value, "Draft", "Review", "1", 1, False
        )
        assert done.event.startswith(f"{r.run}/event/0-")
        assert self.events(server) == [IRI(done.event)]

    def test_one_update_with_constant_subjects(
        self, r: Release, server: GuardedServer, client: WorkflowClient
    ) -> None:
        client.advance(r.run.value, "submit")
        assert len(server.updates) == 1
        assert "?" not in server.updates[0]

    def test_a_self_transition(self, r: Release) -> None:
        loop = r.step_quads("ping", "Draft", "Draft") | r.about(r.plan, (NAMES.has_step, r.step("ping")))
        server = self.serve(r.setup() | loop)
        client = self.connect(r, server)
        assert [client.advance(r.run.value, "ping").revision for _ in range(3)] == ["1", "2", "3"]
        self.check_whole(server)

    # --- refusals of the client's own -------------------------------------------------------------------

    @pytest.mark.parametrize(
        "offered, reason",
        [
            (None, "processing_unknown"),
            ({}, "processing_disabled"),
            ({"processing": "disabled", "signatureVersions": [1]}, "processing_disabled"),
            ({"processing": "disabled", "signatureVersions": [2]}, "processing_disabled"),
            ({"processing": "enabled", "signatureVersions": [1]}, "version_unsupported"),
            ({"processing": "enabled", "signatureVersions": "2"}, "version_unsupported"),
            ({"processing": "enabled"}, "version_unsupported"),
        ],
    )
    def test_nothing_is_written_to_an_unguarded_server(
        self, r: Release, server: GuardedServer, client: WorkflowClient, offered: Any, reason: str
    ) -> None:
        signed = client.sign(r.run.value, "submit")
        server.offered = offered
        writes: list[Callable[[], object]] = [
            lambda: client.send(signed),
            lambda: client.resolve(signed),
            lambda: client.advance(r.run.value, "submit"),
            lambda: client.start(r.run.value, r.plan.value),
            lambda: client.define(r.plan.value, label="x", initial="x", terminal=["x"], steps=[]),
        ]
        for write in writes:
            with pytest.raises(Refused) as caught:
                write()
            assert caught.value.reason == reason
            assert exit_code(caught.value) == 2
        assert server.updates == []
        assert client.status(r.run.value).state == "Draft"

    def test_what_landed_is_read_whatever_the_server_enforces_now(
        self, r: Release, server: GuardedServer, client: WorkflowClient
    ) -> None:
        signed = client.sign(r.run.value, "submit")
        client.send(signed)
        server.offered = {"processing": "disabled", "signatureVersions": [1]}
        assert client.resolve(signed).resolved
        assert len(server.updates) == 1

    @pytest.mark.parametrize("step", ["approve", "nonsense", "", "http://example.org/nowhere/submit"])
    def test_an_illegal_step_names_the_legal_ones(
        self, r: Release, server: GuardedServer, client: WorkflowClient, step: str
    ) -> None:
        with pytest.raises(Refused, match=r"take one of: submit \(Submit\)") as caught:
            client.advance(r.run.value, step)
        assert caught.value.reason == "step_not_legal"
        assert server.updates == []

    def test_a_finished_run(self, r: Release) -> None:
        server = self.serve(r.plan_quads() | r.registration_quads() | r.run_quads("Released", 0))
        with pytest.raises(Refused, match="finished"):
            self.connect(r, server).advance(r.run.value, "submit")

    def test_an_unknown_run_or_plan(self, r: Release, client: WorkflowClient) -> None:
        calls: list[tuple[Callable[[], object], str]] = [
            (lambda: client.status("urn:x:none"), "run_unknown"),
            (lambda: client.verify("urn:x:none"), "run_unknown"),
            (lambda: client.advance("urn:x:none", "submit"), "run_unknown"),
            (lambda: client.start("urn:x:none", "urn:x:plan"), "definition_unknown"),
        ]
        for call, reason in calls:
            with pytest.raises(Refused) as caught:
                call()
            assert caught.value.reason == reason

    def test_a_run_in_another_graph_is_unknown(self, r: Release, server: GuardedServer) -> None:
        other = None if r.graph is not None else "http://example.org/other"
        with pytest.raises(Refused):
            self.connect(r, server, graph=other).status(r.run.value)

    def test_signing_needs_a_key(self, r: Release, server: GuardedServer) -> None:
        for missing in ({"key": None}, {"agent": None}):
            with pytest.raises(Refused) as caught:
                self.connect(r, server, **missing).advance(r.run.value, "submit")
            assert caught.value.reason == "key_missing"

    def test_bad_iris_and_agents(self, r: Release, server: GuardedServer, client: WorkflowClient) -> None:
        with pytest.raises(ConfigError):
            client.status("not an IRI")
        for agent in ("alice", "urn:agent:", "urn:agent:a\u00a0b"):
            with pytest.raises(ConfigError):
                self.connect(r, server, agent=agent)

    def test_nothing_can_be_injected(self, r: Release, server: GuardedServer, client: WorkflowClient) -> None:
        for evil in ("urn:x> . } ; DROP ALL #", 'urn:x:" } ; CLEAR ALL', "urn:x\n"):
            with pytest.raises(ConfigError):
                client.advance(evil, "submit")
        with pytest.raises(ConfigError, match="surrogate"):
            client.define("urn:p:1", label="\ud800", initial="a", terminal=["b"], steps=[])
        before = server.quads()
        label = '"} ; DROP ALL #\n\\'
        with pytest.raises(Refused):
            client.define("urn:p:1", label=label, initial=label, terminal=[label], steps=[])
        assert server.quads() == before

    # --- the guard's refusals ------------------------------------------------------------------------------

    def test_a_guard_refusal_keeps_its_reason(self, r: Release) -> None:
        server = self.serve(r.plan_quads() | r.run_quads())
        with pytest.raises(Refused) as caught:
            self.connect(r, server).advance(r.run.value, "submit")
        assert caught.value.reason == "signer_unregistered"
        assert caught.value.field == "aegis:performedBy"
        assert caught.value.remedy
        assert exit_code(caught.value) == 2
        assert self.events(server) == []

    def test_another_key_than_the_registered_one(self, r: Release, server: GuardedServer) -> None:
        client = self.connect(r, server, key=AgentKey(b"\x07" * 32))
        with pytest.raises(Refused) as caught:
            client.advance(r.run.value, "submit")
        assert caught.value.reason == "signature_invalid"

    # --- races ------------------------------------------------------------------------------------------

    def test_a_lost_race_is_a_conflict_and_signs_nothing_newer(
        self, r: Release, server: GuardedServer, client: WorkflowClient
    ) -> None:
        other = self.connect(r, server)
        server.before_update = lambda: other.advance(r.run.value, "submit")
        with pytest.raises(Conflict) as caught:
            client.advance(r.run.value, "submit")
        assert exit_code(caught.value) == 4
        assert len(self.events(server)) == 1
        self.check_whole(server)

    def test_a_lost_race_through_a_loop_back_to_the_same_state(
        self, r: Release, server: GuardedServer, client: WorkflowClient
    ) -> None:
        other = self.connect(r, server)

        def loop() -> None:
            other.advance(r.run.value, "submit")
            other.advance(r.run.value, "reject")

        server.before_update = loop
        with pytest.raises(Conflict):
            client.advance(r.run.value, "submit")
        assert client.status(r.run.value).revision == "2"

    def test_an_expected_revision(self, r: Release, server: GuardedServer, client: WorkflowClient) -> None:
        with pytest.raises(Conflict):
            client.advance(r.run.value, "submit", expected_revision=1)
        assert server.updates == []
        assert client.advance(r.run.value, "submit", expected_revision=0).revision == "1"

    def test_another_plan_or_run_at_the_iri(
        self, r: Release, server: GuardedServer, client: WorkflowClient
    ) -> None:
        second = f"{r.prefix}/second"
        edge = Edge(r.step("submit").value, "Draft", "Review")
        with pytest.raises(Refused):
            client.define(
                r.plan.value, label="Release", initial="Review", terminal=["Released"], steps=[edge]
            )
        done = Edge(f"{second}/end", "Draft", "End")
        client.define(second, label="Second", initial="Draft", terminal=["End"], steps=[done])
        with pytest.raises(Conflict):
            client.start(r.run.value, second)

    # --- lost answers ----------------------------------------------------------------------------------

    FAULTS = [
        (["lost"], False, 1),
        (["answer lost"], True, 1),
        (["late"], True, 2),
        (["lost", "lost", "lost"], False, 1),
        (["lost", "answer lost"], True, 1),
        (["answer lost", "lost"], True, 1),
        (["lost", "unreachable", "ok"], False, 1),
    ]

    @pytest.mark.parametrize("faults, resolved, tries", FAULTS, ids=lambda value: str(value))
    def test_a_lost_answer_is_resolved_by_reading(
        self,
        r: Release,
        server: GuardedServer,
        client: WorkflowClient,
        faults: list[str],
        resolved: bool,
        tries: int,
    ) -> None:
        server.faults = list(faults)
        done = client.advance(r.run.value, "submit")
        assert done.resolved is resolved
        assert self.events(server) == [IRI(done.event)]
        assert len(set(server.updates)) == 1
        assert len(server.updates) == tries
        assert client.status(r.run.value).revision == "1"
        self.check_whole(server)

    def test_the_same_signed_bytes_are_sent_again(
        self, r: Release, server: GuardedServer, client: WorkflowClient
    ) -> None:
        server.faults = ["late", "lost", "late"]
        client.advance(r.run.value, "submit")
        assert len(set(server.updates)) == 1
        assert len(self.events(server)) == 1

    def test_a_lost_answer_and_then_another_advance(
        self, r: Release, server: GuardedServer, client: WorkflowClient
    ) -> None:
        """The answer of an advance that landed is lost, and somebody advances the run before we look."""
        server.faults = ["answer lost"]
        other = self.connect(r, server)

        def go_on(seconds: float) -> None:
            other.advance(r.run.value, "reject")

        watching = self.connect(r, server, pause=go_on)
        done = watching.advance(r.run.value, "submit")
        assert done.resolved
        assert IRI(done.event) in self.events(server)
        assert client.status(r.run.value).revision == "2"

    def test_a_lost_request_and_then_another_advance(self, r: Release, server: GuardedServer) -> None:
        server.faults = ["lost"]
        other = self.connect(r, server)
        watching = self.connect(r, server, pause=lambda seconds: other.advance(r.run.value, "submit"))
        with pytest.raises(Conflict):
            watching.advance(r.run.value, "submit")
        assert len(self.events(server)) == 1

    def test_another_failure_afterwards_is_no_answer(self, r: Release, server: GuardedServer) -> None:
        """The request may have landed; that the server then turns us away does not say that it did not."""
        client = self.connect(r, server)
        server.faults = ["answer lost"]
        server.query_faults = ["ok", *["denied"] * 20]
        with pytest.raises(Indeterminate):
            client.advance(r.run.value, "submit")
        server.faults, server.query_faults = ["denied"], []
        with pytest.raises(Denied):
            client.advance(r.run.value, "reject")

    def test_a_server_that_falls_silent(
        self, r: Release, server: GuardedServer, client: WorkflowClient
    ) -> None:
        server.faults = ["answer lost"]
        server.query_faults = ["ok", *["lost"] * 20]
        with pytest.raises(Indeterminate) as caught:
            client.advance(r.run.value, "submit")
        assert exit_code(caught.value) == 8
        pending = caught.value.pending
        assert pending is not None
        server.query_faults = []
        kept = Pending.from_json(pending.to_json())
        assert kept == pending
        done = client.resolve(kept)
        assert done.resolved
        assert self.events(server) == [IRI(done.event)]
        assert len(server.updates) == 1

    def test_a_server_that_swallows_everything(
        self, r: Release, server: GuardedServer, client: WorkflowClient
    ) -> None:
        server.faults = ["lost"] * 20
        with pytest.raises(Indeterminate) as caught:
            client.advance(r.run.value, "submit")
        server.faults = []
        assert caught.value.pending is not None
        assert not client.resolve(caught.value.pending).resolved
        assert len(self.events(server)) == 1

    def test_an_unreachable_server(self, r: Release, server: GuardedServer, client: WorkflowClient) -> None:
        server.query_faults = ["unreachable"]
        with pytest.raises(Unreachable) as read:
            client.status(r.run.value)
        server.query_faults = ["lost"]
        with pytest.raises(Unreachable) as lost:
            client.advance(r.run.value, "submit")
        server.faults = ["unreachable"]
        with pytest.raises(Unreachable) as written:
            client.advance(r.run.value, "submit")
        assert [exit_code(e.value) for e in (read, lost, written)] == [7, 7, 7]
        assert server.updates == []

    def test_zeros_that_cannot_be_explained_are_indeterminate(
        self, r: Release, server: GuardedServer, client: WorkflowClient
    ) -> None:
        server.before_update = lambda: self.connect(r, server).advance(r.run.value, "submit")
        server.query_faults = ["ok", "ok", "lost"]
        with pytest.raises(Indeterminate):
            client.advance(r.run.value, "submit")

    def test_a_kept_advance_survives_a_crash(
        self, r: Release, server: GuardedServer, client: WorkflowClient
    ) -> None:
        kept: list[str] = []

        def keep(pending: Pending) -> None:
            kept.append(pending.to_json())
            assert server.updates == []

        client.advance(r.run.value, "submit", keep=keep)
        again = self.connect(r, server, key=None)
        assert again.send(Pending.from_json(kept[0])).resolved
        assert len(self.events(server)) == 1

    def test_another_event_at_the_iri_is_a_conflict(
        self, r: Release, server: GuardedServer, client: WorkflowClient
    ) -> None:
        kept: list[Pending] = []
        client.advance(r.run.value, "submit", keep=kept.append)
        event = kept[0].event
        changed = without({q for q in server.quads() if q.s == event}, NAMES.to_state)
        changed |= {Quad(event, NAMES.to_state, text("Elsewhere"), r.graph)}
        forged = self.serve(r.setup() | changed)
        with pytest.raises(Conflict, match="another event"):
            self.connect(r, forged).resolve(kept[0])

    @pytest.mark.parametrize("faults", [["lost"], ["answer lost"], ["lost", "answer lost"], ["late"]])
    def test_define_and_start_are_resolved_too(self, r: Release, faults: list[str]) -> None:
        server = self.serve(r.registration_quads())
        client = self.connect(r, server)
        edge = Edge(r.step("end").value, "Draft", "End")
        server.faults = list(faults)
        client.define(r.plan.value, label="P", initial="Draft", terminal=["End"], steps=[edge])
        server.faults = list(faults)
        client.start(r.run.value, r.plan.value)
        assert client.status(r.run.value).revision == "0"
        server.faults = ["lost"] * 20
        with pytest.raises(Indeterminate):
            client.start(f"{r.prefix}/second", r.plan.value)
        server.faults = ["unreachable"]
        with pytest.raises(Unreachable):
            client.start(f"{r.prefix}/second", r.plan.value)

    # --- verification -----------------------------------------------------------------------------------

    def test_a_forged_history_fails(self, r: Release, server: GuardedServer, client: WorkflowClient) -> None:
        client.advance(r.run.value, "submit")
        forged = {q._replace(o=number(5)) if q.p == NAMES.current_revision else q for q in server.quads()}
        with pytest.raises(VerificationFailed) as caught:
            self.connect(r, self.serve(forged)).verify(r.run.value)
        assert exit_code(caught.value) == 1
        assert caught.value.problems

    def test_trusted_keys_in_place_of_registrations(
        self, r: Release, server: GuardedServer, client: WorkflowClient
    ) -> None:
        client.advance(r.run.value, "submit")
        bare = {q for q in server.quads() if q.s != r.registration}
        reader = self.connect(r, self.serve(bare), agent=None, key=None)
        with pytest.raises(VerificationFailed):
            reader.verify(r.run.value)
        assert reader.verify(r.run.value, keys={r.agent_name: [key("old"), key(r.agent_name)]}).ok
        with pytest.raises(VerificationFailed):
            reader.verify(r.run.value, keys={r.agent_name: [key("somebody")]})
        assert [line.problem is None for line in reader.history(r.run.value, keys={})] == [False]

    def test_the_registration_is_printed_not_loaded(
        self, r: Release, server: GuardedServer, client: WorkflowClient
    ) -> None:
        text_ = client.registration_text([r.plan.value])
        assert key(r.agent_name) in text_
        assert r.agent.value in text_
        assert seed(r.agent_name).hex() not in text_
        assert server.updates == []

    def test_every_outcome_has_its_exit_code(self) -> None:
        outcomes: list[tuple[TreadleError | None, int]] = [
            (None, 0),
            (VerificationFailed("x", problems=()), 1),
            (Refused("x", reason="x"), 2),
            (ConfigError("x"), 2),
            (Conflict("x"), 4),
            (Unreachable("x"), 7),
            (Indeterminate("x"), 8),
        ]
        assert [exit_code(error) for error, _ in outcomes] == [code for _, code in outcomes]

    def test_labels_do_not_identify_steps(self, r: Release, client: WorkflowClient) -> None:
        assert LABEL.value.endswith("label")
        with pytest.raises(Refused):
            client.advance(r.run.value, "Submit")
