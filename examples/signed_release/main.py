"""A release that is submitted, sent back, submitted again and approved: every step signed by an agent's key.

What is forged, stale or replayed is refused by the database itself, whoever sends it and however. At the end
the history is verified without the database: from an exported Turtle file and the public keys alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import treadle
from treadle.graph import IRI, Literal, WorkflowClient
from treadle.graph.client import Edge, Pending, VerificationFailed
from treadle.graph.client.embedded import DocumentTransport
from treadle.graph.keys import AgentKey, create_key, load_key

HERE = Path(__file__).resolve().parent
DATABASE, EXPORT = HERE / "release.db", HERE / "release.ttl"
IDENTITY = "http://example.org/identity"
PLAN, RUN = "http://example.org/plans/release", "http://example.org/runs/42"
ALICE, BOB = "urn:agent:alice", "urn:agent:bob"
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"

ADVANCE = """
PREFIX aegis: <http://aegis.gastown.local/ontology/>
PREFIX prov: <http://www.w3.org/ns/prov#>
DELETE { ?run aegis:currentState ?state ; aegis:currentRevision ?revision }
INSERT {
  ?run aegis:currentState ?to ; aegis:currentRevision ?next .
  ?event a aegis:TransitionEvent ;
    aegis:inRun ?run ; aegis:atStep ?step ; aegis:fromState ?from ; aegis:toState ?to ;
    prov:endedAtTime ?at ; aegis:performedBy ?agent ; aegis:fromRevision ?claimed ;
    aegis:transitionVersion 2 ; aegis:signature ?signature .
}
WHERE { ?run aegis:currentState ?state ; aegis:currentRevision ?revision }
"""
"""What somebody sends who goes around the client: it moves the run, whatever its state and revision are."""


def say(line: str) -> None:
    print(f"  {line}", flush=True)


def key_of(name: str) -> AgentKey:
    """The key of an agent, made when it runs for the first time: a key is never made again."""
    path = HERE / f"{name}.pem"
    return load_key(path) if path.exists() else create_key(path)


def agent(db: treadle.Database, name: str) -> WorkflowClient:
    """An agent with its own key. The public key is what the database knows; no private one ever goes in."""
    return WorkflowClient(db.acting_as(name).graph, agent=f"urn:agent:{name}", key=key_of(name))


def register(db: treadle.Database, *agents: WorkflowClient) -> None:
    """A person with the identity permission reviews and loads what the agents print."""
    admin = db.acting_as("admin").graph
    for one in agents:
        admin.load(one.registration_text([PLAN]), graph=IDENTITY)


def release(alice: WorkflowClient, bob: WorkflowClient) -> tuple[Pending, Pending]:
    """The run up to its second review. Answers two signed advances: one that landed, one kept back."""
    print("A plan with a loop, and two agents, each with a key of its own:")
    edges = (
        Edge(f"{PLAN}/submit", "Draft", "Review"),
        Edge(f"{PLAN}/rework", "Review", "Draft"),
        Edge(f"{PLAN}/approve", "Review", "Released"),
    )
    alice.define(PLAN, label="Release", initial="Draft", terminal=["Released"], steps=edges)
    alice.start(RUN, PLAN)
    submitted = alice.sign(RUN, "submit")
    tell("alice submits", alice.send(submitted))
    kept = bob.sign(RUN, "approve")
    say("bob signs an approval at revision 1, and keeps it back")
    tell("bob sends it back instead", bob.advance(RUN, "rework"))
    tell("alice submits again", alice.advance(RUN, "submit"))
    say("the run is in Review again, as it was when bob signed; only the revision tells the two apart")
    return submitted, kept


def tell(what: str, done: Any) -> None:
    say(f"{what}: {done.from_state} -> {done.to_state}, now at revision {done.revision}")


def push(db: treadle.Database, signed: Pending) -> int:
    """Send an advance without asking the client, and answer the number of statements that it added."""
    terms: dict[str, IRI | Literal] = {
        "run": IRI(signed.run),
        "event": signed.event,
        "step": IRI(signed.step),
        "from": Literal(signed.from_state),
        "to": Literal(signed.to_state),
        "at": Literal(signed.at),
        "agent": IRI(signed.performer),
        "claimed": Literal(signed.from_revision, INTEGER),
        "next": Literal(signed.to_revision, INTEGER),
        "signature": Literal(signed.signature),
    }
    return db.graph.update(ADVANCE, bindings=terms, principal="mallory").asserted


def refused(what: str, act: Callable[[], object]) -> None:
    """Run what must not succeed, and say what the database says to it."""
    try:
        act()
    except treadle.Refused as error:
        say(f"{what}: refused, {error.reason}")
    else:
        raise SystemExit(f"{what}: went through")


def attacks(
    db: treadle.Database, alice: WorkflowClient, bob: WorkflowClient, old: Pending, kept: Pending
) -> None:
    print("What else is sent to the run, around the client:")
    honest = bob.sign(RUN, "approve")
    refused("forged, bob's approval with another key", lambda: push(db, honest.signed(key_of("mallory"))))
    refused("stale, the approval that bob kept back", lambda: push(db, kept))
    again = replace(kept, from_revision=honest.from_revision, to_revision=honest.to_revision)
    refused("stale, with the revision written anew", lambda: push(db, again))
    refused("replayed, alice's first submit", lambda: push(db, old))
    refused("no event at all, the state alone", lambda: db.graph.update(BARE, principal="mallory"))
    if alice.resolve(old).resolved:
        say("sent once more by the client that sent it: it had landed before, and nothing is written")
    tell("bob approves, at the revision that he sees", bob.send(honest))


BARE = f"""
PREFIX aegis: <http://aegis.gastown.local/ontology/>
DELETE {{ <{RUN}> aegis:currentState ?state }} INSERT {{ <{RUN}> aegis:currentState "Released" }}
WHERE {{ <{RUN}> aegis:currentState ?state }}
"""


def offline(keys: dict[str, list[str]]) -> None:
    """Verify from a file and public keys: no database, no server, no private key."""
    print("The history, from the exported file and the public keys alone:")
    text = EXPORT.read_text(encoding="utf-8")
    folded = WorkflowClient(DocumentTransport(text, "turtle")).verify(RUN, keys=keys)
    say(f"{len(folded.events)} signed events lead from Draft to {folded.state}, revision {folded.revision}")
    other = text.replace('"Released"', '"Draft"')
    try:
        WorkflowClient(DocumentTransport(other, "turtle")).verify(RUN, keys=keys)
    except VerificationFailed as error:
        say(f"with one word of the file changed: {error.problems[0].detail}")
    else:
        raise SystemExit("the changed file was not found out")


def main() -> None:
    for old in HERE.glob("release.*"):
        old.unlink()
    options = treadle.GraphOptions(enforce_workflows=True, identity_graphs=[IDENTITY])
    with treadle.open(DATABASE, graph=options) as db:
        alice, bob = agent(db, "alice"), agent(db, "bob")
        register(db, alice, bob)
        submitted, kept = release(alice, bob)
        attacks(db, alice, bob, submitted, kept)
        report = db.verify()
        if not report.ok:
            raise SystemExit(f"history does not agree: {report.problems[0]}")
        EXPORT.write_text(db.graph.export(format="turtle"), encoding="utf-8")
    keys = {name: [key_of(name).public_key] for name in ("alice", "bob")}
    offline(keys)
    print("Look around in this folder:")
    say(f"treadle graph history {RUN} · treadle log --kind refusal · treadle verify")
    trust = " ".join(f"--trust {name}=$(treadle graph keys show {name}.pem)" for name in keys)
    say(f"treadle graph verify {RUN} --file release.ttl {trust}")


if __name__ == "__main__":
    main()
