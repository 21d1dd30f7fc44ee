"""What each step does. A worker acts on what it last saw, so some of what it asks is stale: as in life."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

from sim.contract.script import Kind as StepKind
from sim.contract.script import Step
from sim.contract.world import SOURCE, YARD, Known, Look, Sent, World
from tests.faults.vfs import KINDS, Keep
from treadle.engine.receipt import Receipt
from treadle.errors import TreadleError

COMMANDS: Final = {
    "claim": "Claim",
    "renew": "Renew",
    "release": "Release",
    "expire": "Expire",
    "start": "Start",
    "finish": "Finish",
    "remove": "Remove",
}
_TIMED: Final = ("claim", "renew")
_HELD: Final = ("renew", "release", "start", "finish", "remove")


def act(world: World, step: Step) -> None:
    """Carry out one step; errors of the store are part of life and end the step."""
    _ACTS[step.kind](world, step)


def _request(world: World, step: Step) -> str:
    """Write down the request that the worker sends now, and return its key."""
    key = world.new_key()
    body: dict[str, Any] = {"key": key, "yard": YARD, "job": step.job}
    if step.kind in ("create", "batch"):
        world.sent[key] = Sent("Create", {**body, "made": step.amount})
        return key
    known = world.known.get((step.worker, step.job), Known())
    body["seen"] = known.seen
    if step.kind != "expire":
        body["worker"] = world.owner(step.worker)
    if step.kind in _TIMED:
        body["seconds"] = 5 + step.amount % 896
    if step.kind in _HELD:
        body["token"] = known.token
    world.sent[key] = Sent(COMMANDS[step.kind], body)
    return key


def _command(world: World, step: Step) -> None:
    if step.kind in _HELD and step.amount % 5:
        step = step._replace(worker=world.holders.get(step.job, step.worker))  # mostly who claimed it
    if step.amount % 3:
        _look(world, step)
    key = _request(world, step)
    answer = world.send(key, step.handle, heard=step.fate != "lost")
    if step.fate == "twice":
        world.send(key, step.handle + 1)
    _learn(world, step, answer)


def _learn(world: World, step: Step, answer: Receipt | TreadleError | None) -> None:
    if isinstance(answer, Receipt) and "it" in answer.fields and answer.workflow_revisions:
        revision = answer.workflow_revisions[0].revision
        world.known[step.worker, step.job] = Known(revision, answer.fields["it"]["fence"])
        if answer.command == "Claim":
            world.holders[step.job] = step.worker


def _batch(world: World, step: Step) -> None:
    """A few requests in one batch, the same job several times among them."""
    kinds: tuple[StepKind, ...] = ("create", "claim", "expire", "create", "claim")
    steps = [step._replace(kind=kind, job=(step.job + place) % 4) for place, kind in enumerate(kinds)]
    keys = [_request(world, each) for each in steps]
    calls = [(world.sent[key].command, world.sent[key].input) for key in keys]
    try:
        answers = world.handle(step.handle).run_many(calls, principal="sim")
    except TreadleError:
        world.unheard.extend(keys)
        return
    for each, key, answer in zip(steps, keys, answers, strict=True):
        _learn(world, each, world.hear(key, answer, heard=step.fate != "lost"))


def _look(world: World, step: Step) -> None:
    """Read the row, and remember its revision and token."""
    acknowledged = world.acknowledged.get(step.job, 0)
    try:
        row = world.handle(step.handle).row("Job", (YARD, step.job))
    except TreadleError:
        return
    world.looks.append(
        Look(step.job, row.revision if row else None, row.commit if row else None, acknowledged)
    )
    if row is not None:
        world.known[step.worker, step.job] = Known(row.revision, row.fields["fence"])


def _repeat(world: World, step: Step) -> None:
    """A client repeats a request whose answer it never heard, or any old one."""
    keys = world.unheard or list(world.sent)
    if keys:
        world.send(keys[step.amount % len(keys)], step.handle)


def _disk(world: World, step: Step) -> None:
    """The disk fails somewhere in the next few requests."""
    world.fail(1 + step.amount % 7, KINDS[step.amount % len(KINDS)])
    for number in range(3):
        try:
            _command(world, step._replace(kind="claim", job=(step.job + number) % 4, fate="heard"))
        except TreadleError:
            continue
    world.mend()


def _power(world: World, step: Step) -> None:
    keeps: tuple[Keep, ...] = ("none", "all", random.Random(step.amount))
    world.faults["power"] = world.faults.get("power", 0) + 1
    world.cut(keeps[step.amount % 3])


def _deploy(world: World, step: Step) -> None:
    """A successor with one more command; the others stay as they are."""
    version = world.version + 1
    touch = "input yard: uuid input job: u64 read Job(yard, job) as it else Missing {} return Seen {}"
    body = SOURCE.replace("version 1", f"version {version}").rstrip().removesuffix("}")
    try:
        source = f"{body} command Touch{version} {{ {touch} }} }}"
        world.handle(step.handle).deploy(source, expected_version=world.version)
    except TreadleError:
        return
    world.version = version


_ACTS: Final[dict[str, Callable[[World, Step], None]]] = {
    **dict.fromkeys(("create", *COMMANDS), _command),
    "batch": _batch,
    "look": _look,
    "repeat": _repeat,
    "advance": lambda world, step: world.advance(step.amount),
    "back": lambda world, step: world.back(step.amount),
    "reopen": lambda world, step: world.drop(step.handle),
    "power": _power,
    "disk": _disk,
    "deploy": _deploy,
}
