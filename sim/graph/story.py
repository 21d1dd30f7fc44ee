"""A failing history in words."""

from __future__ import annotations

from collections.abc import Sequence

from sim.graph.names import AGENTS, RUNS
from sim.graph.script import Step

_WORDS = {
    "define": "{agent} defines the plan of {run}",
    "start": "{agent} starts {run}",
    "advance": "{agent} takes a step of {run} ({amount})",
    "race": "{agent} and another race for a step of {run} ({amount})",
    "hold": "{agent} signs a step of {run} and keeps it back",
    "resolve": "a step that was signed before is resolved ({amount})",
    "handmade": "{agent} sends a step of {run} made by hand ({amount})",
    "update": "{agent} changes other data ({amount})",
    "attack": "{agent} touches what is protected ({amount})",
    "batch": "several requests share a batch ({amount})",
    "repeat": "a request is sent again ({amount})",
    "deliver": "what was delayed arrives",
    "register": "a key of {agent} is registered ({amount})",
    "retire": "a key of {agent} is retired ({amount})",
    "rotate": "{agent} takes its other key",
    "switch": "processing is switched ({amount})",
    "look": "somebody looks ({amount})",
    "job": "a desk is asked for ({amount})",
    "advance_clock": "the clock goes on by {amount} s",
    "back": "the clock is set back by {amount} s",
    "reopen": "the process of handle {handle} ends and comes back",
    "rebuild": "handle {handle} builds its index anew",
    "power": "the power fails ({amount})",
    "disk": "the disk fails soon ({amount})",
    "backup": "a backup is made",
    "restore": "the latest backup is restored",
}
_FATES = {
    "heard": "",
    "lost": "; it is lost on its way",
    "answer lost": "; the answer is lost",
    "late": "; it arrives too late",
    "twice": "; it arrives twice",
    "unsent": "; nobody is there",
}
_QUIET = {
    "rotate", "switch", "advance_clock", "back", "reopen", "rebuild", "power", "disk", "backup", "restore",
}  # fmt: skip


def tell(script: Sequence[Step]) -> str:
    """One line a step."""
    lines = []
    for number, step in enumerate(script, start=1):
        quiet = step.kind in _QUIET
        named = step._asdict() | {"agent": AGENTS[step.agent], "run": RUNS[step.run].iri}
        tail = "" if quiet else f"{_FATES[step.fate]} (handle {step.handle})"
        lines.append(f"  {number:>4}  {_WORDS[step.kind].format(**named)}{tail}")
    return "\n".join(lines)
