"""Sending what must happen once: every silence is answered by reading, and by the same bytes again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from treadle.errors import Refused, TreadleError
from treadle.graph.client import texts
from treadle.graph.client.answers import Advanced, Conflict, Indeterminate, Pending
from treadle.graph.client.results import quads
from treadle.graph.client.transport import Applied, NoAnswer, Transport, Unreachable
from treadle.graph.terms import IRI, Quad
from treadle.graph.view import Graph
from treadle.graph.vocabulary import Vocabulary

Answer = TypeVar("Answer")
Pause: TypeAlias = Callable[[float], None]


class Sender:
    """One dataset, asked and told through a transport.

    Args:
        transport: the dataset.
        names: its vocabulary.
        pause: waits between attempts, for seconds.
        attempts: how often the same bytes are sent and looked for before it is given up.
    """

    def __init__(self, transport: Transport, names: Vocabulary, pause: Pause, attempts: int) -> None:
        self._transport = transport
        self._names = names
        self._pause = pause
        self._attempts = attempts

    def read(self, text: str) -> set[Quad]:
        """The statements that a query of `texts` gives.

        Raises:
            Unreachable: nothing could be read.
        """
        return set(self.ask(lambda: quads(self._transport.query(text))))

    def ask(self, ask: Callable[[], Answer]) -> Answer:
        """What a read answers; reading changes nothing, so a lost answer is no more than unreachable."""
        try:
            return ask()
        except NoAnswer as error:
            raise Unreachable(f"{error.message}; nothing was read") from error

    def _wait(self, attempt: int) -> None:
        if attempt:
            self._pause(min(0.1 * 2**attempt, 5.0))

    def send(self, pending: Pending, *, sent: bool, allowed: Callable[[], None] | None = None) -> Advanced:
        """Send a signed advance, and read after every silence, until the event is there or can never come.

        Once it may have been sent, no other failure is an answer to the question whether it landed. `allowed`
        is asked once, before anything is written, and raises where nothing may be.
        """
        for attempt in range(self._attempts):
            self._wait(attempt)
            try:
                if sent and self._landed(pending):
                    return pending.advanced(tx=None, resolved=True)
                if allowed is not None:
                    allowed()
                    allowed = None
                answer = self._transport.update(self._move_text(pending))
            except NoAnswer:
                sent = True
            except (Conflict, Refused):
                raise
            except TreadleError:
                if not sent:
                    raise
            else:
                if answer.asserted > 0:
                    return pending.advanced(tx=answer.tx, resolved=False)
                return self._after_zeros(pending)
        raise Indeterminate(
            "it is not known whether the advance landed; resolve it with the same signed advance, "
            "do not sign another one",
            pending=pending,
        )

    def put(self, text: str, wanted: set[Quad], graph: Graph, conflict: str) -> Applied:
        """Insert statements that are the same however often they are sent, and read after a silence."""
        subjects = sorted({quad.s for quad in wanted if isinstance(quad.s, IRI)})
        sent = False
        for attempt in range(self._attempts):
            self._wait(attempt)
            try:
                answer = self._transport.update(text)
                if answer.asserted > 0 or wanted <= self.read(texts.about(*subjects, graph=graph)):
                    return answer
            except NoAnswer:
                sent = True
            except Refused:
                raise
            except TreadleError:
                if not sent:
                    raise
            else:
                raise Conflict(conflict)
        raise Indeterminate("it is not known whether this was written; the same call may be repeated")

    def _landed(self, pending: Pending) -> bool:
        """Whether the exact event is there; raises `Conflict` when it can no longer come."""
        found = self.read(texts.about(pending.event, IRI(pending.run), graph=pending.where))
        if pending.is_in(found, self._names):
            return True
        if any(quad.s == pending.event for quad in found):
            raise Conflict("the event's IRI holds another event")
        if not pending.run_quads(self._names, pending.from_state, pending.from_revision) <= found:
            raise Conflict("another advance came first; read the run again and decide anew")
        return False

    def _after_zeros(self, pending: Pending) -> Advanced:
        """Nothing matched: the same bytes landed before, or the race is lost."""
        try:
            if self._landed(pending):
                return pending.advanced(tx=None, resolved=True)
        except Conflict:
            raise
        except TreadleError as error:
            detail = "the advance changed nothing now, and whether it did before could not be read"
            raise Indeterminate(detail, pending=pending) from error
        raise Conflict("the run does not stand where the advance was signed for; read it again")

    def _move_text(self, pending: Pending) -> str:
        names, old = self._names, pending.run_quads(self._names, pending.from_state, pending.from_revision)
        new = pending.run_quads(names, pending.to_state, pending.to_revision)
        definition = Quad(IRI(pending.run), names.run_of, IRI(pending.definition), pending.where)
        return texts.move(old, new | pending.event_quads(names), old | {definition}, pending.where)
