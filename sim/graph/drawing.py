"""Which updates are sent: over a few terms, so that they meet one another, and over what is protected."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from sim.graph import names as n
from sim.graph.names import IDENTITY, LINKS, NODES, PLACES, PLANS, RUNS, Quad, number, text
from sim.graph.updates import Change, Load, Manage, Update

_VALUES: Final = (*NODES, text("x"), '"x"@en', number(7))


def plain(dice: random.Random) -> list[Update]:
    """An update of other data, or several in a row that see one another's."""
    if dice.random() < 0.15:
        return [_load(dice)]
    count = dice.choices((1, 2, 3), (7, 2, 1))[0]
    return [dice.choices(_PLAIN, _OFTEN)[0](dice) for _ in range(count)]


def attack(dice: random.Random) -> list[Update]:
    """An update that touches what is protected, often among others that do not; some of them are allowed."""
    found = [dice.choice(_ATTACKS)(dice)]
    if isinstance(found[0], Load):
        return found
    if dice.random() < 0.3:
        found.insert(0, _insert(dice))
    if dice.random() < 0.3:
        found.append(_modify(dice))
    return found


def _place(dice: random.Random) -> str:
    return dice.choices(PLACES, (4, 3, 2))[0]


def _data(dice: random.Random, most: int = 3) -> tuple[Quad, ...]:
    return tuple(
        (dice.choice(NODES), dice.choice(LINKS), dice.choice(_VALUES), _place(dice))
        for _ in range(dice.randint(1, most))
    )


def _node(dice: random.Random) -> str:
    """A blank node, whose label no other operation of the request may have."""
    return f"_:n{dice.randrange(1_000_000)}"


def _insert(dice: random.Random) -> Update:
    quads = _data(dice)
    if dice.random() < 0.2:
        node, place = _node(dice), _place(dice)
        mark = (node, LINKS[0], number(dice.randrange(1_000_000)), place)
        quads = (*quads, mark, (dice.choice(NODES), LINKS[1], node, place))
    return Change(insert=quads)


def _delete(dice: random.Random) -> Update:
    return Change(delete=_data(dice))


def _count(dice: random.Random) -> Update:
    """One more: what comes twice counts twice."""
    node, place = dice.choice(NODES), _place(dice)
    old: Quad = (node, n.COUNT, "?n", place)
    return Change((old,), ((node, n.COUNT, "?m", place),), (old,), plus=("?n", "?m"))


def _begin(dice: random.Random) -> Update:
    """A counter where there is none."""
    node, place = dice.choice(NODES), _place(dice)
    return Change(
        insert=((node, n.COUNT, number(0), place),), where=(), absent=((node, n.COUNT, "?n", place),)
    )


def _modify(dice: random.Random) -> Update:
    place = dice.choice((*PLACES, "?g"))
    found: Quad = ("?s", dice.choice(LINKS), "?o", place)
    where: tuple[Quad, ...] = (found,)
    if dice.random() < 0.4:
        where = (found, ("?o", dice.choice(LINKS), "?t", place))
    delete = (dice.choice(where),) if dice.random() < 0.7 else ()
    subject = dice.choice(("?s", "?o", NODES[0], _node(dice)))
    insert: tuple[Quad, ...] = ((subject, dice.choice(LINKS), dice.choice(("?s", "?o")), _place(dice)),)
    if delete and dice.random() < 0.3:
        insert = ()
    absent = ((dice.choice(NODES), LINKS[0], "?o", place),) if dice.random() < 0.2 else ()
    if not insert and len(where) == 1:
        return Change(delete=where, where=where)
    return Change(delete, insert, where, absent)


def _manage(dice: random.Random) -> Update:
    verb = dice.choice(("CLEAR", "DROP", "CREATE", "ADD", "COPY", "MOVE"))
    graph = PLACES[2]  # no plans are there, so mostly nothing is protected
    silent = dice.random() < 0.5
    if verb in ("CLEAR", "DROP", "CREATE"):
        return Manage(verb, (graph,), silent)
    return Manage(verb, (graph, dice.choice((graph, "<urn:sim:g3>"))), silent)


