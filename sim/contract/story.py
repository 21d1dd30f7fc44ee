"""A failing history in words."""

from __future__ import annotations

from collections.abc import Sequence

from sim.contract.script import Step

_WORDS = {
    "create": "worker {worker} creates job {job}",
    "look": "worker {worker} reads job {job}",
    "claim": "worker {worker} claims job {job}",
    "renew": "worker {worker} renews its lease on job {job}",
    "release": "worker {worker} releases job {job}",
    "expire": "worker {worker} clears a lapsed lease on job {job}",
    "start": "worker {worker} starts job {job}",
    "finish": "worker {worker} finishes job {job}",
    "remove": "worker {worker} removes job {job}",
    "repeat": "a client repeats a request ({amount})",
    "batch": "worker {worker} sends a batch around job {job}",
    "advance": "the clock goes on by {amount} s",
    "back": "the clock is set back by {amount} s",
    "reopen": "the process of handle {handle} ends and comes back",
    "power": "the power fails ({amount})",
    "disk": "the disk fails soon ({amount})",
    "deploy": "a successor contract is deployed",
}
_FATES = {"heard": "", "lost": "; the answer is lost", "twice": "; the request arrives twice"}
_TALKS = {"create", "claim", "renew", "release", "expire", "start", "finish", "remove", "batch"}


def tell(script: Sequence[Step]) -> str:
    """One line a step."""
    lines = []
    for number, step in enumerate(script, start=1):
        fate = _FATES[step.fate] if step.kind in _TALKS else ""
        via = f" (handle {step.handle})" if step.kind not in ("advance", "back", "power") else ""
        lines.append(f"  {number:>4}  {_WORDS[step.kind].format(**step._asdict())}{fate}{via}")
    return "\n".join(lines)
