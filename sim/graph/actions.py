"""What each step does. Clients act on what they last saw, so some of what they send is stale: as in life."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Final

from sim.graph import drawing, signing
from sim.graph import names as n
from sim.graph.names import AGENTS, LINKS, NODES, PLACES, RUNS, Quad, registration
from sim.graph.script import Step
from sim.graph.updates import Change, Update, block
from sim.graph.wire import Wire, deliver
from sim.graph.world import (
    PLAIN,
    SECONDS,
    Asked,
    Capable,
    Look,
    Sent,
    There,
    Told,
    Verified,
    World,
    attempts,
)
from tests.faults.vfs import KINDS, Keep
from treadle.access.caller import Caller
from treadle.engine.job import Job
from treadle.engine.request import Request
from treadle.errors import OutcomeUnknown, Refused, StoreError, TreadleError
from treadle.graph.client import Conflict, Edge, Pending, VerificationFailed, WorkflowClient
from treadle.graph.keys import AgentKey
from treadle.graph.live.changes import Changed

Table = list[tuple[str, ...]]

KEPT: Final = 12
"""Signed steps that are kept to be sent again."""


def act(world: World, step: Step) -> None:
    """Carry out one step; errors of the store are part of life and end the step."""
    _ACTS[step.kind](world, step, random.Random(step.amount))


# The workflow client.


def _client(world: World, step: Step, dice: random.Random, agent: str | None = None) -> tuple[Wire, Any]:
    """An agent's client for the step's run, and its wire."""
    who = agent or AGENTS[step.agent]
    wire = Wire(world, who, step.handle)
    wire.fates = [step.fate] if step.fate != "heard" else []
    if step.fate != "heard" and dice.random() < 0.3:
        wire.fates.append(dice.choice(("lost", "answer lost", "late")))
    wire.remote = dice.random() < 0.5
    wire.deaf = dice.choices((0, 1, 9), (8, 1, 1))[0]
    run = RUNS[step.run]
    client = WorkflowClient(
        wire,
        agent=f"urn:agent:{who}",
        key=AgentKey(n.seed(who, world.keys[who])),
        graph=run.graph,
        clock=world.clock,
        ids=world.ids,
        pause=lambda _: _meanwhile(world, step, dice),
        attempts=2,
    )
    return wire, client


def _meanwhile(world: World, step: Step, dice: random.Random) -> None:
    """While a client waits, what was on its way may arrive."""
    if dice.random() < 0.5:
        _deliver(world, step, dice)


def _unbegun(step: Step, dice: random.Random) -> Step:
    """Mostly a run that is not there at the beginning."""
    return step._replace(run=dice.randrange(3, len(RUNS))) if dice.random() < 0.8 else step


def _define(world: World, step: Step, dice: random.Random) -> None:
    step = _unbegun(step, dice)
    run = RUNS[step.run]
    plan = run.plan
    edges = [Edge(edge.iri, edge.source, edge.target) for edge in plan.edges]
    _, client = _client(world, step, dice)
    wanted = frozenset(quad for quad in plan.quads(run.place) if quad[1] != n.LABEL)
    try:
        client.define(plan.iri, label="Plan", initial=plan.initial, terminal=plan.terminal, steps=edges)
    except Conflict:
        return  # its label may have been replaced
    world.see(step.handle, lambda at: There(at, wanted, True))


def _start(world: World, step: Step, dice: random.Random) -> None:
    step = _unbegun(step, dice)
    run = RUNS[step.run]
    _, client = _client(world, step, dice)
    wanted = frozenset(quad for quad in run.start() if quad[1] in (n.TYPE, n.RUN_OF))
    try:
        client.start(run.iri, run.plan.iri)
    except Conflict:
        world.see(step.handle, lambda at: There(at, wanted, False))
        return
    world.see(step.handle, lambda at: There(at, wanted, True))


def _edge(world: World, run: int, dice: random.Random) -> str:
    """A step that looks legal from what was last heard of the run; now and then any."""
    plan = RUNS[run].plan
    state = world.states.get(run, plan.initial)
    legal = [edge for edge in plan.edges if edge.source == state]
    going_on = [edge for edge in legal if edge.target not in plan.terminal]
    if going_on and dice.random() < 0.9:
        legal = going_on  # else every run is soon at its end
    return dice.choice(legal or plan.edges).iri


def _sign(world: World, step: Step, dice: random.Random, client: Any) -> Pending:
    """A step signed for what the run is at now."""
    run = RUNS[step.run]
    try:
        pending: Pending = client.sign(run.iri, _edge(world, step.run, dice))
    except Refused as error:
        if error.reason == "step_not_legal":
            world.states[step.run] = client.status(run.iri).state
        raise
    return pending


def _told(world: World, step: Step, pending: Pending, send: Callable[[Pending], Any]) -> None:
    """Send a signed step, and note what the client makes of it."""
    world.pendings.append(pending)
    del world.pendings[:-KEPT]
    how = "landed"
    try:
        send(pending)
        world.states[step.run] = pending.to_state
    except Conflict:
        how = "conflict"
        world.states.pop(step.run, None)
    except Refused as error:
        if error.reason == "processing_disabled":
            raise  # the client asked first, and says nothing of what was sent before
        how = "refused"
    world.see(step.handle, lambda at: Told(at, how, pending))


def _advance(world: World, step: Step, dice: random.Random) -> None:
    wire, client = _client(world, step, dice)
    pending = _sign(world, step, dice, client)
    try:
        _told(world, step, pending, client.send)
    finally:
        if len(wire.texts) > 1:
            world.broken.append(f"a client that advances {pending.run} sent different steps for one")


def _race(world: World, step: Step, dice: random.Random) -> None:
    """Two agents sign for one revision; the second one's lands while the first one's is under way."""
    wire, first = _client(world, step, dice)
    other = step._replace(handle=step.handle + dice.randrange(2), fate="heard")
    _, second = _client(world, other, dice, AGENTS[(step.agent + 1) % len(AGENTS)])
    pendings = [_sign(world, step, dice, client) for client in (first, second)]
    if dice.random() < 0.5:

        def cut_in() -> None:
            try:
                _told(world, other, pendings[1], second.send)
            except TreadleError:
                return

        wire.between = cut_in
        _told(world, step, pendings[0], first.send)
        return
    for client, pending, at in zip((first, second), pendings, (step, other), strict=True):
        try:
            _told(world, at, pending, client.send)
        except TreadleError:
            continue


def _hold(world: World, step: Step, dice: random.Random) -> None:
    """Sign, and keep it back."""
    _, client = _client(world, step, dice)
    world.pendings.insert(0, _sign(world, step, dice, client))


def _resolve(world: World, step: Step, dice: random.Random) -> None:
    """A signed step of before is resolved, or sent once more, whatever became of it."""
    if not world.pendings:
        return
    pending = dice.choice(world.pendings)
    at = next(place for place, run in enumerate(RUNS) if run.iri == pending.run)
    agent = pending.performer.rpartition(":")[2]
    _, client = _client(world, step._replace(run=at), dice, agent)
    _told(world, step._replace(run=at), pending, client.resolve if dice.random() < 0.7 else client.send)


# Requests made by hand.


def _send(world: World, step: Step, wanted: Sequence[Update], dice: random.Random, role: str | None) -> None:
    """Send a request, and remember it if no answer came: whoever sent it will send it again."""
    sent = world.request(AGENTS[step.agent], wanted, role)
    between = None
    if dice.random() < 0.15:
        between = _other_writer(world, step, dice)
    try:
        done = deliver(world, sent, step.handle, step.fate, between)
    except (OutcomeUnknown, StoreError):
        done = None
    except TreadleError:
        return
    if done is None:
        world.unheard.append(sent)


def _other_writer(world: World, step: Step, dice: random.Random) -> Callable[[], None]:
    """Somebody who writes through another handle in the middle of a request."""

    def write() -> None:
        other = world.request("other", drawing.plain(dice))
        try:
            world.carry_out(other, step.handle + dice.randrange(3))
        except TreadleError:
            return

    return write


def _stands(world: World, step: Step) -> tuple[str, int] | None:
    """State and revision of the step's run as a query finds them."""
    run = RUNS[step.run]
    subject = f"<{run.iri}>"
    where = ((subject, n.STATE, "?s", run.place), (subject, n.REVISION, "?n", run.place))
    rows = _ask(world, step.handle, where, ("?s", "?n"))
    if len(rows) != 1 or n.integer(rows[0][1]) is None:
        return None
    return n.value_of(rows[0][0]), n.integer(rows[0][1]) or 0


