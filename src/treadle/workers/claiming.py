"""Claiming items: several in one batch, each under a key that only the same claim can replay."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from treadle.errors import ConfigError, KeyReused, OutcomeUnknown, TreadleError
from treadle.workers import caps as capping
from treadle.workers.caps import Counted
from treadle.workers.client import Answer, Client
from treadle.workers.items import Item, Key, Source
from treadle.workers.patience import backoff, passing
from treadle.workers.plan import Plan
from treadle.workers.settings import Settings
from treadle.workers.turn import Turn, business_key, claim_input, look_up

CLAIM_SECONDS: Final = 5.0
"""How long a worker asks again for the answer to its claims before it leaves them to their leases."""
REFUSALS: Final = 10_000
"""Of so many rows that were refused is known how often."""
REFUSED_SECONDS: Final = 1.0
"""How long, at least, a row rests whose claim the contract refuses: each refusal is a record in the log."""
SETTLED_SECONDS: Final = 60.0
"""How long an item rests here that comes again although its attempt is concluded."""


class Won(NamedTuple):
    """A claim that got its row. `link` is the number of the attempt's next try; None: it is concluded."""

    turn: Turn
    link: int | None


class Claiming:
    """The claims of a worker under one plan."""

    def __init__(
        self, settings: Settings, source: Source, client: Client, plan: Plan, caps: Sequence[Counted]
    ) -> None:
        self._settings = settings
        self._source = source
        self._client = client
        self._plan = plan
        self._caps = caps
        self._refusals: dict[Key, tuple[int, int]] = {}

    def claim(self, items: Sequence[Item]) -> list[Won]:
        """Claim items in one batch; the turns of those that were won.

        Raises the database's error where it refused everything, after the items went back to their source.
        """
        for item in items:
            self._settings.hooks.at("selected", item)
        try:
            admitted, capped = capping.admit(self._caps, items)
            links = self._links(admitted)
        except TreadleError:
            self._give_back(items)
            raise
        self._settings.counters.add("capped", len(capped))
        self._give_back(capped)
        return self._claim([item for item in admitted if item.key in links], admitted, links)

    def _links(self, items: Sequence[Item]) -> dict[Key, int | None]:
        """For each item the number of its attempt's next try, or None where the attempt is concluded.

        Without those that were concluded after they were selected: their rows are others by now.
        """
        if not items:
            return {}
        finish = self._plan.finish.name
        firsts = self._client.recall(finish, [business_key(item.attempt, finish, 1) for item in items])
        links: dict[Key, int | None] = {}
        for item, first in zip(items, firsts, strict=True):
            if first is None:
                links[item.key] = 1
                continue
            done, link = look_up(self._client, item.attempt, finish)
            if done is None:
                links[item.key] = link
            elif item.page is None or done.commit <= item.page:
                links[item.key] = None
        return links

    def _claim(
        self, items: Sequence[Item], taken: Sequence[Item], links: Mapping[Key, int | None]
    ) -> list[Won]:
        """Claim `items`: what is left of those `taken` from the source."""
        counters, began = self._settings.counters, self._settings.pace.now()
        with self._settings.hooks.span("claim", {"count": len(items)}):
            answers = self._answers(items)
        won: list[tuple[Item, Answer]] = []
        refused: list[tuple[Item, Answer]] = []
        lost = [item for item in taken if item.key not in links]
        trouble: TreadleError | None = None
        for item, answer in zip(items, answers, strict=True):
            if isinstance(answer, KeyReused):
                lost.append(item)  # another worker made this very claim before
            elif isinstance(answer, TreadleError):
                trouble = answer
                self._give_back([item])
            elif answer.ok:
                won.append((item, answer))
            elif answer.outcome in self._plan.claim.faster and links[item.key] is not None:
                lost.append(item)
            else:
                refused.append((item, answer))
        counters.add("claims_tried", len(items))
        counters.add("claims_won", len(won))
        counters.add("claims_lost", len(lost))
        changed = [item for item, _ in refused if links[item.key] is not None and self._times(item) == 1]
        self._source.lost(lost, len(taken), len(changed))
        for item, answer in refused:
            self._set_aside(item, answer, concluded=links[item.key] is None)
        turns = self._turns(won, links, began)
        if trouble is not None and not turns:
            raise trouble
        return turns

    def _answers(self, items: Sequence[Item]) -> list[Answer | TreadleError]:
        """The claims' answers; what is uncertain is asked again with the same keys."""
        calls = [(self._plan.claim.name, claim_input(self._plan, item)) for item in items]
        answers: list[Answer | TreadleError] = [OutcomeUnknown("not asked yet")] * len(calls)
        pace = self._settings.pace
        until, pause, never = pace.now() + CLAIM_SECONDS, 0.01, threading.Event()
        while (open_ := _uncertain(answers)) and (left := until - pace.now()) > 0:
            found = self._client.run_many([calls[place] for place in open_], timeout=left)
            for place, answer in zip(open_, found, strict=True):
                answers[place] = answer
            if _uncertain(found):
                self._settings.counters.add("repeated")
                pace.wait(never, pause)
                pause = min(2 * pause, 1.0)
        return answers

    def _times(self, item: Item) -> int:
        """How often, this time counted, the contract refused the claim of a row as it is."""
        revision, times = self._refusals.pop(item.key, (item.revision, 0))
        times = times + 1 if revision == item.revision else 1
        self._refusals[item.key] = item.revision, times
        if len(self._refusals) > REFUSALS:
            del self._refusals[next(iter(self._refusals))]
        return times

    def _set_aside(self, item: Item, answer: Answer, *, concluded: bool) -> None:
        """Deal with an item whose claim failed for another reason than that somebody was faster."""
        claim = self._plan.claim
        if concluded or answer.outcome in claim.missing | self._settings.closed:
            settle(self._source, item)
        elif answer.outcome in claim.misfit:
            raise ConfigError(
                f"{claim.name} answered {answer.outcome}: lease={self._plan.seconds} does not fit"
            )
        else:  # the contract does not let anybody claim it as it is; that may pass
            base = max(self._settings.backoff, REFUSED_SECONDS)
            delay = backoff(base, self._refusals[item.key][1], repr(item.key))
            self._source.back(item, delay, failed=True, reason=f"{claim.name} answered {answer.outcome}")

    def _turns(
        self, won: Sequence[tuple[Item, Answer]], links: Mapping[Key, int | None], began: float
    ) -> list[Won]:
        """Turns for what was won, without those that a cap does not allow; these are released at once."""
        turns = [self._turn(item, answer, began) for item, answer in won]
        too_many = capping.excess(self._caps, [(item, answer.commit) for item, answer in won])
        for place in sorted(too_many):
            turns[place].release()
        self._settings.counters.add("capped", len(too_many))
        self._give_back([won[place][0] for place in sorted(too_many)])
        return [Won(turn, links[turn.item.key]) for place, turn in enumerate(turns) if place not in too_many]

    def _turn(self, item: Item, answer: Answer, began: float) -> Turn:
        self._refusals.pop(item.key, None)
        self._settings.hooks.at("claimed", item)
        return Turn(
            self._client,
            self._plan,
            item,
            answer,
            began + self._plan.seconds,
            self._settings.pace,
            lambda: self._settings.counters.add("repeated"),
        )

    def _give_back(self, items: Sequence[Item]) -> None:
        for item in items:
            self._source.back(item, 1, failed=False)


def _uncertain(answers: Sequence[Answer | TreadleError]) -> list[int]:
    return [
        place for place, answer in enumerate(answers) if isinstance(answer, TreadleError) and passing(answer)
    ]


def settle(source: Source, item: Item) -> None:
    """An item that needs no work: its attempt is concluded, or its row is gone.

    An event is acknowledged. A row that its query gives all the same would come again at once, so it rests.
    """
    source.done(item)
    if item.delivery is None:
        source.back(item, SETTLED_SECONDS, failed=False)
