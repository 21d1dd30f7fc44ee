"""A failing history in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sim.jobs.clients import COMMANDS
from sim.jobs.script import Step

_WORDS: Final = {
    "create": "worker {worker} creates job {job}",
    "look": "worker {worker} reads job {job}",
    "board": "somebody reads all jobs at once",
    "claim": "worker {worker} claims job {job}",
    "renew": "worker {worker} renews its lease on job {job}",
    "release": "worker {worker} releases job {job}",
    "expire": "worker {worker} clears a lapsed lease on job {job}",
    "start": "worker {worker} starts job {job}",
    "finish": "worker {worker} finishes job {job}",
    "remove": "worker {worker} removes job {job}",
    "repeat": "a client repeats a request elsewhere ({amount})",
    "batch": "worker {worker} sends a batch around job {job}",
    "advance": "the clock goes on by {amount} s",
    "back": "the clock is set back by {amount} s",
    "reopen": "the process of handle {handle} ends and comes back",
    "power": "the power fails ({amount})",
    "disk": "the disk fails soon ({amount})",
    "kill": "worker {worker} asks for job {job}, and the process is killed ({amount})",
    "deploy": "a successor contract is deployed",
}
_FATES: Final = {
    "heard": "",
    "lost": "; the answer is lost",
    "twice": "; the request arrives twice",
    "hasty": "; it does not wait for long",
}
_NOWHERE: Final = ("advance", "back", "power", "repeat")


def tell(script: Sequence[Step]) -> str:
    """One line a step."""
    return "\n".join(f"  {number:>4}  {_line(step)}" for number, step in enumerate(script, start=1))


def _line(step: Step) -> str:
    fate = _FATES[step.fate] if step.kind in COMMANDS or step.kind == "batch" else ""
    via = "" if step.kind in _NOWHERE else f" (handle {step.handle})"
    beside = "meanwhile, " if step.beside else ""
    return f"{beside}{_WORDS[step.kind].format(**step._asdict())}{fate}{via}"
