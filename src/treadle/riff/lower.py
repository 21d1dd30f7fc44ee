"""A checked unit as a contract: what the checks found out, without text and without symbols.

Called only where nothing was refused, so every name is known and every expression typed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from treadle.errors import check
from treadle.model import contract as m
from treadle.model.types import Type
from treadle.riff import syntax as s
from treadle.riff.symbols import (
    AggregateSymbol,
    BindingSymbol,
    BlockSymbol,
    CommandSymbol,
    DecisionSymbol,
    EntitySymbol,
    FieldSymbol,
    LoopSymbol,
    OutcomeSymbol,
    ReimportSymbol,
    Unit,
    WorkflowSymbol,
)


def lower(unit: Unit, identity: str) -> m.Contract:
    """The contract of a unit without errors. `identity` is the SHA-256 of its canonical source, in hex."""
    lowering = _Lowering(unit)
    return m.Contract(
        name=unit.tree.name.text,
        version=unit.tree.version.value,
        identity=identity,
        enums=tuple(m.EnumDecl(enum.name, tuple(enum.variants)) for enum in unit.enums.values()),
        entities=tuple(map(lowering.entity, unit.entities.values())),
        events=tuple(
            m.Event(event.name, _texts(event.node.partition_by), _fields(event.fields.values()))
            for event in unit.events.values()
        ),
        aggregates=tuple(map(lowering.aggregate, unit.aggregates.values())),
        workflows=tuple(map(_workflow, unit.workflows.values())),
        commands=tuple(map(lowering.command, unit.commands)),
        reimports=tuple(map(lowering.reimport, unit.reimports)),
        principal_facts=tuple(m.Field(name, _known(kind)) for name, (_, kind) in unit.facts.items()),
        row_policies=tuple(lowering.policy(node) for node, _ in unit.policies),
    )


def _known(found: Any) -> Any:
    check(found is not None, "what was not refused is resolved")
    return found


def _texts(names: Iterable[s.Name]) -> tuple[str, ...]:
    return tuple(name.text for name in names)


def _fields(members: Iterable[FieldSymbol]) -> tuple[m.Field, ...]:
    return tuple(m.Field(member.name, _known(member.type), member.secret) for member in members)


def _workflow(workflow: WorkflowSymbol) -> m.Workflow:
    node = workflow.node
    return m.Workflow(
        name=workflow.name,
        entity=node.entity.text,
        state=node.state.text,
        initial=node.initial.text if node.initial else None,
        transitions=tuple(
            m.Transition(each.name.text, _texts(each.sources), each.destination.text)
            for each in workflow.transitions.values()
        ),
        lease=_lease(node.lease) if node.lease else None,
    )


def _lease(node: s.Lease) -> m.Lease:
    return m.Lease(
        name=node.name.text,
        owner=node.owner.text,
        expires_at=node.expires_at.text,
        fencing_token=node.fencing_token.text,
        attempts=node.attempts.text if node.attempts else None,
        minimum=node.minimum.value,
        maximum=node.maximum.value,
    )


def _index(node: s.Index) -> m.Index:
    present = (option.field for option in node.options if isinstance(option, s.Presence))
    texts = (option.field for option in node.options if isinstance(option, s.TextKey))
    return m.Index(node.name.text, _texts(node.fields), _texts(present), _texts(texts))


def _delete_policy(node: s.DeletePolicy | None) -> m.DeletePolicy | None:
    match node:
        case None:
            return None
        case s.NoInbound():
            return m.NoInbound()
        case s.RestrictPolicy():
            return m.Restrict(node.entity.text, node.index.text)
        case s.CascadePolicy():
            return m.Cascade(
                tuple(
                    m.Relationship(each.entity.text, each.reference.text, each.index.text, each.maximum.value)
                    for each in node.relationships
                )
            )


def _outcome_decls(outcomes: Iterable[OutcomeSymbol]) -> tuple[m.OutcomeDecl, ...]:
    return tuple(
        m.OutcomeDecl(each.first.name.text, _payload(each.fields), each.success) for each in outcomes
    )


def _payload(fields: dict[str, Type]) -> tuple[m.Field, ...]:
    return tuple(m.Field(name, kind) for name, kind in fields.items())


class _Lowering:
    """Nodes to the contract's own, with their checked expressions."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.names: dict[str, BindingSymbol] = {}  # the bindings of the command at hand

    def expr(self, node: s.Expression) -> m.Expr:
        found: m.Expr = _known(self.unit.expr(node))
        return found

    # Data and access.

    def invariants(self, nodes: Iterable[s.Invariant]) -> tuple[m.Invariant, ...]:
        return tuple(m.Invariant(node.name.text, self.expr(node.expression)) for node in nodes)

    def entity(self, entity: EntitySymbol) -> m.Entity:
        return m.Entity(
            name=entity.name,
            key=_fields(entity.key),
            fields=_fields(member for member in entity.fields.values() if not member.key),
            invariants=self.invariants(entity.invariants.values()),
            indexes=tuple(map(_index, entity.indexes.values())),
            uniques=tuple(m.Unique(node.name.text, _texts(node.fields)) for node in entity.uniques.values()),
            references=tuple(
                m.Reference(node.name.text, _texts(node.fields), node.target.text, _texts(node.target_fields))
                for node in entity.references.values()
            ),
            delete_policy=_delete_policy(entity.policy),
        )

    def aggregate(self, aggregate: AggregateSymbol) -> m.Aggregate:
        return m.Aggregate(
            name=aggregate.name,
            root=_known(aggregate.root).name,
            children=tuple(child.name for child in aggregate.children),
            partition_by=_known(aggregate.partition),
            conflict_key=tuple(map(_known, aggregate.conflict_key)),
            invariants=self.invariants(aggregate.invariants.values()),
        )

    def policy(self, node: s.RowPolicy) -> m.RowPolicy:
        rules = tuple(self.rule(rule) for rule in node.rules)
        return m.RowPolicy(node.name.text, node.entity.text, rules)

    def rule(self, node: s.Allow) -> m.PolicyRule:
        operation: Any = node.operation
        return m.PolicyRule(operation, self.expr(node.expression))

    def reimport(self, reimport: ReimportSymbol) -> m.Reimport:
        node = reimport.node
        return m.Reimport(
            name=reimport.name,
            input=m.Field(node.input.name.text, _known(reimport.type)),
            entity=node.entity.text,
            failure=self.outcome(node.failure),
            success=self.outcome(node.success),
            outcomes=_outcome_decls(reimport.outcomes.values()),
        )

    # Commands.

    def outcome(self, node: s.Outcome) -> m.Outcome:
        return m.Outcome(node.name.text, self.entries(node.payload))

    def maybe(self, node: s.Outcome | None) -> m.Outcome | None:
        return self.outcome(node) if node is not None else None

    def entries(self, node: s.Object | None) -> tuple[m.Assign, ...]:
        entries = node.entries if node else ()
        return tuple(m.Assign(entry.name.text, self.expr(entry.value)) for entry in entries)

    def command(self, command: CommandSymbol) -> m.Command:
        node, block = command.node, command.block
        self.names = command.by_name
        services: list[Any] = [(name, each.kind) for name, each in command.services.items()]
        return m.Command(
            name=command.name,
            bulk=node.bulk,
            inputs=tuple(m.Field(name, _known(kind)) for name, (_, kind) in command.inputs.items()),
            services=tuple(m.ServiceValue(name, kind) for name, kind in services),
            idempotency_key=command.key_input,
            bindings=self.bindings(block),
            decisions=tuple(map(self.decision, block.decisions)),
            loop=self.loop(command.loop) if command.loop else None,
            requires=self.requires(block),
            effects=self.effects(block),
            success=self.outcome(_known(command.success)),
            outcomes=_outcome_decls(command.outcomes.values()),
            partition=command.partition,
        )

    def loop(self, loop: LoopSymbol) -> m.Loop:
        node, block = loop.node, loop.block
        return m.Loop(
            element=node.element.text,
            input=node.input.text,
            bindings=self.bindings(block),
            decisions=tuple(map(self.decision, block.decisions)),
            requires=self.requires(block),
            effects=self.effects(block),
        )

    def bindings(self, block: BlockSymbol) -> tuple[m.Binding, ...]:
        """Those of a block; an observed row stands with its decision."""
        observed = {id(decision.node.observe) for decision in block.decisions}
        return tuple(self.binding(each) for each in block.bindings if id(each.node) not in observed)

    def binding(self, binding: BindingSymbol) -> m.Binding:
        node = binding.node
        kind: Any = "observe" if binding.kind == "observe_or_initialize" else binding.kind
        named = {
            word: tuple(
                m.Named(each.constraint.text, self.outcome(each.outcome))
                for each in node.handlers
                if each.kind == word
            )
            for word in ("conflict", "violates")
        }
        return m.Binding(
            kind=kind,
            entity=node.entity.text,
            key=tuple(map(_known, binding.key)),
            name=binding.name,
            failure=self.maybe(node.failure),
            conflicts=named["conflict"],
            violates=named["violates"],
            restrict=self.maybe(node.restrict),
            cascade=self.maybe(node.cascade),
            initialize=self.entries(node.initialize),
        )

    def decision(self, decision: DecisionSymbol) -> m.Decision:
        binding: BindingSymbol = _known(decision.binding)
        observe = self.binding(binding) if decision.node.observe is not None else None
        arms = tuple(self.arm(arm, inner) for arm, inner in decision.arms)
        return m.Decision(binding.name, observe, arms)

    def arm(self, arm: s.Arm, inner: BlockSymbol | None) -> m.Arm:
        action: m.Action = m.NoEffect()
        if inner is not None:
            action = m.Apply(self.bindings(inner), self.effects(inner))
        elif isinstance(arm.action, s.Reject):
            action = m.Reject(self.outcome(arm.action.outcome))
        return m.Arm(self.expr(arm.when) if arm.when is not None else None, action)

    def requires(self, block: BlockSymbol) -> tuple[m.Require, ...]:
        return tuple(
            m.Require(node.name.text, self.expr(node.expression), self.outcome(node.failure))
            for node in block.requires
        )

    def effects(self, block: BlockSymbol) -> tuple[m.Effect, ...]:
        return tuple(map(self.effect, block.effects))

    def effect(self, node: s.Effect) -> m.Effect:
        match node:
            case s.Set():
                binding, field = _texts(node.target.parts)
                return m.Set(binding, field, self.expr(node.value))
            case s.Emit():
                return m.Emit(node.event.text, self.entries(node.payload))
            case s.DoTransition():
                return self.transition(node)
            case s.DoLease():
                return self.lease(node)

    def transition(self, node: s.DoTransition) -> m.TransitionEffect:
        return m.TransitionEffect(
            workflow=self.workflow(node.binding),
            transition=node.transition.text,
            binding=node.binding.text,
            revision=_input(node.revision),
            stale=self.outcome(node.stale),
            illegal=self.outcome(node.illegal),
        )

    def workflow(self, binding: s.Name) -> str:
        """The workflow of the row that a binding of this command names."""
        entity: EntitySymbol = _known(self.names[binding.text].entity)
        workflow: WorkflowSymbol = _known(entity.workflow)
        return workflow.name

    def lease(self, node: s.DoLease) -> m.LeaseEffect:
        values = {part: _input(value) for part, value in node.values}
        outcomes = {word: self.outcome(outcome) for word, outcome in node.outcomes}
        op: Any = node.op
        return m.LeaseEffect(
            op=op,
            workflow=self.workflow(node.binding),
            lease=node.lease.text,
            binding=node.binding.text,
            revision=values["revision"],
            owner=values.get("owner"),
            fencing_token=values.get("fencing_token"),
            duration=values.get("duration_seconds"),
            stale=outcomes["stale"],
            unavailable=outcomes.get("unavailable"),
            invalid=outcomes.get("invalid"),
            expired=outcomes.get("expired"),
            exhausted=outcomes.get("exhausted"),
            active=outcomes.get("active"),
        )


def _input(node: s.Expression) -> str:
    check(isinstance(node, s.Path), "evidence is a direct input")
    return node.parts[0].text if isinstance(node, s.Path) else ""
