"""What happens to deliveries: pulled, acknowledged, given back, held for longer, given up.

Each function works on a `Ledger`, decides from it and the sealed time alone, and leaves the writing to the
caller. Times are microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal, NamedTuple

from treadle import limits
from treadle.errors import InvalidInput
from treadle.streams.ledger import DONE, HELD, WAITING, Entry, Ledger, comes_again
from treadle.streams.positions import Position, Token

SECOND: Final = 1_000_000

Answer = Literal["done", "already", "stale"]
"""What became of a token: settled now; settled before; or the delivery is no longer the token's."""

Fresh = Callable[[Position, int], Sequence[Position]]
"""The places of at most so many events of the stream after a place, in order."""


class Given(NamedTuple):
    """One delivery that a pull decided."""

    position: Position
    entry: Entry


class Pull(NamedTuple):
    """What to pull: at most `limit` events, for `lease` seconds, `strict` for one after the other."""

    limit: int = limits.PULL_EVENTS
    lease: int = 60
    strict: bool = False


def pull(ledger: Ledger, now: int, wanted: Pull, fresh: Fresh) -> tuple[list[Given], list[Position]]:
    """The deliveries to make, and the events that failed too often, which become dead letters.

    Events whose time has come again go before new ones. A strict pull gives nothing that stands behind an
    event that is held or waits, so whoever takes one batch at a time sees every event in order.
    """
    again, failed = (_again_strictly if wanted.strict else _again)(ledger, now, wanted.limit)
    for position, entry in failed:
        ledger.put(position, entry, _given_up(ledger, position, entry))
    given = [_give(ledger, position, entry, now, wanted) for position, entry in again]
    if failed:
        ledger.advance()  # before anything new is given: what is new in the ledger does not hold it back
    blocked = wanted.strict and ledger.header.open > len(given)
    room = min(wanted.limit - len(given), limits.IN_FLIGHT_EVENTS - ledger.header.kept)
    if room > 0 and not blocked:
        frontier = Position(*ledger.header.frontier)
        for position in fresh(frontier, room):
            given.append(_give(ledger, position, None, now, wanted))
            ledger.update(frontier=position)
    return sorted(given), [position for position, _ in failed]


_Found = list[tuple[Position, Entry]]


def _again(ledger: Ledger, now: int, limit: int) -> tuple[_Found, _Found]:
    """Entries to give again, and those that failed for the last time."""
    due = ledger.due(now, limit)
    failed = [(position, entry) for position, entry in due if _used_up(entry)]
    return [one for one in due if one not in failed], failed


def _again_strictly(ledger: Ledger, now: int, limit: int) -> tuple[_Found, _Found]:
    """The same, but nothing from behind an entry whose time has not come."""
    again: _Found = []
    failed: _Found = []
    for position, entry in ledger.walk():
        if entry.state == DONE:
            continue
        if not comes_again(entry.until, now) or len(again) + len(failed) == limit:
            break
        (failed if _used_up(entry) else again).append((position, entry))
    return again, failed


def _used_up(entry: Entry) -> bool:
    return entry.attempts >= limits.DELIVERIES


def _give(ledger: Ledger, position: Position, before: Entry | None, now: int, wanted: Pull) -> Given:
    ledger.update(fence=ledger.header.fence + 1)
    attempts = before.attempts + 1 if before is not None else 1
    entry = Entry(HELD, attempts, ledger.header.fence, now + wanted.lease * SECOND)
    ledger.put(position, before, entry)
    return Given(position, entry)


def acknowledge(ledger: Ledger, tokens: Sequence[Token]) -> list[Answer]:
    """Settle deliveries; one whose time is over too, as long as nobody else was given the event."""

    def settle(token: Token, entry: Entry) -> None:
        ledger.put(token.position, entry, _settled(ledger, token.position, entry))

    answers = _each(ledger, tokens, settle)
    ledger.advance()
    return answers


def _settled(ledger: Ledger, position: Position, entry: Entry) -> Entry | None:
    """What is kept of a settled entry: nothing once the checkpoint is past it."""
    return None if position <= ledger.header.checkpoint else entry._replace(state=DONE)


def _given_up(ledger: Ledger, position: Position, entry: Entry) -> Entry | None:
    """The same for a dead letter; with no fence, so that no token settles it afterwards."""
    settled = _settled(ledger, position, entry)
    return None if settled is None else settled._replace(fence=0)


class Back(NamedTuple):
    """How to give back: to be given again after `delay` seconds. `failed` false takes the attempt back."""

    delay: int = 0
    failed: bool = True


def give_back(
    ledger: Ledger, now: int, tokens: Sequence[Token], back: Back
) -> tuple[list[Answer], list[Position]]:
    """Return deliveries unsettled; those that failed for the last time become dead letters."""
    dead: list[Position] = []

    def put_back(token: Token, entry: Entry) -> None:
        if back.failed and _used_up(entry):
            dead.append(token.position)
            ledger.put(token.position, entry, _given_up(ledger, token.position, entry))
            return
        attempts = entry.attempts if back.failed else entry.attempts - 1
        until = now + back.delay * SECOND
        ledger.put(token.position, entry, Entry(WAITING, attempts, entry.fence, until))

    answers = _each(ledger, tokens, put_back)
    if dead:
        ledger.advance()
    return answers, dead


def extend(ledger: Ledger, now: int, tokens: Sequence[Token], lease: int) -> list[Answer]:
    """Hold deliveries for `lease` seconds from now, also if their time is over and nobody else got them."""

    def hold(token: Token, entry: Entry) -> None:
        ledger.put(token.position, entry, entry._replace(until=now + lease * SECOND))

    return _each(ledger, tokens, hold)


def _each(ledger: Ledger, tokens: Sequence[Token], act: Callable[[Token, Entry], None]) -> list[Answer]:
    """Act on each delivery that is still its token's; the same token twice acts once, then is judged anew."""
    for token in tokens:
        if token.consumer != ledger.header.id:
            raise InvalidInput("a token belongs to another consumer; nothing was settled", path="tokens")
    answers: list[Answer] = []
    for token, entry in zip(tokens, ledger.entries([token.position for token in tokens]), strict=True):
        now = ledger.changed(token.position, entry)
        answers.append(_judge(ledger, token, now))
        if answers[-1] == "done" and now is not None:
            act(token, now)
    return answers


def _judge(ledger: Ledger, token: Token, entry: Entry | None) -> Answer:
    if entry is None:
        return "stale" if ledger.has_letter(token.position) else "already"
    if entry.fence != token.fence or entry.state == WAITING:
        return "stale"
    return "done" if entry.state == HELD else "already"


def restart(ledger: Ledger, now: int, incarnation: int) -> None:
    """Begin under a new history: every token given before is refused, so what was held may be given again."""
    for position, entry in list(ledger.walk()):
        if entry.state == HELD and entry.until > now:
            ledger.put(position, entry, entry._replace(state=WAITING, until=now))
        elif entry.state == WAITING and entry.until > now + limits.NACK_SECONDS * SECOND:
            ledger.put(position, entry, entry._replace(until=now))
    ledger.update(incarnation=incarnation)
