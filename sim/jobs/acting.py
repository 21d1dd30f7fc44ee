"""What a client does in a step: a talk with a handle, the same whether the handle is here or elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sim.jobs.asking import Request
from sim.jobs.clients import COMMANDS, HELD, Ask, Clients, Talk
from sim.jobs.script import HANDLES, JOBS, Kind, Step


def talk(clients: Clients, step: Step) -> Talk:
    """The talk of a step of a client."""
    return _TALKS[step.kind](clients, step)


def _command(clients: Clients, step: Step) -> Talk:
    if step.kind in HELD and step.amount % 5:
        step = step._replace(worker=clients.holders.get(step.job, step.worker))  # mostly who claimed it
    if step.amount % 3:
        yield from _look(clients, step)
    key = clients.request(step)
    reply = yield clients.sends(step.handle, [key], patience=_patience(step))
    (answer,) = clients.hear([key], reply, heard=step.fate != "lost")
    if step.fate == "twice":
        clients.hear([key], (yield clients.sends(step.handle + 1, [key])), heard=True)
    clients.learn(step, answer)


def _patience(step: Step) -> float | None:
    return step.amount % 20 * 0.0002 if step.fate == "hasty" else None


def _batch(clients: Clients, step: Step) -> Talk:
    """A few requests in one batch, the same job several times among them."""
    kinds: tuple[Kind, ...] = ("create", "claim", "expire", "create", "claim")
    steps = [step._replace(kind=kind, job=(step.job + place) % JOBS) for place, kind in enumerate(kinds)]
    keys = [clients.request(each) for each in steps]
    reply = yield clients.sends(step.handle, keys, "batch", _patience(step))
    for each, answer in zip(steps, clients.hear(keys, reply, heard=step.fate != "lost"), strict=True):
        clients.learn(each, answer)


def _look(clients: Clients, step: Step) -> Talk:
    """Read the row, and remember its revision and token."""
    operation = clients.recorder.begins(step.job, "look")
    clients.looked(step, operation, (yield Ask(step.handle, Request("row", job=step.job))))


def _board(clients: Clients, step: Step) -> Talk:
    """Read all rows in one snapshot."""
    operation = clients.recorder.begins("board", "board")
    clients.boarded(operation, (yield Ask(step.handle, Request("board"))))


def _repeat(clients: Clients, step: Step) -> Talk:
    """Somebody repeats, elsewhere, what is under way, what was never answered, or any old request."""
    busy = [key for key, sent in clients.sent.items() if sent.under_way]
    keys = busy or clients.unheard or list(clients.sent)
    if keys:
        key = keys[step.amount % len(keys)]
        handle = clients.sent[key].handle + 1 + step.amount % (HANDLES - 1)
        clients.hear([key], (yield clients.sends(handle, [key])), heard=True)


def _deploy(clients: Clients, step: Step) -> Talk:
    clients.deployed((yield Ask(step.handle, Request("deploy"))))


_TALKS: Final[dict[str, Callable[[Clients, Step], Talk]]] = {
    **dict.fromkeys(COMMANDS, _command),
    "batch": _batch,
    "look": _look,
    "board": _board,
    "repeat": _repeat,
    "deploy": _deploy,
}