def _made(world: World, step: Step, dice: random.Random) -> signing.Made | None:
    """A sound step from where the run is now."""
    run, found = RUNS[step.run], _stands(world, step)
    if found is None:
        return None
    state, revision = found
    legal = [edge for edge in run.plan.edges if edge.source == state]
    going_on = [edge for edge in legal if edge.target not in run.plan.terminal]
    edge = dice.choice((going_on if dice.random() < 0.9 else legal) or legal or run.plan.edges)
    agent = AGENTS[step.agent]
    at = f"2026-01-01T00:00:00.{dice.randrange(10**9)}Z"
    new = (edge.target, revision + 1)
    return signing.Made(run, edge, at, agent, world.keys[agent], revision, found, new, run.place)


def _handmade(world: World, step: Step, dice: random.Random) -> None:
    made = _made(world, step, dice)
    if made is not None:
        role = PLAIN if dice.random() < 0.2 else None
        _send(world, step, signing.draw(dice, made), dice, role)


def _update(world: World, step: Step, dice: random.Random) -> None:
    _send(world, step, drawing.plain(dice), dice, PLAIN if dice.random() < 0.3 else None)


def _attack(world: World, step: Step, dice: random.Random) -> None:
    _send(world, step, drawing.attack(dice), dice, PLAIN if dice.random() < 0.3 else None)


