"""What a diagram shows: the states of a workflow and its steps, and the lease that goes along with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

from treadle.errors import UnknownName
from treadle.model import contract as c
from treadle.model import types as t
from treadle.plan.clauses import loop_bindings, loop_effects, own_bindings, own_effects
from treadle.text import nearest

Kind: TypeAlias = Literal["start", "state", "final"]
START: Final = ""
"""The name of the place before the first state; no state is called so."""

SHOWN: Final = 3  # commands that a step names


class Node(NamedTuple):
    """A state. A `final` one has no way out."""

    name: str
    kind: Kind = "state"


class Edge(NamedTuple):
    """A step between two states: its `name`, and the `by` that says who takes it. `waits`: time takes it."""

    source: str
    target: str
    name: str
    by: str = ""
    waits: bool = False

    @property
    def lines(self) -> tuple[str, ...]:
        """The label, line by line."""
        return tuple(line for line in (self.name, self.by) if line)


class Chart(NamedTuple):
    title: str
    subtitle: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


class Diagram(NamedTuple):
    """One workflow: its states, and beside them its lease, which moves by itself whatever the state is."""

    name: str
    states: Chart
    lease: Chart | None

    @property
    def charts(self) -> tuple[Chart, ...]:
        return (self.states,) if self.lease is None else (self.states, self.lease)


def diagrams(contract: c.Contract) -> tuple[Diagram, ...]:
    """The diagram of every workflow, in declared order."""
    return tuple(_diagram(contract, workflow) for workflow in contract.workflows)


def diagram(contract: c.Contract, name: str) -> Diagram:
    """The diagram of the workflow `name`; raises `UnknownName` for one that the contract does not declare."""
    known = {workflow.name: workflow for workflow in contract.workflows}
    if name not in known:
        raise UnknownName(f"no workflow {name} in contract {contract.name}{nearest(name, known)}")
    return _diagram(contract, known[name])


def _diagram(contract: c.Contract, workflow: c.Workflow) -> Diagram:
    done = _Performers(contract, workflow)
    lease = None if workflow.lease is None else _lease(workflow.lease, done)
    return Diagram(workflow.name, _states(contract, workflow, done), lease)


class _Performers:
    """Which commands take the steps of a workflow."""

    def __init__(self, contract: c.Contract, workflow: c.Workflow) -> None:
        self.makers = [
            command.name
            for command in contract.commands
            if any(each.kind not in ("read", "mutate", "delete") for each in _bound(command, workflow.entity))
        ]
        self.steps: dict[str, list[str]] = {}
        self.free: set[str] = set()
        for command in contract.commands:
            effects = (*own_effects(command), *loop_effects(command))
            held = {each.binding for each in effects if isinstance(each, c.LeaseEffect) and each.owner}
            for what, binding in _steps(effects, workflow.name):
                names = self.steps.setdefault(what, [])
                if command.name not in names:
                    names.append(command.name)
                if binding not in held:
                    self.free.add(what)

    def by(self, what: str, lease: c.Lease | None = None) -> str:
        """Who takes a step, unless that is the command of its name, and whether it takes the lease."""
        names = self.steps.get(what, [])
        holding = f"holding {lease.name}" if lease and names and what not in self.free else ""
        if not names:
            return "by no command"
        if names == [what]:
            return holding
        return f"by {listed(names)}" + (f", {holding}" if holding else "")


def _bound(command: c.Command, entity: str) -> Iterator[c.Binding]:
    for binding in (*own_bindings(command), *loop_bindings(command)):
        if binding.entity == entity:
            yield binding


def _steps(effects: Iterable[c.Effect], workflow: str) -> Iterator[tuple[str, str]]:
    """Each step with the binding that takes it: a transition by its name, `lease claim` and the like."""
    for effect in effects:
        match effect:
            case c.TransitionEffect(workflow=name) if name == workflow:
                yield effect.transition, effect.binding
            case c.LeaseEffect(workflow=name) if name == workflow:
                yield f"lease {effect.op}", effect.binding
            case _:
                pass


def listed(names: list[str]) -> str:
    """Some names, the first few of many."""
    if len(names) > SHOWN + 1:
        return f"{', '.join(names[:SHOWN])} and {len(names) - SHOWN} more"
    return ", ".join(names)


def _states(contract: c.Contract, workflow: c.Workflow, done: _Performers) -> Chart:
    left = {source for each in workflow.transitions for source in each.sources}
    nodes = [Node(name, "state" if name in left else "final") for name in _variants(contract, workflow)]
    edges = []
    if workflow.initial is not None:
        nodes.insert(0, Node(START, "start"))
        edges.append(Edge(START, workflow.initial, listed(done.makers)))
    for step in workflow.transitions:
        by = done.by(step.name, workflow.lease)
        edges += [Edge(source, step.destination, step.name, by) for source in step.sources]
    return Chart(workflow.name, f"{workflow.entity}.{workflow.state}", tuple(nodes), tuple(edges))


def _variants(contract: c.Contract, workflow: c.Workflow) -> tuple[str, ...]:
    entity = next(each for each in contract.entities if each.name == workflow.entity)
    kind = next(field.type for field in entity.members if field.name == workflow.state)
    name = kind.name if isinstance(kind, t.Enum) else ""
    return next(enum.variants for enum in contract.enums if enum.name == name)


FREE, HELD, LAPSED = "free", "held", "lapsed"

_LEASE_STEPS: Final = (
    ("claim", FREE, HELD),
    ("claim", LAPSED, HELD),
    ("renew", HELD, HELD),
    ("fence", HELD, HELD),
    ("release", HELD, FREE),
    ("release", LAPSED, FREE),
    ("expire", LAPSED, FREE),
)
"""What each operation does: a lapsed lease is one whose expiry has passed and that nobody took since."""


def _lease(lease: c.Lease, done: _Performers) -> Chart:
    edges = [Edge(START, FREE, "")]
    edges += [
        Edge(source, target, op, done.by(f"lease {op}"))
        for op, source, target in _LEASE_STEPS
        if f"lease {op}" in done.steps
    ]
    edges.append(Edge(HELD, LAPSED, lease.expires_at, "has passed", waits=True))
    nodes = (Node(START, "start"), Node(FREE), Node(HELD), Node(LAPSED))
    subtitle = f"{lease.owner}, {lease.fencing_token}, {lease.minimum} to {lease.maximum} s"
    return Chart(f"lease {lease.name}", subtitle, nodes, tuple(edges))
