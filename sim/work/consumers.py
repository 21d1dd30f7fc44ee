"""What is asked about consumers, and written down: calls with their answers, and calls without."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from sim.work.seen import Call, Given, Operation, Subject
from sim.work.world import World
from treadle.errors import Busy, Denied, InvalidInput, TreadleError, UnknownName

Result = TypeVar("Result")
_NOTHING: Final = (Busy, Denied, InvalidInput, UnknownName)
"""Errors that say that nothing happened."""

SUBJECTS: Final[tuple[Subject, ...]] = (
    ("Queued", "audit", None),
    ("Queued", "two", 2),
    ("Ended", "books", None),
)
"""The consumers that the script moves by hand; others belong to workers."""


class Books:
    """A consumer whose every call is written down."""

    def __init__(self, world: World, subject: Subject) -> None:
        self.subject = subject
        self._world = world

    def _noted(
        self, operation: Operation, asked: Mapping[str, Any], act: Callable[[], tuple[Result, Any]]
    ) -> Result:
        """Carry out a call, which returns its result and what is to be written down of it."""
        before, time = self._world.head(), self._world.time()
        said: Any = None
        try:
            result, said = act()
            return result
        except _NOTHING as error:
            said = error
            raise
        finally:
            if not isinstance(said, TreadleError):
                self._world.seen.calls.append(Call(self.subject, operation, asked, said, before, time))

    def pull(self, on: Any, limit: int, lease: int, strict: bool) -> Sequence[Any]:
        def act() -> tuple[Sequence[Any], Any]:
            found = on.pull(limit, lease=lease, strict=strict)
            return found, [_given(one) for one in found]

        return self._noted("pull", {"limit": limit, "lease": lease, "strict": strict}, act)

    def ack(self, on: Any, tokens: Sequence[str]) -> Any:
        return self._settled("ack", {"tokens": tokens}, lambda: on.ack(*tokens))

    def nack(self, on: Any, tokens: Sequence[str], delay: int, failed: bool) -> Any:
        asked = {"tokens": tokens, "delay": delay, "failed": failed}
        return self._settled("nack", asked, lambda: on.nack(*tokens, delay=delay, reason="no", failed=failed))

    def extend(self, on: Any, tokens: Sequence[str], lease: int) -> Any:
        return self._settled(
            "extend", {"tokens": tokens, "lease": lease}, lambda: on.extend(*tokens, lease=lease)
        )

    def _settled(self, operation: Operation, asked: Mapping[str, Any], act: Callable[[], Any]) -> Any:
        def done() -> tuple[Any, Any]:
            settled = act()
            return settled, settled.answers

        return self._noted(operation, asked, done)

    def look(self, streams: Any) -> None:
        """Look how far the consumer is."""
        event, name, _ = self.subject

        def act() -> tuple[None, Any]:
            mine = [one for one in streams.consumers(event) if one.consumer == name]
            return None, [one.settled for one in mine]

        self._noted("look", {}, act)

    def letters(self, streams: Any) -> list[str]:
        """The ids of the dead letters."""
        event, name, partition = self.subject

        def act() -> tuple[list[str], Any]:
            found = [one.event.id for one in streams.dead_letters(event, name, partition=partition)]
            return found, found

        return self._noted("list", {}, act)

    def decide(self, streams: Any, ids: list[str] | None, *, drop: bool, dry_run: bool) -> list[str]:
        """Replay or drop dead letters."""
        event, name, partition = self.subject
        call = streams.drop if drop else streams.replay

        def act() -> tuple[list[str], Any]:
            found = call(event, name, ids, partition=partition, dry_run=dry_run)
            return found, found

        return self._noted("drop" if drop else "replay", {"ids": ids, "dry_run": dry_run}, act)


def _given(one: Any) -> Given:
    return Given(
        place=(one.commit, one.ordinal),
        token=one.token,
        attempt=one.attempt,
        fence=one.fence,
        until=int(one.until.timestamp() * 1_000_000 + 0.5),
        fields=one.fields,
    )