def _load(dice: random.Random) -> Update:
    place = _place(dice)
    quads = [(s, p, o, place) for s, p, o, _ in _data(dice, 5)]
    if dice.random() < 0.3:
        quads.append((_node(dice), LINKS[0], number(dice.randrange(1_000_000)), place))
    return Load(tuple(quads), place, place == PLACES[2] and dice.random() < 0.5)


_PLAIN: Final[tuple[Callable[[random.Random], Update], ...]] = (
    _insert,
    _delete,
    _count,
    _begin,
    _modify,
    _manage,
)
_OFTEN: Final = (5, 3, 3, 2, 4, 2)


# What is protected.


def _run_state(dice: random.Random) -> Update:
    run = dice.choice(RUNS)
    subject = f"<{run.iri}>"
    old: Quad = (subject, n.STATE, "?s", run.place)
    return Change((old,), ((subject, n.STATE, text(run.plan.edges[0].target), run.place),), (old,))


def _run_revision(dice: random.Random) -> Update:
    run = dice.choice(RUNS)
    subject = f"<{run.iri}>"
    old: Quad = (subject, n.REVISION, "?n", run.place)
    return Change((old,), ((subject, n.REVISION, "?m", run.place),), (old,), plus=("?n", "?m"))


def _run_away(dice: random.Random) -> Update:
    run = dice.choice(RUNS)
    everything: Quad = (f"<{run.iri}>", "?p", "?o", run.place)
    return Change(delete=(everything,), where=(everything,))


def _run_of_another(dice: random.Random) -> Update:
    run = dice.choice(RUNS)
    subject, other = f"<{run.iri}>", dice.choice(PLANS)
    old: Quad = (subject, n.RUN_OF, "?d", run.place)
    return Change((old,), ((subject, n.RUN_OF, f"<{other.iri}>", run.place),), (old,))


def _event_away(dice: random.Random) -> Update:
    place = dice.choice(PLACES[:2])
    where: tuple[Quad, ...] = (("?e", n.TYPE, n.EVENT, place), ("?e", "?p", "?o", place))
    return Change(delete=where[1:], where=where)


def _event_says(dice: random.Random) -> Update:
    place = dice.choice(PLACES[:2])
    return Change(
        insert=(("?e", dice.choice((n.LABEL, LINKS[0])), text("late"), place),),
        where=(("?e", n.TYPE, n.EVENT, place),),
    )


def _plan_changes(dice: random.Random) -> Update:
    plan, place = dice.choice(PLANS), _place(dice)
    edge = dice.choice(plan.edges)
    old: Quad = (f"<{edge.iri}>", n.TO, "?s", place)
    return Change((old,), ((f"<{edge.iri}>", n.TO, text(plan.initial), place),), (old,))


def _plan_grows(dice: random.Random) -> Update:
    plan, other = dice.choice(PLANS), dice.choice(PLANS)
    return Change(insert=((f"<{plan.iri}>", n.HAS_STEP, f"<{other.edges[0].iri}>", _place(dice)),))


def _plan_label(dice: random.Random) -> Update:
    """Allowed: a label may be replaced."""
    plan, place = dice.choice(PLANS), _place(dice)
    old: Quad = (f"<{plan.iri}>", n.LABEL, "?l", place)
    return Change((old,), ((f"<{plan.iri}>", n.LABEL, text(f"Plan {dice.randrange(9)}"), place),), (old,))


def _plan_note(dice: random.Random) -> Update:
    """Allowed: plans and runs may be annotated."""
    subject = dice.choice((dice.choice(PLANS).iri, dice.choice(RUNS).iri))
    return Change(insert=((f"<{subject}>", LINKS[0], text("noted"), _place(dice)),))


def _retyped(dice: random.Random) -> Update:
    run = dice.choice(RUNS)
    kind = dice.choice((n.EVENT, n.DEFINITION, n.REGISTRATION, n.RUN, n.STEP))
    subject = dice.choice((f"<{run.iri}>", NODES[0]))
    return Change(insert=((subject, n.TYPE, kind, run.place),))


def _untyped(dice: random.Random) -> Update:
    predicate = dice.choice((n.STATE, n.REVISION, n.IN_RUN, n.FROM, n.INITIAL))
    return Change(insert=((dice.choice(NODES), predicate, text("x"), _place(dice)),))