def _repeat(world: World, step: Step, dice: random.Random) -> None:
    """A request that was not heard of, or any old one, is sent again."""
    sent = dice.choice(world.unheard) if world.unheard else None
    if sent is None or dice.random() < 0.2:
        sent = dice.choice(list(world.sent.values())) if world.sent else None
    if sent is None:
        return
    if sent in world.unheard:
        world.unheard.remove(sent)
    try:
        if deliver(world, sent, step.handle, step.fate) is None:
            world.unheard.append(sent)
    except TreadleError:
        return


def _deliver(world: World, step: Step, dice: random.Random) -> None:
    """What was delayed arrives after all, its sender long gone."""
    if not world.late:
        return
    sent = world.late.pop(dice.randrange(len(world.late)))
    try:
        world.carry_out(sent, step.handle)
    except TreadleError:
        return


def _batch(world: World, step: Step, dice: random.Random) -> None:
    """Several requests and commands in one batch: each sees what those before it did."""
    made = _made(world, step, dice)
    wanted = [drawing.plain(dice), drawing.attack(dice)]
    if made is not None:
        wanted += [signing.draw(dice, made), [made.update()], [made.update()]]
    dice.shuffle(wanted)
    db = world.handle(step.handle)
    requests = [world.request(AGENTS[step.agent], updates) for updates in wanted[:4]]
    tries: list[tuple[Sent, Any]] = []
    jobs: list[Job] = []
    for sent in requests:
        tried = attempts(db, sent)
        try:
            jobs.append(tried.job(SECONDS))
        except TreadleError:
            continue
        tries.append((sent, tried))
    asked = _command(world, step, dice)
    jobs.append(db._engine.command_job(Request(asked.name, asked.input, Caller("desk"))))
    answers = db._engine.submit(jobs, SECONDS)
    for (sent, tried), answer in zip(tries, answers, strict=False):
        try:
            done: Changed | None = tried.take(answer)
        except OutcomeUnknown:
            sent.unknown += 1
        except TreadleError as error:
            sent.refused += error.code == "refused"
        else:
            if done is not None:
                world.note(sent, done, done.tx)
    if not isinstance(answers[-1], TreadleError):
        asked.receipts.append(answers[-1])


