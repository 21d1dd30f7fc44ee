"""A script in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sim.work.script import BELLS, CREW, Step

_WORDS: Final = {
    "add": "job {what} is added ({amount})",
    "remind": "job {what} is named once more",
    "work": "worker {crew} goes on for {many} calls ({amount})",
    "ring": "scheduler {bell} goes on for {many} calls",
    "pull": "consumer {consumer} pulls {many}",
    "ack": "consumer {consumer} acknowledges ({amount})",
    "nack": "consumer {consumer} gives back ({amount})",
    "extend": "consumer {consumer} holds on ({amount})",
    "fumble": "consumer {consumer} fails again and again",
    "letters": "an operator looks after dead letters of consumer {consumer} ({amount})",
    "tail": "a tail reads {many}",
    "keep": "an operator gives a stream a window ({amount})",
    "sweep": "an operator sweeps a stream ({amount})",
    "advance": "{amount} s go by",
    "jump": "the database's clock is set by {amount} s",
    "reopen": "the process of handle {who} ends and comes back",
    "power": "the power fails ({amount})",
    "disk": "the disk fails soon ({amount})",
    "deploy": "a successor contract is deployed",
    "revoke": "the crew's role is changed ({amount})",
}
_FATES: Final = {
    "heard": "",
    "lost": "; the last answer is lost",
    "refused": "; the last call is refused",
    "crash before": "; it dies before the last call",
    "crash after": "; it dies after the last call",
}
_TALKS: Final = ("work", "ring", "pull", "ack", "nack", "extend", "tail")


def tell(script: Sequence[Step]) -> str:
    """One line a step."""
    return "\n".join(f"  {number:>4}  {_line(step)}" for number, step in enumerate(script, start=1))


def _line(step: Step) -> str:
    known = {"crew": step.who % CREW, "bell": step.who % BELLS, "consumer": step.who % 3}
    fate = _FATES[step.fate] if step.kind in _TALKS else ""
    return _WORDS[step.kind].format(**step._asdict(), **known) + fate
