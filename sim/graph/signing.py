"""Steps made by hand: the sound one, and each way to get it wrong that the guard must refuse.

`draw` gives an update for a run that was just read. Whether it is refused is for the rules to say: some of
these are sound, and some are sound for one plan and not for another.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from sim.graph import names as n
from sim.graph.drawing import plain
from sim.graph.names import PLACES, PLANS, RUNS, TWIN, Edge, Quad, Run, number, text
from sim.graph.updates import Change, Load, Update


@dataclass(frozen=True)
class Made:
    """A step with all that goes into it; `old` and `new` are the run's states and revisions."""

    run: Run
    edge: Edge
    at: str
    agent: str
    version: int
    revision: int
    old: tuple[str, int]
    new: tuple[str, int]
    place: str
    performer: str = ""
    signature: str | None = None
    signer: tuple[str, int] | None = None
    extra: tuple[tuple[str, str], ...] = ()
    without: str = ""
    step_version: int = 2

    @property
    def by(self) -> str:
        return self.performer or f"urn:agent:{self.agent}"

    def signed(self) -> str:
        if self.signature is not None:
            return self.signature
        edge, revision = self.edge, str(self.revision) if self.step_version == 2 else None
        data = n.message(self.run.iri, edge.iri, edge.source, edge.target, self.at, self.by, revision)
        return n.sign(*(self.signer or (self.agent, self.version)), data)

    def event(self) -> list[Quad]:
        signature = self.signed()
        iri = f"<{self.run.iri}/made/{signature[:24]}>"
        facts = [
            (n.TYPE, n.EVENT),
            (n.IN_RUN, f"<{self.run.iri}>"),
            (n.AT_STEP, f"<{self.edge.iri}>"),
            (n.FROM, text(self.edge.source)),
            (n.TO, text(self.edge.target)),
            (n.ENDED, text(self.at)),
            (n.BY, f"<{self.by}>"),
            (n.FROM_REVISION, number(self.revision)),
            (n.VERSION, number(self.step_version)),
            (n.SIGNATURE, text(signature)),
            *self.extra,
        ]
        return [(iri, p, o, self.place) for p, o in facts if p != self.without]

    def stands(self, state: tuple[str, int]) -> list[Quad]:
        subject = f"<{self.run.iri}>"
        facts = ((n.STATE, text(state[0])), (n.REVISION, number(state[1])))
        return [(subject, p, o, self.run.place) for p, o in facts]

    def update(self) -> Change:
        """Compare and set, every term written out."""
        old = tuple(self.stands(self.old))
        return Change(old, (*self.stands(self.new), *self.event()), old)

    def loose(self) -> Change:
        """The same for whatever state and revision the run has."""
        subject = f"<{self.run.iri}>"
        old: tuple[Quad, ...] = (
            (subject, n.STATE, "?state", self.run.place),
            (subject, n.REVISION, "?revision", self.run.place),
        )
        return Change(old, (*self.stands(self.new), *self.event()), old)


def draw(dice: random.Random, made: Made) -> list[Update]:
    """A sound step as it is, or with something done to it."""
    if dice.random() < 0.3:
        return [dice.choice((made.update, made.loose))()]
    return dice.choice(_WAYS)(dice, made)


def _forged(dice: random.Random, made: Made) -> list[Update]:
    return [replace(made, signer=(n.STRANGER, 0)).update()]


def _other_key(dice: random.Random, made: Made) -> list[Update]:
    """A key of the agent that may be registered, retired, or never was."""
    return [replace(made, signer=(made.agent, 1 - made.version)).update()]


def _in_anothers_name(dice: random.Random, made: Made) -> list[Update]:
    return [replace(made, agent=dice.choice(n.AGENTS), signer=(made.agent, made.version)).update()]


def _other_iri(dice: random.Random, made: Made) -> list[Update]:
    return [replace(made, performer=f"urn:other:{made.agent}").update()]


def _wrong_revision(dice: random.Random, made: Made) -> list[Update]:
    wrong = made.revision + dice.choice((-1, 1, 2, 10))
    if wrong < 0:
        wrong = 7
    if dice.random() < 0.5:
        return [replace(made, revision=wrong).loose()]
    return [replace(made, revision=wrong, new=(made.new[0], wrong + 1)).loose()]


def _revision_written_anew(dice: random.Random, made: Made) -> list[Update]:
    """Signed for another revision, and the statement says the right one."""
    early = replace(made, revision=max(0, made.revision - 1)).signed()
    return [replace(made, signature=early).update()]


def _leap(dice: random.Random, made: Made) -> list[Update]:
    return [replace(made, new=(made.new[0], made.revision + 2)).update()]


def _still(dice: random.Random, made: Made) -> list[Update]:
    return [replace(made, new=made.old).update()]


def _undeclared(dice: random.Random, made: Made) -> list[Update]:
    """A step of another plan, or of none, or one that leads elsewhere."""
    other = dice.choice([edge for plan in PLANS for edge in plan.edges if edge != made.edge])
    if dice.random() < 0.5:
        other = Edge(other.iri, made.edge.source, made.edge.target)
    return [replace(made, edge=other, new=(other.target, made.new[1])).update()]


