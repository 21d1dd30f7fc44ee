"""Which commands perform which transitions and lease operations of a workflow."""

from __future__ import annotations

from collections.abc import Iterator

from treadle.model import contract as c


def effects_of(command: c.Command) -> Iterator[c.Effect]:
    """Every effect of a command: its own, those of its loop, and those of its decisions' arms."""
    decisions = [*command.decisions, *(command.loop.decisions if command.loop is not None else ())]
    yield from command.effects
    if command.loop is not None:
        yield from command.loop.effects
    for decision in decisions:
        for arm in decision.arms:
            if isinstance(arm.action, c.Apply):
                yield from arm.action.effects


def performers(contract: c.Contract, workflow: str) -> dict[str, list[str]]:
    """Commands by what they do to a workflow: a transition's name, or `lease claim` and the like."""
    found: dict[str, list[str]] = {}
    for command in contract.commands:
        for effect in effects_of(command):
            match effect:
                case c.TransitionEffect(workflow=name, transition=what) if name == workflow:
                    _note(found, what, command.name)
                case c.LeaseEffect(workflow=name, op=op) if name == workflow:
                    _note(found, f"lease {op}", command.name)
                case _:
                    continue
    return found


def _note(found: dict[str, list[str]], what: str, command: str) -> None:
    names = found.setdefault(what, [])
    if command not in names:
        names.append(command)
