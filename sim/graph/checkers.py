"""What must hold of every history, whatever went wrong while it was made.

The checkers see the log, the stored statements, and what clients sent, heard and read. They know no fault,
and share no code with the engine: what updates do is in `updates`, what may be written in `rules`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from sim.graph import names as n
from sim.graph import rules
from sim.graph.facts import Facts, Spot, kinds, objects, only
from sim.graph.names import Quad, number, text
from sim.graph.script import HANDLES
from sim.graph.updates import Data, Impossible, Update, nodes, shape, solutions
from sim.graph.world import PLAIN, Answer, Capable, Look, Sent, There, Told, Verified, World
from sim.scenario import demand
from treadle.errors import TreadleError
from treadle.graph.client import Pending
from treadle.history import Entry

_LINE: Final = re.compile(r"(\S+) (<\S+>) (.+?)(?: (<\S+>))? \.")
_NEVER: Final = ("internal", "denied", "invalid_input", "database_corrupt", "deadline", "sparql_limit")


class Delta(NamedTuple):
    """What a record, or an update, changes."""

    removed: frozenset[Quad]
    added: frozenset[Quad]
    created: frozenset[str]
    dropped: frozenset[str]

    @property
    def nothing(self) -> bool:
        return not any(self)


class History:
    """Walks the log and keeps its own idea of the graph; on the way it compares what was seen."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.facts = Facts()
        self.enrolled = False
        self.always = True
        self.identity: frozenset[str] | None = None
        self.records: dict[int, tuple[str, Delta]] = {}
        self.refusals: Counter[str] = Counter()
        self.landed: dict[str, int] = {}
        self.never: dict[str, int] = {}
        self.steps: dict[tuple[Spot, str], int] = {}
        self.commands: dict[int, Entry] = {}
        self.fences: Counter[int] = Counter()

    def walk(self, entries: Sequence[Entry]) -> None:
        known = [seen for seen in self.world.seen if seen.at is not None]
        seen = sorted(known, key=lambda seen: seen.at or 0)
        place, time = 0, entries[0].time
        for at, entry in enumerate(entries, start=1):
            demand(entry.number == at, f"record {at} is missing from the log")
            demand(entry.time >= time, f"record {at}: time ran backward")
            time = entry.time
            self._record(entry)
            while place < len(seen) and seen[place].at == at:
                self._compare(seen[place], f"after record {at}")
                place += 1
        demand(place == len(seen), f"what was seen after record {seen[-1].at if seen else 0} is lost")

    # Records.

    def _record(self, entry: Entry) -> None:
        where = f"record {entry.number} ({entry.kind} by {entry.principal})"
        if entry.graph is not None:
            demand(entry.kind == "update", f"{where}: it changes the graph")
            graph = entry.graph
            delta = Delta(
                frozenset(map(_quad, graph.removed)),
                frozenset(map(_quad, graph.added)),
                frozenset(graph.created),
                frozenset(graph.dropped),
            )
            self._update(entry, delta, where)
        elif entry.kind == "update":
            demand(False, f"{where}: it changes nothing, and should not be there")
        elif entry.kind == "refusal":
            self._refusal(entry, where)
        elif entry.kind in ("enroll", "disenroll"):
            self.enrolled = entry.kind == "enroll"
            named = entry.body.get("identity_graphs")
            self.identity = None if named is None else frozenset(f"<{name}>" for name in named)
            self.always = self.always and self.enrolled
        elif entry.kind == "command":
            self._command(entry, where)

    def _update(self, entry: Entry, delta: Delta, where: str) -> None:
        facts = self.facts
        demand(delta.removed <= facts.quads, f"{where}: it removes what was not there")
        demand(not delta.added & facts.quads, f"{where}: it adds what was there")
        demand(delta.dropped <= facts.graphs, f"{where}: it drops a graph that was not there")
        demand(not delta.created & facts.graphs, f"{where}: it makes a graph that was there")
        sent = self._sender(entry, where)
        if sent is not None and sent.updates is not None:
            self._same(sent.updates, delta, where)
        reason = self._judged(delta, sent)
        demand(reason is None, f"{where}: it was taken, and the rules say: {reason}")
        if self.enrolled:
            self._events(delta, entry.number, where)
        facts.change(delta.removed, delta.added)
        facts.graphs = (facts.graphs | delta.created) - delta.dropped
        used = {g for _, _, _, g in delta.added if g}
        demand(used <= facts.graphs, f"{where}: it writes to a graph that does not exist")
        self.records[entry.number] = entry.principal, delta

    def _sender(self, entry: Entry, where: str) -> Sent | None:
        if entry.principal == "beginning":
            return None
        demand(entry.principal in self.world.sent, f"{where}: nobody sent it")
        return self.world.sent[entry.principal]

    def effect(self, updates: Iterable[Update]) -> Delta:
        """What updates do to the graph as it is; raises `Impossible`."""
        data, facts = Data(self.facts.quads, self.facts.graphs), self.facts
        for update in updates:
            data.carry_out(update)
        return Delta(
            frozenset(facts.quads - data.quads),
            frozenset(data.quads - facts.quads),
            frozenset(data.graphs - facts.graphs),
            frozenset(facts.graphs - data.graphs),
        )

    def _same(self, updates: Iterable[Update], delta: Delta, where: str) -> None:
        try:
            wanted = self.effect(updates)
        except Impossible:
            demand(False, f"{where}: the update is an error, and was carried out")
            return
        known = nodes(self.facts.quads) if nodes(delta.added) else set()
        added, expected = shape(delta.added, known), shape(wanted.added, known)
        demand(delta.removed == wanted.removed, f"{where}: it removed {delta.removed}, not {wanted.removed}")
        demand(added == expected, f"{where}: it added {added}, not {expected}")
        demand(delta[2:] == wanted[2:], f"{where}: graphs {delta[2:]}, not {wanted[2:]}")

    def _judged(self, delta: Delta, sent: Sent | None) -> str | None:
        """Why the rules refuse a change, or None."""
        plain = sent is not None and sent.role == PLAIN
        removed, added = tuple(delta.removed), tuple(delta.added)
        if not self.enrolled:
            return "no permission" if plain and rules.forbidden((*removed, *added)) else None
        may = rules.May(not plain, not plain, self.identity)
        return rules.refusal(self.facts, removed, added, may)

    def _events(self, delta: Delta, at: int, where: str) -> None:
        """No run has two steps from one revision."""
        said: dict[Spot, dict[str, str]] = {}
        for s, p, o, g in delta.added:
            said.setdefault((s, g), {})[p] = o
        for (s, g), facts in said.items():
            if facts.get(n.TYPE) != n.EVENT:
                continue
            step = (facts[n.IN_RUN], g), facts[n.FROM_REVISION]
            demand(step not in self.steps, f"{where}: {s} is a second step of {step}")
            self.steps[step] = at
            self.landed[facts[n.SIGNATURE]] = at

    def _refusal(self, entry: Entry, where: str) -> None:
        sent = self._sender(entry, where)
        self.refusals[entry.principal] += 1
        if sent is not None and sent.updates is not None:
            try:
                reason = self._judged(self.effect(sent.updates), sent)
            except Impossible:
                reason = "impossible"
            demand(reason is not None, f"{where}: it was refused ({entry.name}), and the rules allow it")

    def _command(self, entry: Entry, where: str) -> None:
        self.commands[entry.number] = entry
        if entry.outcome == "Claimed":
            desk = entry.input["desk"]
            self.fences[desk] += 1
            (row,) = entry.rows
            fence = (row.fields or {})["fence"]
            demand(fence == self.fences[desk], f"{where}: fence {fence}, not {self.fences[desk]}")

    # What was seen.

    def _compare(self, seen: object, where: str) -> None:
        if isinstance(seen, Answer):
            self._answer(seen, where)
        elif isinstance(seen, Look):
            rows = sorted(tuple(row[name] for name in seen.variables) for row in self._rows(seen))
            demand(rows == seen.rows, f"{where}: {seen.where} was answered {seen.rows}, not {rows}")
        elif isinstance(seen, Told):
            self._told(seen, where)
        elif isinstance(seen, There):
            whole = seen.quads <= self.facts.quads
            demand(whole == seen.whole, f"{where}: a client told {seen.whole} of {seen.quads}")
        elif isinstance(seen, Verified):
            self._verified(seen, where)
        elif isinstance(seen, Capable):
            demand(seen.enabled == self.enrolled, f"{where}: processing was said to be {seen.enabled}")

    def _verified(self, seen: Verified, where: str) -> None:
        """A run comes out right for whoever has all keys, while processing was on all the time."""
        if not self.always:
            return
        run = (f"<{seen.run.iri}>", seen.run.place)
        events = sum((q[2], q[3]) == run for q in self.facts.saying(n.IN_RUN))
        state, revision = (only(self.facts, run, p) or "" for p in (n.STATE, n.REVISION))
        wanted = n.value_of(state), n.value_of(revision), events
        demand(seen.found == wanted, f"{where}: a client verified {run}: {seen.found}, {seen.problem}")

    def _rows(self, seen: Look) -> Iterable[dict[str, str]]:
        return solutions(self.facts.quads, seen.where)

    def _answer(self, seen: Answer, where: str) -> None:
        sent, answer = seen.sent, seen.answer
        who = f"{where}: {sent.principal}"
        if isinstance(answer, TreadleError):
            code = answer.code
            demand(code not in _NEVER, f"{who} heard {code}: {answer!r} {answer.__cause__!r}")
            if code == "sparql_syntax":
                try:
                    self.effect(sent.updates or ())
                except Impossible:
                    return
                demand(False, f"{who} heard an error, and the update is none: {answer}")
            return
        if answer.tx is None:
            if sent.updates is not None:
                try:
                    nothing = self.effect(sent.updates).nothing
                except Impossible:
                    nothing = False
                demand(nothing, f"{who} heard that nothing changes, and it would")
            return
        known = self.records.get(answer.tx)
        demand(known is not None and known[0] == sent.principal, f"{who}: record {answer.tx} is another's")
        if known is not None:
            counts = len(known[1].added), len(known[1].removed)
            demand((answer.asserted, answer.retracted) == counts, f"{who} heard {answer}, not {counts}")

    def _told(self, seen: Told, where: str) -> None:
        pending = seen.pending
        place = f"<{pending.graph}>" if pending.graph else ""
        signature = text(pending.signature)
        here = [q for q in self.facts.saying(n.SIGNATURE) if q[2] == signature]
        who = f"{where}: a client told {seen.how} of {pending.step} from {pending.from_revision}"
        if seen.how == "landed":
            event = next((q[0] for q in here if q[3] == place), "")
            whole = all((event, p, o, place) in self.facts.quads for p, o in _said(pending))
            demand(whole, f"{who}, and the event is not there")
            demand(len(here) == 1 or not self.always, f"{who}, and the event is there {len(here)} times")
            return
        demand(all(q[3] != place for q in here), f"{who}, and the event is there")
        if seen.how == "conflict":
            run = (f"<{pending.run}>", place)
            stands = only(self.facts, run, n.STATE), only(self.facts, run, n.REVISION)
            signed = text(pending.from_state), number(pending.from_revision)
            demand(stands != signed, f"{who}, and the run stands there")
            if int(n.value_of(stands[1] or number(0))) > int(pending.from_revision):
                self.never.setdefault(signature, seen.at)