def _whole_graph(dice: random.Random) -> Update:
    verb = dice.choice(("CLEAR", "DROP", "COPY", "MOVE", "ADD"))
    if verb in ("CLEAR", "DROP"):
        return Manage(verb, (dice.choice((*PLACES, IDENTITY, "NAMED", "ALL")),), dice.random() < 0.5)
    pair = dice.sample((*PLACES, IDENTITY), 2)
    return Manage(verb, tuple(pair), dice.random() < 0.5)


def _replaced(dice: random.Random) -> Update:
    place = _place(dice)
    return Load(tuple((s, p, o, place) for s, p, o, _ in _data(dice)), place, True)


def _registered(dice: random.Random) -> Update:
    """A key that nobody looked at: in a graph that does not count, half, doubled, or of small order."""
    quads = n.registration(n.STRANGER, 0)
    fault = dice.randrange(5)
    if fault == 0:
        quads = [(s, p, o, PLACES[1]) for s, p, o, _ in quads]
    elif fault == 1:
        quads = [quad for quad in quads if quad[1] != n.ATTESTS]
    elif fault == 2:
        quads.append((quads[0][0], n.KEY, text(n.public("alice", 1)), IDENTITY))
    elif fault == 3:
        quads = [quad if quad[1] != n.KEY else (*quad[:2], text("00" * 32), quad[3]) for quad in quads]
    else:
        quads = [(n.registration("alice", 0)[0][0], n.VERIFIER, text("alice"), PLACES[1])]
    return Change(insert=tuple(quads))


def _bad_plan(dice: random.Random) -> Update:
    """A plan of its own IRI that cannot be walked, or is not whole."""
    sound = PLANS[dice.randrange(len(PLANS))]
    iri = f"http://sim.example/odd/{dice.randrange(1_000)}"
    place, fault = _place(dice), dice.randrange(7)
    quads = [
        tuple(term.replace(sound.iri, iri) for term in quad)  # its steps come under its own IRI too
        for quad in sound.quads(place)
    ]
    own = f"<{iri}>"
    if fault == 0:
        quads = [quad for quad in quads if quad[1] != n.TERMINAL]
    elif fault == 1:
        quads.append((own, n.TERMINAL, text(sound.initial), place))
    elif fault == 2:
        quads = [quad for quad in quads if (quad[1], quad[2]) != (n.TYPE, n.aegis("Workflow"))]
    elif fault == 3:
        quads = [(s, p, o, g if s == own else PLACES[2 if g != PLACES[2] else 0]) for s, p, o, g in quads]
    elif fault == 4:
        quads.append((f"<{iri}/x>", n.TYPE, n.STEP, place))
    elif fault == 5:  # a step as well, and a whole one
        states = ((n.FROM, text("A")), (n.TO, text("B")))
        facts = ((n.TYPE, n.STEP), (n.TYPE, n.aegis("Step")), *states)
        quads += [(own, p, o, place) for p, o in facts]
    return Change(insert=tuple((s, p, o, g) for s, p, o, g in quads))


def _false_start(dice: random.Random) -> Update:
    """A run that begins in the middle, or in a graph without its plan; or rightly."""
    run = dice.choice(RUNS)
    iri = f"<http://sim.example/odd/run/{dice.randrange(3)}>"
    quads = [(iri, p, o, g) for _, p, o, g in run.start()]
    fault = dice.randrange(4)
    if fault == 0:
        quads = [(s, p, number(1) if p == n.REVISION else o, g) for s, p, o, g in quads]
    elif fault == 1:
        quads = [(s, p, text("Review") if p == n.STATE else o, g) for s, p, o, g in quads]
    elif fault == 2:
        quads = [(s, p, o, PLACES[2]) for s, p, o, _ in quads]
    return Change(insert=tuple(quads))


_ATTACKS: Final[tuple[Callable[[random.Random], Update], ...]] = (
    _run_state,
    _run_revision,
    _run_away,
    _run_of_another,
    _event_away,
    _event_says,
    _plan_changes,
    _plan_grows,
    _plan_label,
    _plan_note,
    _retyped,
    _untyped,
    _whole_graph,
    _whole_graph,
    _replaced,
    _registered,
    _bad_plan,
    _false_start,
)
