"""What may be written to an enrolled graph: docs/explain/guard.md, a second time and without the engine.

`refusal` says why a change must be refused, in words of its own, or None. It sees the statements before, what
the change takes away and brings, and what its sender may do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from sim.graph import names as n
from sim.graph.facts import After, Facts, Spot, View, kinds, objects, only
from sim.graph.names import Quad, value_of

_OWNERS: Final = {
    **dict.fromkeys((n.RUN_OF, n.STATE, n.REVISION), frozenset((n.RUN,))),
    **dict.fromkeys((n.IN_RUN, n.AT_STEP, n.FROM_REVISION, n.VERSION), frozenset((n.EVENT,))),
    **dict.fromkeys((n.INITIAL, n.TERMINAL), frozenset((n.DEFINITION,))),
    **dict.fromkeys((n.FROM, n.TO), frozenset((n.STEP, n.EVENT))),
}
_PROCESS: Final = {n.TYPE, n.INITIAL, n.TERMINAL, n.HAS_STEP, n.FROM, n.TO}
_IDENTITY: Final = {n.VERIFIER, n.KEY, n.ATTESTS, n.AGENT}
_SIGNED: Final = (n.IN_RUN, n.AT_STEP, n.FROM, n.TO, n.ENDED, n.BY, n.FROM_REVISION)
_EVENT: Final = (*_SIGNED, n.VERSION, n.SIGNATURE)
_IRIS: Final = {n.IN_RUN, n.AT_STEP, n.BY}
_TIME: Final = re.compile(r'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"')
_KEY: Final = re.compile(r'"[0-9a-f]{64}"')
_SMALL: Final = {n.text("00" * 32), n.text("01" + "00" * 31)}


class May(NamedTuple):
    """What a sender may do, and whose registrations count: those of these graphs, of every one where None."""

    identity: bool = True
    define: bool = True
    graphs: frozenset[str] | None = frozenset((n.IDENTITY,))


def refusal(before: Facts, removed: Sequence[Quad], added: Sequence[Quad], may: May) -> str | None:
    """Why a change must be refused, or None where it must be taken."""
    return next(_refusals(_Case(before, removed, added, may)), None)


class _Case:
    """A change, and the subjects that it touches."""

    def __init__(self, before: Facts, removed: Sequence[Quad], added: Sequence[Quad], may: May) -> None:
        self.may = may
        self.before = before
        self.after = After(before, removed, added)
        self.changed = (*removed, *added)
        self.added = added
        self.spots = {(s, g) for s, _, _, g in self.changed}
        self.touched = {spot: {p for s, p, _, g in self.changed if (s, g) == spot} for spot in self.spots}

    def new(self, kind: str) -> list[Spot]:
        return [s for s in self.spots if kind in kinds(self.after, s) and kind not in kinds(self.before, s)]

    def old(self, kind: str) -> list[Spot]:
        return [spot for spot in self.spots if kind in kinds(self.before, spot)]


def _refusals(case: _Case) -> Iterator[str]:
    yield from _permissions(case)
    yield from _roles(case)
    yield from _fixed(case)
    yield from _registrations(case)
    for spot in case.new(n.STEP):
        yield from _step(case.after, spot)
    for spot in case.new(n.DEFINITION):
        yield from _definition(case.after, spot)
    yield from _events(case)
    yield from _runs(case)


def forbidden(changed: Sequence[Quad]) -> bool:
    """Whether a change needs the permission to say who somebody is."""
    return any(p in _IDENTITY or (p, o) == (n.TYPE, n.REGISTRATION) for _, p, o, _ in changed)


def _permissions(case: _Case) -> Iterator[str]:
    if not case.may.identity and forbidden(case.changed):
        yield "a registration without permission"
    if not case.may.define and (case.new(n.DEFINITION) or case.new(n.STEP) or case.new(n.RUN)):
        yield "a plan or a run without permission"


def _roles(case: _Case) -> Iterator[str]:
    for spot in case.spots:
        was, now = kinds(case.before, spot), kinds(case.after, spot)
        if spot[0].startswith("_:") and (now or was - {n.REGISTRATION}):
            yield "a blank node"
        if len(now) > 1:
            yield "two roles"
    for s, p, _, g in case.added:
        owners = _OWNERS.get(p)
        if owners is not None and not owners & kinds(case.after, (s, g)):
            yield f"{p} on {s} without its type"
    if any(p.startswith("<urn:x-treadle:") for _, p, _, _ in case.changed):
        yield "the record of an operator"


def _fixed(case: _Case) -> Iterator[str]:
    """Events do not change, plans keep their process, runs keep plan and type."""
    if case.old(n.EVENT):
        yield "an event changes"
    for spot in (*case.old(n.DEFINITION), *case.old(n.STEP)):
        if case.touched[spot] & _PROCESS:
            yield f"the plan {spot[0]} changes"
        label = only(case.after, spot, n.LABEL)
        if n.LABEL in case.touched[spot] and not (label and _plain(label)):
            yield f"the plan {spot[0]} loses its label"
    for spot in case.old(n.RUN):
        if case.touched[spot] & {n.TYPE, n.RUN_OF}:
            yield f"the run {spot[0]} becomes another"


def _registrations(case: _Case) -> Iterator[str]:
    for s, g in {(s, g) for s, p, o, g in case.changed if forbidden([(s, p, o, g)])}:
        elsewhere = case.after.places(s) - {g}
        if n.REGISTRATION not in kinds(case.after, (s, g)):
            here = forbidden([(s, p, o, g) for p, o in case.after.facts((s, g))])
            if here and any(n.REGISTRATION in kinds(case.after, (s, other)) for other in elsewhere):
                yield "a registration in two graphs"
        elif not _whole(case.after, (s, g)) or len(objects(case.after, (s, g), n.KEY)) > 1:
            yield "a registration that is not whole"
        elif any(forbidden([(s, p, o, "") for p, o in case.after.facts((s, at))]) for at in elsewhere):
            yield "a registration in two graphs"


def _whole(view: View, spot: Spot) -> bool:
    verifier = only(view, spot, n.VERIFIER)
    keys, agents = objects(view, spot, n.KEY), objects(view, spot, n.AGENT)
    attests = objects(view, spot, n.ATTESTS)
    sound = all(_KEY.fullmatch(key) and key not in _SMALL for key in keys)
    iris = all(agent.startswith("<") for agent in agents)
    return bool(verifier and _name(verifier) and sound and iris and len(agents) < 2 and attests)


def _plain(term: str) -> bool:
    """A plain string that can be signed."""
    return term[0] == '"' and term[-1] == '"' and len(term) > 2 and "|" not in term


def _name(term: str) -> bool:
    return _plain(term) and " " not in term


def _step(view: View, spot: Spot) -> Iterator[str]:
    labels = [only(view, spot, p) for p in (n.LABEL, n.FROM, n.TO)]
    if (n.TYPE, n.aegis("Step")) not in view.facts(spot) or not all(t and _plain(t) for t in labels):
        yield f"the step {spot[0]} is not whole"


def _definition(view: View, spot: Spot) -> Iterator[str]:
    g = spot[1]
    terminal, steps = objects(view, spot, n.TERMINAL), objects(view, spot, n.HAS_STEP)
    initial, label = only(view, spot, n.INITIAL), only(view, spot, n.LABEL)
    texts = (initial, label, *terminal)
    if (n.TYPE, n.aegis("Workflow")) not in view.facts(spot) or not terminal or not steps:
        yield f"the plan {spot[0]} is not whole"
    if not all(text and _plain(text) for text in texts):
        yield f"the plan {spot[0]} lacks a text"
    edges = [(only(view, (step, g), n.FROM), only(view, (step, g), n.TO)) for step in steps]
    if any(n.STEP not in kinds(view, (step, g)) for step in steps) or any(None in edge for edge in edges):
        yield f"the plan {spot[0]} names what is no step here"
    named = {(step.rpartition("/")[2], edge[0]) for step, edge in zip(steps, edges, strict=True)}
    left = {edge[0] for edge in edges}
    if len(named) < len(steps) or left & set(terminal):
        yield f"the plan {spot[0]} has an ambiguous step, or one out of its end"
    if not ({initial} | {edge[1] for edge in edges}) <= left | set(terminal):
        yield f"the plan {spot[0]} has a dead end"


def _events(case: _Case) -> Iterator[str]:
    seen: set[str] = set()
    moved: set[tuple[str | None, str]] = set()
    signers: dict[str, str] = {}
    for spot in case.new(n.EVENT):
        problem = _event_problem(case.after, spot)
        if problem is not None:
            yield problem
            continue
        run, by = only(case.after, spot, n.IN_RUN) or "", only(case.after, spot, n.BY) or ""
        if (run, spot[1]) in moved:
            yield "two steps of one run"
        moved.add((run, spot[1]))
        yield from _advance(case, spot, (run, spot[1]))
        signature = only(case.after, spot, n.SIGNATURE) or ""
        if signature in seen or any(q[2] == signature for q in _committed(case.before, n.SIGNATURE)):
            yield "a signature that was used"
        seen.add(signature)
        if signers.setdefault(agent_of(by), by) != by or any(
            agent_of(q[2]) == agent_of(by) and q[2] != by for q in _committed(case.before, n.BY)
        ):
            yield "one name, two agents"


def _committed(before: Facts, predicate: str) -> Iterator[Quad]:
    """What events say."""
    return (q for q in before.saying(predicate) if n.EVENT in kinds(before, (q[0], q[3])))


def agent_of(iri: str) -> str:
    """An agent's name."""
    return value_of(iri).rpartition(":")[2]