def _said(pending: Pending) -> list[tuple[str, str]]:
    """The statements of a signed step's event, but for its own name."""
    return [
        (n.TYPE, n.EVENT),
        (n.IN_RUN, f"<{pending.run}>"),
        (n.AT_STEP, f"<{pending.step}>"),
        (n.FROM, text(pending.from_state)),
        (n.TO, text(pending.to_state)),
        (n.ENDED, text(pending.at)),
        (n.BY, f"<{pending.performer}>"),
        (n.FROM_REVISION, number(pending.from_revision)),
        (n.VERSION, number(2)),
        (n.SIGNATURE, text(pending.signature)),
    ]


def _quad(line: str) -> Quad:
    found = _LINE.fullmatch(line)
    if found is None:
        raise ValueError(line)
    s, p, o, g = found.groups()
    return s, p, o, g or ""


def check(world: World) -> int:
    """Check everything that was seen in `world`; returns how many records there are. Raises `Broken`."""
    demand(not world.broken, "; ".join(world.broken))
    db = world.handle(0)
    demand(len(set(world.histories)) == len(world.histories), "a restored database has its old history")
    entries = list(db.log(unmasked=True))
    history = History(world)
    history.walk(entries)
    _check_stored(world, history.facts)
    _check_sent(world, history)
    _check_runs(history)
    _check_commands(world, history)
    report = db.verify()
    demand(report.ok, f"verify: {'; '.join(map(str, report.problems[:3]))}")
    return len(entries)


