"""Clients of a graph: nothing is found in the engine, and what is broken in it on purpose is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from sim.graph.run import run
from sim.graph.script import Step, draw
from sim.graph.story import tell
from sim.shrink import shrink
from tests.sim.budget import Group, groups, hold
from treadle.engine.batch import Batch
from treadle.graph.client import Conflict, WorkflowClient
from treadle.graph.client.answers import Pending
from treadle.graph.client.settling import Sender
from treadle.graph.dataset import Index
from treadle.graph.delta import Delta
from treadle.graph.guard import judge
from treadle.graph.live import committing, jobs, stored
from treadle.graph.live.following import Live, Turn
from treadle.graph.replicas import Replicas
from treadle.graph.sparql.solve import Overlay
from treadle.store.sqlite import files

STEPS = 60
WRITES = ("handmade", "attack", "batch", "register", "define", "start")
"""Steps that have something to say to the guard."""


@pytest.mark.parametrize("group", groups("graph"), ids=str)
def test_seeds(group: Group) -> None:
    hold(group)


def test_a_seed_is_the_same_for_ever() -> None:
    assert draw(7, 50) == draw(7, 50)
    assert draw(7, 50) != draw(8, 50)
    assert run(7, draw(7, 120)) == run(7, draw(7, 120))


Defect = Callable[[pytest.MonkeyPatch], None]


def nothing(*_: Any, **__: Any) -> None:
    return None


def believe_every_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard does not look at signatures."""
    monkeypatch.setattr("treadle.graph.signatures.verify", lambda *_: True)


def load_past_the_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents are not judged."""

    def commit(self: Any, batch: Any, turn: Any, caller: Any, delta: Any) -> Any:
        return committing.carry_out(batch, turn, caller, delta, kind="update", name=self.via)

    monkeypatch.setattr(jobs.LoadJob, "commit", commit)


def judge_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change is judged without what it takes away."""
    real = judge

    def half(before: Any, delta: Delta, context: Any) -> Any:
        return real(before, Delta.of(added=delta.added), context)

    monkeypatch.setattr(committing, "judge", half)


def log_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The change is logged, but not stored."""
    real = stored.write

    def write(tx: Any, parts: Any) -> None:
        real(tx, [part._replace(delta=Delta(part.delta.removed)) for part in parts])

    monkeypatch.setattr(stored, "write", write)


def store_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is removed is stored, but not logged."""
    real = committing._texts
    monkeypatch.setattr(committing, "_texts", lambda delta: real(delta) | {"quads_removed": ()})