def _elsewhere(dice: random.Random, made: Made) -> list[Update]:
    """The event in another graph than the run."""
    return [replace(made, place=dice.choice([place for place in PLACES if place != made.place])).update()]


def _no_event(dice: random.Random, made: Made) -> list[Update]:
    return [Change(tuple(made.stands(made.old)), tuple(made.stands(made.new)))]


def _only_event(dice: random.Random, made: Made) -> list[Update]:
    return [Change(insert=tuple(made.event()))]


def _half_moved(dice: random.Random, made: Made) -> list[Update]:
    at = dice.randrange(2)
    old, new = made.stands(made.old), made.stands(made.new)
    return [Change((old[at],), (new[at], *made.event()))]


def _two_at_once(dice: random.Random, made: Made) -> list[Update]:
    again = replace(made, at=made.at.replace("Z", "1Z"))
    old = tuple(made.stands(made.old))
    return [Change(old, (*made.stands(made.new), *made.event(), *again.event()), old)]


def _two_in_a_row(dice: random.Random, made: Made) -> list[Update]:
    """Two steps of one run in one request."""
    following = [edge for edge in made.run.plan.edges if edge.source == made.new[0]]
    if not following:
        return _two_at_once(dice, made)
    edge, revision = following[0], made.revision + 1
    then = replace(made, edge=edge, revision=revision, old=made.new, new=(edge.target, revision + 1))
    return [made.update(), then.loose()]


def _piecemeal(dice: random.Random, made: Made) -> list[Update]:
    """Sound: several operations of one request come to the same change."""
    first = Change(delete=tuple(made.stands(made.old)))
    then = Change(insert=(*made.stands(made.new), *made.event()))
    return [first, then] if dice.random() < 0.5 else [then, first]


def _mixed(dice: random.Random, made: Made) -> list[Update]:
    """Among other data: sound, and all of it or nothing."""
    others = [update for update in plain(dice) if not isinstance(update, Load)]
    return [made.update(), *others] if dice.random() < 0.5 else [*others, made.loose()]


def _mixed_with_attack(dice: random.Random, made: Made) -> list[Update]:
    place = made.run.place
    where: tuple[Quad, ...] = (("?e", n.TYPE, n.EVENT, place), ("?e", n.SIGNATURE, "?s", place))
    return [made.update(), Change(delete=where[1:], where=where)]


def _with_registration(dice: random.Random, made: Made) -> list[Update]:
    """Who registers and signs in one request is not known yet."""
    stranger = replace(made, agent=n.STRANGER, version=0)
    return [Change(insert=tuple(n.registration(n.STRANGER, 0))), stranger.update()]


def _without_field(dice: random.Random, made: Made) -> list[Update]:
    field = dice.choice((n.SIGNATURE, n.BY, n.FROM_REVISION, n.VERSION, n.AT_STEP, n.IN_RUN, n.TYPE))
    return [replace(made, without=field).update()]


def _with_more(dice: random.Random, made: Made) -> list[Update]:
    more = dice.choice(
        (
            (n.LABEL, text("a note")),  # sound
            ("<urn:sim:p>", text("x")),
            (n.TYPE, "<urn:sim:Thing>"),
            (n.SIGNATURE, text("0" * 128)),
            (n.TO, text("Shut")),
        )
    )
    return [replace(made, extra=(more,)).update()]


def _old_version(dice: random.Random, made: Made) -> list[Update]:
    """Signed as it was before: without the revision."""
    return [replace(made, step_version=dice.choice((1, 3))).update()]


def _in_both_graphs(dice: random.Random, made: Made) -> list[Update]:
    """One signature for two runs of one name in two graphs: the message does not say which."""
    twin = replace(made, run=TWIN, place=TWIN.place)
    return [made.update(), twin.update()] if made.run == RUNS[0] else [made.update()]


def _broken_signature(dice: random.Random, made: Made) -> list[Update]:
    sound = made.signed()
    at = dice.randrange(len(sound))
    flipped = sound[:at] + ("0" if sound[at] != "0" else "1") + sound[at + 1 :]
    return [replace(made, signature=dice.choice((flipped, sound.upper(), sound[:-2], "0" * 128))).update()]


def _ambiguous(dice: random.Random, made: Made) -> list[Update]:
    return [replace(made, at=dice.choice(("now", f"{made.at}|x", "2026-01-01 00:00:00Z"))).update()]


_WAYS: Final[tuple[Callable[[random.Random, Made], list[Update]], ...]] = (
    _forged,
    _forged,
    _other_key,
    _other_key,
    _in_anothers_name,
    _other_iri,
    _other_iri,
    _wrong_revision,
    _wrong_revision,
    _revision_written_anew,
    _leap,
    _still,
    _undeclared,
    _undeclared,
    _elsewhere,
    _no_event,
    _only_event,
    _half_moved,
    _two_at_once,
    _two_in_a_row,
    _piecemeal,
    _mixed,
    _mixed,
    _mixed_with_attack,
    _with_registration,
    _without_field,
    _with_more,
    _old_version,
    _old_version,
    _in_both_graphs,
    _in_both_graphs,
    _broken_signature,
    _ambiguous,
)
