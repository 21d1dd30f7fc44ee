"""Workers, schedules and streams: nothing is found in them, and what should be in them broken on purpose."""

from __future__ import annotations

from typing import Any

import pytest

from sim.shrink import shrink
from sim.work.run import run
from sim.work.script import draw
from sim.work.story import tell
from tests.sim.budget import Group, groups, hold
from treadle.streams import turns
from treadle.streams.ledger import Ledger
from treadle.streams.positions import Position
from treadle.workers import query_source, stream_source, working
from treadle.workers.attempts import Attempt
from treadle.workers.claiming import Claiming
from treadle.workers.items import Item
from treadle.workers.schedule import Schedule
from treadle.workers.stream_source import StreamSource
from treadle.workers.turn import Turn

STEPS = 120
SEEDS = 12
"""In so many scripts of so many steps each defect is found."""

Patch = pytest.MonkeyPatch


@pytest.mark.parametrize("group", groups("work"), ids=str)
def test_seeds(group: Group) -> None:
    hold(group)


def test_a_seed_is_the_same_for_ever() -> None:
    assert draw(7, 50) == draw(7, 50)
    assert draw(7, 50) != draw(8, 50)
    assert run(7, draw(7, 120)) == run(7, draw(7, 120))


def renew_by_an_old_revision(patch: Patch) -> None:
    """A renewal does not tell its turn the revision that it made."""
    absorb = Turn._absorb

    def forgetful(self: Turn, step: Any, answer: Any) -> None:
        before = self.revision
        absorb(self, step, answer)
        if step.name == "Renew":
            self.revision = before

    patch.setattr(Turn, "_absorb", forgetful)


def claim_under_one_key(patch: Patch) -> None:
    """Claims of one attempt share a key, so that only the first one is ever made."""
    patch.setattr(Item, "claim_key", property(lambda self: self.attempt.claim(0)))


def believe_in_the_lease(patch: Patch) -> None:
    """A turn does not look at the clock: it believes that it holds its row until a renewal fails."""
    patch.setattr(Turn, "watch", lambda self: None)


def look_nothing_up(patch: Patch) -> None:
    """Items are claimed and handled without a look whether their attempt is concluded."""
    patch.setattr(Claiming, "_links", lambda self, items: {item.key: 1 for item in items})


def one_key_for_each_worker(patch: Patch) -> None:
    """The identity of an attempt depends on who makes it, so that a second one does it again."""
    business = Attempt.business
    counted = iter(range(1 << 30))

    class Vain(Attempt):
        def business(self, command: str) -> str:
            return business(self, f"{command} {next(counted)}")

    patch.setattr(stream_source, "Attempt", Vain)
    patch.setattr(query_source, "Attempt", Vain)


def settle_before_the_work(patch: Patch) -> None:
    """An event is acknowledged when it is taken."""
    take = StreamSource.take

    def hasty(self: StreamSource, count: int, busy: Any) -> Any:
        items = take(self, count, busy)
        self._consumer.ack(*(item.delivery for item in items))
        return items

    patch.setattr(StreamSource, "take", hasty)


def keep_what_is_done(patch: Patch) -> None:
    """An event whose attempt was found concluded is not acknowledged."""
    patch.setattr(working, "settle", lambda source, item: None)


def ring_under_one_key(patch: Patch) -> None:
    """The key of a fire says nothing of its time."""
    patch.setattr(Schedule, "key", lambda self, due: f"ring {self.name}")


def ring_under_any_key(patch: Patch) -> None:
    """Each process fires under a key of its own."""
    key = Schedule.key
    patch.setattr(Schedule, "key", lambda self, due: f"{key(self, due)}{id(self)}")


def settle_by_any_token(patch: Patch) -> None:
    """A token settles an event although somebody else was given it since."""
    judge = turns._judge

    def trusting(ledger: Ledger, token: Any, entry: Any) -> Any:
        return judge(ledger, token._replace(fence=entry.fence) if entry is not None else token, entry)

    patch.setattr(turns, "_judge", trusting)


def skip_an_event(patch: Patch) -> None:
    """Now and then an event is left out where several are new."""
    pull = turns.pull

    def skipping(ledger: Ledger, now: int, wanted: Any, fresh: Any) -> Any:
        return pull(ledger, now, wanted, lambda after, limit: list(fresh(after, limit))[-2:])

    patch.setattr("treadle.streams.jobs.turns.pull", skipping)


def settle_past_a_gap(patch: Patch) -> None:
    """The checkpoint moves on over events that are still held."""

    def careless(self: Ledger) -> None:
        self.update(checkpoint=max(Position(*self.header.checkpoint), Position(*self.header.frontier)))

    patch.setattr(Ledger, "advance", careless)


def give_too_early(patch: Patch) -> None:
    """An event is given again before its time has come."""
    due = Ledger.due
    patch.setattr(Ledger, "due", lambda self, now, limit: due(self, now + 30_000_000, limit))


def give_up_too_early(patch: Patch) -> None:
    """An event is a dead letter after nine deliveries."""
    patch.setattr(turns, "_used_up", lambda entry: entry.attempts >= 9)


def never_give_up(patch: Patch) -> None:
    """No event becomes a dead letter."""
    patch.setattr(turns, "_used_up", lambda entry: False)


def sweep_what_is_needed(patch: Patch) -> None:
    """A stream lets events go that a consumer has not settled."""
    patch.setattr("treadle.streams.retention._needs", lambda tx, event, most: {})


DEFECTS = [
    renew_by_an_old_revision,
    claim_under_one_key,
    believe_in_the_lease,
    look_nothing_up,
    one_key_for_each_worker,
    settle_before_the_work,
    keep_what_is_done,
    ring_under_one_key,
    ring_under_any_key,
    settle_by_any_token,
    skip_an_event,
    settle_past_a_gap,
    give_too_early,
    give_up_too_early,
    never_give_up,
    sweep_what_is_needed,
]


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_is_found_out(monkeypatch: Patch, defect: Any) -> None:
    defect(monkeypatch)
    assert any(run(seed, draw(seed, STEPS)).broken for seed in range(SEEDS))


def test_a_failing_script_is_cut_down_and_told(monkeypatch: Patch) -> None:
    settle_by_any_token(monkeypatch)
    seed, script = next(
        (seed, script) for seed in range(SEEDS) if run(seed, script := draw(seed, STEPS)).broken
    )
    short = shrink(script, lambda attempt: run(seed, attempt).broken is not None, most=40)
    assert len(short) < 40
    assert run(seed, short).broken
    assert len(tell(short).splitlines()) == len(short)