# Identities, switches, looks, commands.


def _register(world: World, step: Step, dice: random.Random) -> None:
    """A person looks at a key, mostly the one that its agent signs with, and loads it."""
    agent = AGENTS[step.agent]
    version = world.keys[agent] if dice.random() < 0.7 else dice.randrange(2)
    quads = registration(agent, version, bind=dice.random() < 0.7)
    _send(world, step, [Change(insert=tuple(quads))], dice, PLAIN if dice.random() < 0.15 else None)


def _retire(world: World, step: Step, dice: random.Random) -> None:
    agent = AGENTS[step.agent]
    version = 1 - world.keys[agent] if dice.random() < 0.6 else dice.randrange(2)
    subject = registration(agent, version)[0][0]
    every = ((subject, "?p", "?o", n.IDENTITY),)
    _send(world, step, [Change(every, (), every)], dice, PLAIN if dice.random() < 0.15 else None)


def _rotate(world: World, step: Step, dice: random.Random) -> None:
    """An agent signs with its other key from here on, registered or not."""
    agent = AGENTS[step.agent]
    world.keys[agent] = 1 - world.keys[agent]


def _switch(world: World, step: Step, dice: random.Random) -> None:
    """Processing is switched off for two requests, and on again if the data allows it."""
    graph = world.handle(step.handle).graph
    if graph.capabilities()["processing"] == "enabled":
        graph.disenroll()
        for number in range(2):
            _update(world, step._replace(amount=step.amount + number, fate="heard"), dice)
    try:
        graph.enroll()
    except Refused:
        world.count("not enrolled")
        return
    world.see(step.handle, lambda at: Capable(at, True))


def _ask(world: World, handle: int, where: tuple[Quad, ...], variables: tuple[str, ...]) -> Table:
    """The rows of a query, as N-Quads writes terms; what was found is noted."""
    db = world.handle(handle)
    text = f"SELECT {' '.join(variables)} WHERE {{ {block(where)} }}"
    found: Any = db.graph.query(text, timeout=SECONDS)
    rows = sorted(tuple("" if term is None else term.n3() for term in row) for row in found.tuples())
    world.see(handle, lambda at: Look(at, where, variables, rows))
    return rows


def _look(world: World, step: Step, dice: random.Random) -> None:
    place = dice.choice((*PLACES, "?g"))
    run = RUNS[step.run]
    patterns: tuple[tuple[Quad, ...], ...] = (
        (("?s", dice.choice((*LINKS, n.COUNT)), "?o", place),),
        (("?s", LINKS[0], "?t", place), ("?t", LINKS[1], "?o", place)),
        ((dice.choice(NODES), "?p", "?o", place),),
        ((f"<{run.iri}>", "?p", "?o", run.place),),
        (("?e", n.IN_RUN, f"<{run.iri}>", run.place), ("?e", "?p", "?o", run.place)),
        (("?r", n.VERIFIER, "?v", n.IDENTITY), ("?r", n.KEY, "?o", n.IDENTITY)),
        (("?r", n.RUN_OF, "?d", place), ("?d", n.HAS_STEP, "?s", place), ("?s", n.TO, "?o", place)),
    )
    if dice.random() < 0.3:
        _verify(world, step, dice)
    where = dice.choice(patterns)
    variables = tuple(dict.fromkeys(term for quad in where for term in quad if term.startswith("?")))
    _ask(world, step.handle, where, variables)
    enabled = world.handle(step.handle).graph.capabilities()["processing"] == "enabled"
    world.see(step.handle, lambda at: Capable(at, enabled))