def _event_problem(view: View, spot: Spot) -> str | None:
    found = {p: only(view, spot, p) for p in _EVENT}
    for p, term in found.items():
        if term is None:
            return f"the event has not one {p}"
        if p in _IRIS and term[0] != "<":
            return f"the event's {p} is no IRI"
    if found[n.VERSION] != n.number(2):
        return "the event is of another version"
    if not _TIME.fullmatch(found[n.ENDED] or ""):
        return "the event's time is none"
    if any("|" in (found[p] or "") for p in _SIGNED):
        return "a field with a bar"
    allowed = {*_EVENT, n.LABEL}
    if any(p not in allowed and (p, o) != (n.TYPE, n.EVENT) for p, o in view.facts(spot)):
        return "the event says more than it may"
    return None


def _advance(case: _Case, spot: Spot, run: Spot) -> Iterator[str]:
    before, after, g = case.before, case.after, spot[1]
    old, new = (only(view, run, n.REVISION) for view in (before, after))
    was, now = (only(view, run, n.STATE) for view in (before, after))
    if n.RUN not in kinds(before, run) or not case.touched.get(run, set()) & {n.STATE, n.REVISION}:
        yield "an event of a run that does not move"
        return
    if None in (old, new, was, now):
        yield "a run without one state and revision"
        return
    if old != only(after, spot, n.FROM_REVISION) or new != n.number(int(value_of(old or "")) + 1):
        yield "another revision"
    states = only(after, spot, n.FROM), only(after, spot, n.TO)
    if (was, now) != states:
        yield "another state"
    plan, step = only(after, run, n.RUN_OF) or "", only(after, spot, n.AT_STEP) or ""
    declared = (n.HAS_STEP, step) in after.facts((plan, g)) and n.STEP in kinds(after, (step, g))
    if not declared or (only(after, (step, g), n.FROM), only(after, (step, g), n.TO)) != states:
        yield "a step that the plan does not declare"
    if not _signed(case, spot, plan):
        yield "a signature that no key of its time verifies"


