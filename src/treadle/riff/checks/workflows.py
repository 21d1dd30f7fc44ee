"""C033, C034 and W034 for workflows: whose state they move, and between which variants."""

from __future__ import annotations

from treadle.model import types as t
from treadle.riff import syntax as s
from treadle.riff.names import declare, entity, in_aggregate, look_up
from treadle.riff.symbols import EntitySymbol, EnumSymbol, Unit, WorkflowSymbol


def workflows(unit: Unit) -> None:
    for workflow in unit.workflows.values():
        workflow.entity = _entity(unit, workflow)
        if workflow.entity is not None:
            workflow.enum = _state(unit, workflow, workflow.entity)
        before = unit.report.errors
        _transitions(unit, workflow)
        if unit.report.errors == before:
            _unreached(unit, workflow)


def _entity(unit: Unit, workflow: WorkflowSymbol) -> EntitySymbol | None:
    name = workflow.node.entity
    found = entity(unit, name)
    if found is None:
        return None
    if found.workflow is not None:
        message = f"{found.name} already has workflow {found.workflow.name}; an entity has one"
        related = [("the first is here", found.workflow.node.name.at)]
        unit.report.add("C033", name.at, message, related=related)
        return None
    in_aggregate(unit, found, name.at, "C033")
    found.workflow = workflow
    return found


def _state(unit: Unit, workflow: WorkflowSymbol, owner: EntitySymbol) -> EnumSymbol | None:
    name = workflow.node.state
    member = look_up(unit.report, owner.fields, name, f"field of {owner.name} is called")
    if member is None or member.type is None:
        return None
    if member.key:
        message = f"the state is the key field `{name.text}`; a key never changes, use another field"
    elif not isinstance(member.type, t.Enum):
        message = f"the state must be a field of an enum; `{name.text}` is {member.type}"
    else:
        return unit.enums[member.type.name]
    unit.report.add("C033", name.at, message, related=[("the field is here", member.node.name.at)])
    return None


def _variant(unit: Unit, workflow: WorkflowSymbol, name: s.Name) -> None:
    enum = workflow.enum
    if enum is not None and name.text not in enum.variants:
        message = f"enum {enum.name} has no variant `{name.text}`"
        unit.report.add("C034", name.at, message, misspelt=name.text, known=enum.variants)


def _transitions(unit: Unit, workflow: WorkflowSymbol) -> None:
    if workflow.node.initial is not None:
        _variant(unit, workflow, workflow.node.initial)
    names: dict[str, s.Name] = {}
    edges: dict[tuple[str, str], s.Name] = {}
    for node in workflow.node.transitions:
        if declare(unit.report, names, node.name, f"transition of {workflow.name}", "C034"):
            workflow.transitions[node.name.text] = node
        _variant(unit, workflow, node.destination)
        for source in node.sources:
            _variant(unit, workflow, source)
            first = edges.setdefault((source.text, node.destination.text), source)
            if first is not source:
                message = f"the edge {source.text} → {node.destination.text} is declared twice; keep one"
                unit.report.add("C034", source.at, message, related=[("the first is here", first.at)])


def _unreached(unit: Unit, workflow: WorkflowSymbol) -> None:
    """Warn of states that no row can ever be in."""
    initial, enum = workflow.node.initial, workflow.enum
    if initial is None or enum is None or initial.text not in enum.variants:
        return
    onward: dict[str, list[str]] = {}
    for node in workflow.node.transitions:
        for source in node.sources:
            onward.setdefault(source.text, []).append(node.destination.text)
    reached, waiting = {initial.text}, [initial.text]
    while waiting:
        fresh = [state for state in onward.get(waiting.pop(), ()) if state not in reached]
        reached.update(fresh)
        waiting.extend(fresh)
    lost = [name for name in enum.variants if name not in reached]
    if lost:
        message = f"no path from {initial.text} reaches {', '.join(lost[:8])}{' …' if len(lost) > 8 else ''}"
        related = [(f"{name} is here", enum.variants[name].at) for name in lost[:8]]
        help = "add a transition to it, or remove the variant"
        unit.report.add("W034", initial.at, message, help=help, related=related)