def _verify(world: World, step: Step, dice: random.Random) -> None:
    """A client replays a run with the keys that it trusts."""
    run = RUNS[step.run]
    _, client = _client(world, step, dice)
    keys = {agent: [n.public(agent, version) for version in (0, 1)] for agent in (*AGENTS, n.STRANGER)}
    found, problem = None, ""
    try:
        folded = client.verify(run.iri, keys=keys)
        found = folded.state, folded.revision, len(folded.events)
    except VerificationFailed as error:
        problem = error.message
    world.see(step.handle, lambda at: Verified(at, run, found, problem))


def _command(world: World, step: Step, dice: random.Random) -> Asked:
    """A command for a desk: to open it, to claim it, or an old one again."""
    if world.asked and dice.random() < 0.3:
        return dice.choice(list(world.asked.values()))
    key = f"key-{len(world.asked) + 1}"
    body: dict[str, Any] = {"key": key, "hall": 1, "desk": dice.randrange(2)}
    name = dice.choice(("Open", "Claim", "Claim"))
    if name == "Claim":
        more = {"worker": uuid.UUID(int=step.agent + 1), "seconds": 60, "seen": dice.randint(1, 4)}
        body |= more
    return world.asked.setdefault(key, Asked(name, body))


def _job(world: World, step: Step, dice: random.Random) -> None:
    asked = _command(world, step, dice)
    receipt = world.handle(step.handle).run(asked.name, asked.input, principal="desk")
    if step.fate in ("heard", "twice"):
        asked.receipts.append(receipt)


# The machine.


def _disk(world: World, step: Step, dice: random.Random) -> None:
    """The disk fails somewhere in the next few requests."""
    world.fail(1 + dice.randrange(9), dice.choice(KINDS))
    for number in range(3):
        kind = dice.choice((_advance, _handmade, _update, _batch))
        try:
            kind(world, step._replace(amount=step.amount + number, handle=step.handle + number % 2), dice)
        except TreadleError:
            continue
    world.mend()


def _power(world: World, step: Step, dice: random.Random) -> None:
    keeps: tuple[Keep, ...] = ("none", "all", random.Random(step.amount))
    world.cut(dice.choice(keeps))


def _rebuild(world: World, step: Step, dice: random.Random) -> None:
    """The index is built anew beside the one in use, as when that is crowded."""
    live = world.handle(step.handle).graph.core.live
    live.index()._dead = 1 << 30
    live.renew()


def _backup(world: World, step: Step, dice: random.Random) -> None:
    path = world.place / f"backup-{len(world.histories)}-{len(world.backups)}.db"
    made = world.handle(step.handle).backup(path)
    world.backups.append((path, made.number))


def _restore(world: World, step: Step, dice: random.Random) -> None:
    if world.backups:
        world.verdict()
        world.restore()


_ACTS: Final[dict[str, Callable[[World, Step, random.Random], None]]] = {
    "define": _define,
    "start": _start,
    "advance": _advance,
    "race": _race,
    "hold": _hold,
    "resolve": _resolve,
    "handmade": _handmade,
    "update": _update,
    "attack": _attack,
    "batch": _batch,
    "repeat": _repeat,
    "deliver": _deliver,
    "register": _register,
    "retire": _retire,
    "rotate": _rotate,
    "switch": _switch,
    "look": _look,
    "job": _job,
    "advance_clock": lambda world, step, dice: world.move_clock(step.amount),
    "back": lambda world, step, dice: world.move_clock(-step.amount),
    "reopen": lambda world, step, dice: world.drop(step.handle),
    "rebuild": _rebuild,
    "power": _power,
    "disk": _disk,
    "backup": _backup,
    "restore": _restore,
}