def _check_stored(world: World, facts: Facts) -> None:
    """The stored statements, and what each handle has in memory, are what the log says."""
    with world.handle(0)._engine.store.read() as tx:
        stored, graphs = set(tx.quads()), set(tx.graphs())
    demand(stored == facts.quads, f"stored, and not in the log: {_differing(stored, facts.quads)}")
    demand(graphs == facts.graphs, f"graphs {graphs} are stored, the log says {facts.graphs}")
    sizes = Counter(g for _, _, _, g in facts.quads)
    for handle in range(HANDLES):
        graph = world.handle(handle).graph
        held = set(map(_quad, graph.export().splitlines()))
        demand(held == facts.quads, f"handle {handle} has other statements: {_differing(held, facts.quads)}")
        named = {f"<{item[0]}>" if item[0] else "": item[1] for item in graph.graphs()}
        wanted = {name: sizes[name] for name in ("", *facts.graphs)}
        demand(named == wanted, f"handle {handle} names graphs {named}, not {wanted}")


def _differing(one: set[Quad], other: set[Quad]) -> list[Quad]:
    return sorted(one ^ other)[:4]


def _check_sent(world: World, history: History) -> None:
    """What was acknowledged is there once; what was not, no oftener than it may be."""
    found: dict[str, list[int]] = {}
    for at, (principal, _) in history.records.items():
        found.setdefault(principal, []).append(at)
    for principal, sent in world.sent.items():
        there = found.get(principal, [])
        lost = [at for at in sent.certain if at not in there]
        demand(not lost, f"{principal} was acknowledged as record {lost}, and is not there")
        most = len(sent.certain) + sent.unknown
        demand(len(there) <= most, f"{principal} is there {len(there)} times, and {most} at most may be")
        refused = history.refusals[principal]
        demand(refused >= sent.refused, f"{principal} was refused {sent.refused} times, {refused} recorded")
    for signature, at in history.never.items():
        landed = history.landed.get(signature)
        demand(
            landed is None or landed < at,
            f"a step, told lost after {at}, is record {landed}",
        )


def _check_runs(history: History) -> None:
    """While processing was on all the time, a run is as far as it has events."""
    facts = history.facts
    if not history.always:
        return
    events = Counter((q[2], q[3]) for q in facts.saying(n.IN_RUN))
    for s, _, o, g in list(facts.saying(n.TYPE)):
        if o == n.RUN:
            revision = objects(facts, (s, g), n.REVISION)
            demand(revision == [number(events[s, g])], f"{s} has {events[s, g]} events at {revision}")
        demand(o != n.EVENT or kinds(facts, (s, g)) == {n.EVENT}, f"{s} is an event and something else")


def _check_commands(world: World, history: History) -> None:
    for key, asked in world.asked.items():
        for receipt in asked.receipts:
            entry = history.commands.get(receipt.commit)
            same = entry is not None and (entry.name, entry.outcome) == (asked.name, receipt.outcome)
            demand(same, f"{key}: {receipt!r} is not what the log has")
            first = asked.receipts[0]
            same = (receipt.commit, receipt.fields) == (first.commit, first.fields)
            demand(same, f"{key}: {receipt!r} and {first!r} answer the same request")
