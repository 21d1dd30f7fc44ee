"""The client of signed workflows: reads first, signs once, and never guesses what a silence meant."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, cast

from treadle.errors import ConfigError
from treadle.graph.client import texts
from treadle.graph.client.answers import (
    Advanced,
    Conflict,
    Line,
    Pending,
    VerificationFailed,
    refuse,
)
from treadle.graph.client.plans import Edge, checked_iri, plan_quads
from treadle.graph.client.results import RunView, run_view
from treadle.graph.client.settling import Pause, Sender
from treadle.graph.client.transport import Applied, Transport
from treadle.graph.entities import Step, only_iri
from treadle.graph.fold import Folded, current_registrations, fold_run, trusted_keys
from treadle.graph.keys import AgentKey, load_key, registration_text
from treadle.graph.memory import Statements
from treadle.graph.signatures import agent_name, successor, unfit_name
from treadle.graph.terms import IRI, XSD_INTEGER, Literal, Quad
from treadle.graph.view import Graph
from treadle.graph.vocabulary import BASE_NS, RDF_TYPE, Vocabulary, vocabulary
from treadle.ports.clock import Clock, Ids
from treadle.store.clock import SystemClock
from treadle.store.ids import SystemIds

if TYPE_CHECKING:
    from treadle.graph.live.surface import Graph as Embedded

_EPOCH: Final = datetime(1970, 1, 1)
_VERSION: Final = 2


class WorkflowClient:
    """One agent's hand on a dataset's workflows.

    Args:
        url: the server's URL; a database's graph, such as `db.acting_as("alice").graph`; or any `Transport`.
        agent: the agent's IRI; its name is what follows the last `:`.
        key: the agent's key, or the path of its key file; reading needs none.
        graph: the named graph of the runs, or None for the default graph.
        token: the bearer token for a URL.
        base_ns: the dataset's namespace.
        clock: gives the time of an event; the wall clock unless given.
        ids: gives the digits after the microsecond, by which two processes of one agent never sign the same
            bytes and both take the one event for theirs.
        pause: waits between attempts to learn an outcome; `time.sleep` unless given.
        attempts: how often the same signed bytes are sent and looked for before it is given up.

    Raises:
        ConfigError: an IRI is none, the agent has no usable name, or the key file is refused.
    """

    def __init__(
        self,
        url: str | Embedded | Transport,
        *,
        agent: str | None = None,
        key: AgentKey | str | os.PathLike[str] | None = None,
        graph: str | None = None,
        token: str | None = None,
        base_ns: str = BASE_NS,
        clock: Clock | None = None,
        ids: Ids | None = None,
        pause: Pause = time.sleep,
        attempts: int = 5,
    ) -> None:
        self._transport = _connect(url, token)
        self._names: Vocabulary = vocabulary(base_ns)
        self._agent = None if agent is None else checked_iri(agent, "the agent")
        if self._agent is not None and unfit_name(agent_name(self._agent.value)):
            raise ConfigError("the agent's IRI ends in no usable name: write urn:agent:NAME")
        self._key = load_key(key) if isinstance(key, str | os.PathLike) else key
        self._graph: Graph = None if graph is None else checked_iri(graph, "the graph")
        self._clock = clock or SystemClock()
        self._ids = ids or SystemIds()
        self._sender = Sender(self._transport, self._names, pause, attempts)

    def __enter__(self) -> WorkflowClient:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections to a server; a database that was handed in stays open."""
        close = getattr(self._transport, "close", None)
        if close is not None:
            close()

    # --- reading ----------------------------------------------------------------------------------------

    def status(self, run: str) -> RunView:
        """A run with its plan and its legal next steps, as of one moment.

        Raises:
            Refused: reason `run_unknown`: there is no such run with a definition in the graph.
            Unreachable: nothing could be read.
        """
        which = checked_iri(run, "the run")
        found = self._sender.read(texts.run_and_plan(which, self._graph, self._names))
        view = run_view(found, which, self._graph, self._names)
        if view is None:
            detail = "there is no run of that IRI with a definition in this graph"
            raise refuse("run_unknown", detail, "check the run's IRI and the graph, or start it")
        return view

    def history(self, run: str, *, keys: Mapping[str, Iterable[str]] | None = None) -> list[Line]:
        """A run's events in order, each with what is wrong with it.

        Args:
            run: the run's IRI.
            keys: public keys by agent name, to trust instead of the registrations in the dataset.
        """
        folded = self._fold(run, keys)
        problems = {problem.subject: problem.detail for problem in folded.problems}
        problems.update({event.iri: "no known key verifies its signature" for event in folded.unsigned})
        return [Line(event, problems.get(event.iri)) for event in folded.events]

    def verify(self, run: str, *, keys: Mapping[str, Iterable[str]] | None = None) -> Folded:
        """Replay a run's events through its plan and check every signature; for arguments see `history`.

        Raises:
            VerificationFailed: it does not fold; `problems` says where.
        """
        folded = self._fold(run, keys)
        if not folded.ok:
            first = folded.problems[0]
            count = len(folded.problems)
            raise VerificationFailed(
                f"the run does not fold: {first.subject}: {first.detail} ({count} in all)",
                problems=folded.problems,
            )
        return folded

    # --- writing ----------------------------------------------------------------------------------------

    def define(
        self, plan: str, *, label: str, initial: str, terminal: Iterable[str], steps: Iterable[Edge]
    ) -> Applied:
        """Define a plan; doing it again exactly is no change and no error.

        Raises:
            Refused: the guard refuses the plan, or processing is not enabled.
            Conflict: another plan stands at that IRI.
        """
        self._require_processing()
        wanted = plan_quads(
            checked_iri(plan, "the plan"),
            self._graph,
            self._names,
            label=label,
            initial=initial,
            terminal=terminal,
            edges=steps,
        )
        text = texts.insert(wanted, self._graph)
        return self._sender.put(text, wanted, self._graph, "another plan stands at this IRI")

    def start(self, run: str, plan: str) -> Applied:
        """Start a run of a plan at its initial state; a run that was started so already is no error.

        Raises:
            Refused: there is no such plan, the guard refuses, or processing is not enabled.
            Conflict: a run of that IRI follows another plan.
        """
        self._require_processing()
        names, which, definition = self._names, checked_iri(run, "the run"), checked_iri(plan, "the plan")
        found = self._sender.read(texts.about(definition, graph=self._graph))
        initial = [quad for quad in found if quad.p == names.initial_state]
        if len(initial) != 1 or Quad(definition, RDF_TYPE, names.definition, self._graph) not in found:
            raise refuse("definition_unknown", "there is no such plan in this graph", "define it first")
        lasting = {
            Quad(which, RDF_TYPE, names.run, self._graph),
            Quad(which, names.run_of, definition, self._graph),
        }
        moving = {
            Quad(which, names.current_state, initial[0].o, self._graph),
            Quad(which, names.current_revision, Literal("0", XSD_INTEGER), self._graph),
        }
        text = texts.start(lasting | moving, which, definition, initial[0], self._graph, names)
        return self._sender.put(text, lasting, self._graph, "a run of this IRI follows another plan")

    def advance(
        self,
        run: str,
        step: str,
        *,
        expected_revision: str | int | None = None,
        keep: Callable[[Pending], None] | None = None,
    ) -> Advanced:
        """Take a step of a run's plan: sign it for the revision that was read, and send it.

        Args:
            run: the run's IRI.
            step: the step's name, or its IRI.
            expected_revision: refuse when the run is at another revision.
            keep: called with the signed advance before it is sent, to keep it across a crash.

        Raises:
            Refused: the step is not legal now, there is no key, processing is not enabled, or the guard
                refuses.
            Conflict: another advance came first.
            Unreachable: nothing was sent.
            Indeterminate: sent, and nothing could be learned since; `pending` is what was signed.
        """
        pending = self.sign(run, step, expected_revision=expected_revision)
        if keep is not None:
            keep(pending)
        return self._sender.send(pending, sent=False)  # `sign` has asked whether it may be written

    def sign(self, run: str, step: str, *, expected_revision: str | int | None = None) -> Pending:
        """Sign a step for the revision that is read now, and send nothing; what it raises: see `advance`."""
        self._require_processing()
        view = self.status(run)
        if expected_revision is not None and view.revision != str(expected_revision):
            raise Conflict(f"the run is at revision {view.revision}; read it again and decide anew")
        return self._sign(view, self._choose(view, step))

    def send(self, pending: Pending) -> Advanced:
        """Send a signed advance, whether for the first time or again; for what it raises see `advance`.

        However long ago it was signed, nothing is written unless processing is enabled now.
        """
        return self._sender.send(pending, sent=False, allowed=self._require_processing)

    def resolve(self, pending: Pending) -> Advanced:
        """Learn what became of a signed advance that was sent before, sending it again if it is not there.

        It is read first, whatever the server enforces; it is sent again only where processing is enabled now.
        """
        return self._sender.send(pending, sent=True, allowed=self._require_processing)

    def registration_text(self, definitions: Iterable[str], *, bind: bool = True) -> str:
        """The Turtle text by which a person registers this agent's key; the client never loads it itself.

        Args:
            definitions: the IRIs of the plans that the agent may advance.
            bind: whether the registration names the agent's IRI, so that no other may use its name.
        """
        agent, key = self._signer()
        return registration_text(
            agent_name(agent.value),
            key.public_key,
            definitions,
            agent=agent.value if bind else None,
            base_ns=self._names.base,
        )

    # --- how --------------------------------------------------------------------------------------------

    def _require_processing(self) -> None:
        """Nothing is written to a server that does not say it guards what is written."""
        found = self._sender.ask(self._transport.capabilities)
        remedy = "enroll the database (docs/howto/enroll.md), or use a client of version 1"
        if found is None:
            raise refuse(
                "processing_unknown", "the server does not say whether it enforces workflows", remedy
            )
        versions = found.get("signatureVersions")
        if found.get("processing") != "enabled":
            raise refuse("processing_disabled", "the server does not enforce workflows", remedy)
        if not isinstance(versions, list) or _VERSION not in versions:
            raise refuse("version_unsupported", "the server does not take signatures of version 2", remedy)

    def _signer(self) -> tuple[IRI, AgentKey]:
        if self._agent is None or self._key is None:
            raise refuse(
                "key_missing", "signing needs an agent and its key", "name the agent and its key file"
            )
        return self._agent, self._key

    def _choose(self, view: RunView, step: str) -> Step:
        chosen = [one for one in view.legal if step in (one.iri.value, one.name)]
        if len(chosen) == 1:
            return chosen[0]
        legal = ", ".join(view.named(one) for one in view.legal)
        if view.finished:
            raise refuse("step_not_legal", "the run is finished", "start another run")
        remedy = f"take one of: {legal}" if legal else "read the run again"
        raise refuse("step_not_legal", f"{step} is no step from the state {view.state!r}", remedy)

    def _sign(self, view: RunView, step: Step) -> Pending:
        agent, key = self._signer()
        if view.state is None or view.revision is None:
            raise refuse("run_incomplete", "the run has not one state and one revision", "migrate it first")
        pending = Pending(
            run=view.run.value,
            graph=None if view.graph is None else view.graph.value,
            definition=view.plan.iri.value,
            step=step.iri.value,
            from_state=step.from_state,
            to_state=step.to_state,
            at=_timestamp(self._clock.now(), self._ids.token(3)),
            performer=agent.value,
            from_revision=view.revision,
            to_revision=successor(view.revision),
            signature="",
            base_ns=self._names.base,
        )
        return pending.signed(key)

    def _fold(self, run: str, keys: Mapping[str, Iterable[str]] | None) -> Folded:
        which = checked_iri(run, "the run")
        found = self._sender.read(texts.run_and_history(which, self._graph, self._names))
        data = Statements(found, self._names)
        if only_iri(data.objects(which, self._names.run_of, self._graph)) is None:
            detail = "there is no run of that IRI in this graph"
            raise refuse("run_unknown", detail, "check the run's IRI and the graph")
        registered = (
            current_registrations(data, self._names)
            if keys is None
            else trusted_keys(data, self._names, keys)
        )
        return fold_run(data, which, self._graph, self._names, registered)


def _connect(url: str | Embedded | Transport, token: str | None) -> Transport:
    if not isinstance(url, str):
        return _embedded(url)
    try:
        from treadle.graph.client.http import HttpTransport
    except ImportError as error:
        raise ConfigError("the HTTP client is not installed: pip install 'treadle[client]'") from error
    return HttpTransport(url, token=token)


def _embedded(graph: Embedded | Transport) -> Transport:
    """Only who has opened a graph can hand one in: a client of servers imports none of it."""
    surface = sys.modules.get("treadle.graph.live.surface")
    if surface is None or not isinstance(graph, surface.Graph):
        return cast("Transport", graph)
    from treadle.graph.client.embedded import EmbeddedTransport

    return EmbeddedTransport(graph)


def _timestamp(microseconds: int, digits: bytes) -> str:
    moment = _EPOCH + timedelta(microseconds=microseconds)
    return f"{moment.isoformat(timespec='microseconds')}{int.from_bytes(digits):08d}Z"