def follow_half(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another handle's removals do not reach this handle's index."""
    real = stored.delta_of
    monkeypatch.setattr(stored, "delta_of", lambda item: Delta(added=real(item).added))


def never_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that is behind takes the number of the head, and nothing else."""

    def follow(self: Live, tx: Any, most: int | None = None) -> None:
        if self._index is not None:
            self._index.commit = stored.head_of(tx).number

    monkeypatch.setattr(Live, "_follow", follow)


def old_replica(monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy in which sequences are tried does not follow."""
    monkeypatch.setattr(Replicas, "follow", nothing)


def keep_what_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change whose commit failed stays in the index."""
    monkeypatch.setattr(Live, "_take_back", nothing)


def believe_the_first_try(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was worked out before the batch is committed, whatever came between."""
    real = jobs.UpdateJob.delta

    def delta(self: Any, batch: Batch, turn: Turn) -> Any:
        return self.tried.delta if self.tried is not None else real(self, batch, turn)

    monkeypatch.setattr(jobs.UpdateJob, "delta", delta)


def load_as_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A document that was compared before the batch is not compared again."""
    monkeypatch.setattr(jobs.LoadJob, "delta", lambda self, batch, turn: self.tried and self.tried.delta)


def record_replays(monkeypatch: pytest.MonkeyPatch) -> None:
    """What changes nothing is recorded all the same."""
    monkeypatch.setattr(Delta, "__bool__", lambda self: True)


def write_replays(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there already is written once more."""
    real = Overlay.delta

    def delta(self: Overlay) -> Delta:
        found = real(self)
        again = [q for changed in self._changed.values() for q, there in changed.items() if there]
        return Delta.of(found.removed, again, found.graphs_created, found.graphs_dropped)

    monkeypatch.setattr(Overlay, "delta", delta)


def old_permissions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody may do everything."""
    monkeypatch.setattr("treadle.access.roles.Roles.permits", lambda *_: True)


def refuse_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the rules allow is refused: a new label of a plan."""
    monkeypatch.setattr("treadle.graph.guard.definitions._label_problem", lambda *_: "no")


def forget_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph that is dropped keeps its name."""
    monkeypatch.setattr(Overlay, "drop", Overlay.clear)


def answer_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer does not wait for the disk."""
    real = files.connect

    def careless(place: Any) -> Any:
        connection = real(place)
        connection.execute("PRAGMA synchronous = OFF")
        return connection

    monkeypatch.setattr(files, "connect", careless)


def hopeful_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that heard nothing says that it landed."""
    monkeypatch.setattr(Sender, "_landed", lambda self, pending: True)


def hasty_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that heard nothing says that it is lost."""

    def landed(self: Any, pending: Pending) -> bool:
        raise Conflict("who knows")

    monkeypatch.setattr(Sender, "_landed", landed)


def minting_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that heard nothing signs another step."""
    real = Sender.send

    def send(self: Any, pending: Pending, **how: Any) -> Any:
        try:
            return real(self, pending, **how)
        except Conflict:
            raise
        except Exception:
            other = pending.to_json().replace('Z"', '1Z"')
            return real(self, Pending.from_json(other), sent=False)

    monkeypatch.setattr(Sender, "send", send)


def careless_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that does not ask whether anybody guards what it writes."""
    monkeypatch.setattr(WorkflowClient, "_require_processing", nothing)


def old_history(monkeypatch: pytest.MonkeyPatch) -> None:
    """A restored database goes on in its old history."""
    monkeypatch.setattr("treadle.engine.state.begin_history", nothing)


def half_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new index is put in place without what came since it was begun."""
    real = Index.build

    def build(lines: Any, **kept: Any) -> Index:
        return real(list(lines)[1:], **kept)

    monkeypatch.setattr(Index, "build", build)


# Not all rules: who is not registered has no key that verifies, so another rule stands behind that one.
RULES: dict[str, int] = {
    "registration_forbidden": 3,
    "define_forbidden": 17,
    "registration_incomplete": 0,
    "event_immutable": 0,
    "plan_immutable": 0,
    "run_immutable": 3,
    "entity_two_roles": 6,
    "definition_terminal_exit": 0,
    "process_fact_untyped": 0,
    "event_version": 0,
    "event_extra_fact": 19,
    "run_not_initial": 4,
    "advance_not_single": 0,
    "event_without_advance": 2,
    "advance_revision_mismatch": 0,
    "advance_state_mismatch": 4,
    "event_step_undeclared": 4,
    "signer_mismatch": 23,
    "signature_invalid": 0,
    "signature_reused": 11,
    "advance_without_event": 1,
}
"""Rules of the guard, each with a seed that misses it soon."""

DEFECTS: dict[Defect, int] = {
    believe_every_signature: 0,
    load_past_the_guard: 9,
    judge_parts: 0,
    log_only: 0,
    store_only: 0,
    follow_half: 0,
    never_follow: 0,
    old_replica: 3,
    keep_what_failed: 1,
    believe_the_first_try: 3,
    load_as_tried: 3,
    record_replays: 0,
    write_replays: 0,
    old_permissions: 1,
    refuse_labels: 3,
    forget_graphs: 7,
    answer_too_early: 2,
    hopeful_client: 0,
    hasty_client: 0,
    minting_client: 0,
    careless_client: 0,
    old_history: 22,
    half_index: 0,
}
"""What is broken, each with a seed that notices it soon."""


def noticed(first: int, script: Callable[[int], list[Step]]) -> bool:
    """Whether a seed out of forty notices what is broken, the one that is known to first."""
    seeds = dict.fromkeys((first, *range(40)))
    return any(run(seed, script(seed)).broken is not None for seed in seeds)


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_that_is_forgotten_is_missed(monkeypatch: pytest.MonkeyPatch, rule: str) -> None:
    table: Any = sys.modules["treadle.graph.guard.judge"]  # its name is hidden behind the function's
    monkeypatch.setitem(table._RULES, rule, lambda scene: iter(()))
    monkeypatch.setattr(table, "_asked", table._asked.__wrapped__)  # which remembers the rule
    assert noticed(RULES[rule], lambda seed: [step for step in draw(seed, 200) if step.kind in WRITES])


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.__name__)
def test_what_is_broken_on_purpose_is_noticed(monkeypatch: pytest.MonkeyPatch, defect: Defect) -> None:
    defect(monkeypatch)
    assert noticed(DEFECTS[defect], lambda seed: draw(seed, STEPS))


def test_a_failing_script_is_cut_down_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    log_only(monkeypatch)
    script = draw(3, STEPS)
    assert run(3, script).broken
    short = shrink(script, lambda attempt: run(3, attempt).broken is not None, most=40)
    assert len(short) < 10
    assert run(3, short).broken
    assert len(tell(short).splitlines()) == len(short)