def _signed(case: _Case, spot: Spot, plan: str) -> bool:
    """Whether a key that was registered before verifies an event, for a plan."""
    before, view, graphs = case.before, case.after, case.may.graphs
    terms = [only(view, spot, p) or "" for p in _SIGNED]
    data = n.message(*map(value_of, terms))
    signature, by = only(view, spot, n.SIGNATURE) or "", terms[5]
    for s, _, verifier, g in before.saying(n.VERIFIER):
        at = (s, g)
        if graphs is not None and g not in graphs:
            continue
        if value_of(verifier) != agent_of(by) or n.REGISTRATION not in kinds(before, at):
            continue
        key, agents = only(before, at, n.KEY), objects(before, at, n.AGENT)
        attested = {value_of(term) for term in objects(before, at, n.ATTESTS)}
        usable = key and _whole(before, at) and agents in ([], [by]) and value_of(plan) in attested
        if usable and verifies(value_of(key or ""), value_of(signature), data):
            return True
    return False


@lru_cache(maxsize=20_000)
def verifies(key: str, signature: str, data: bytes) -> bool:
    """Whether a signature as it is written verifies."""
    if re.fullmatch("[0-9a-f]{128}", signature) is None:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(bytes.fromhex(signature), data)
    except InvalidSignature:
        return False
    return True


def _runs(case: _Case) -> Iterator[str]:
    before, after = case.before, case.after
    moved = {(only(after, spot, n.IN_RUN), spot[1]) for spot in case.new(n.EVENT)}
    for spot in case.spots:
        if n.RUN not in kinds(after, spot):
            continue
        plan, revision = only(after, spot, n.RUN_OF), only(after, spot, n.REVISION)
        state = only(after, spot, n.STATE)
        whole = plan and revision and state and state[-1] == '"' and n.integer(revision) is not None
        if not whole or n.DEFINITION not in kinds(after, (plan or "", spot[1])):
            yield f"the run {spot[0]} is not whole"
            return
        if n.RUN in kinds(before, spot):
            if case.touched[spot] & {n.STATE, n.REVISION} and spot not in moved:
                yield f"the run {spot[0]} moves without an event"
        elif (state, revision) != (only(after, (plan or "", spot[1]), n.INITIAL), n.number(0)):
            yield f"the run {spot[0]} does not begin at the beginning"
        elif spot in moved or any((q[2], q[3]) == spot for q in _committed(before, n.IN_RUN)):
            yield f"the run {spot[0]} begins with an event"
