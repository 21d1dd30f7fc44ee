"""What lies between a workflow client and a handle: it loses, doubles and delays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sim.graph.script import Fate
from sim.graph.world import Sent, World
from treadle.errors import StoreError, TreadleError
from treadle.graph.client import Applied, NoAnswer, Unreachable
from treadle.graph.client.embedded import EmbeddedTransport
from treadle.graph.live.changes import Changed


class Wire:
    """A client's transport. `fates` are taken one for each update; then all is heard.

    `deaf` counts queries whose answers are lost after the first update; `remote` says whether errors of the
    store reach the client as a server's, or as they are. `between` happens within the next update. `texts`
    are the different updates that went out.
    """

    def __init__(self, world: World, agent: str, handle: int) -> None:
        self.handle = handle
        self.fates: list[Fate] = []
        self.deaf = 0
        self.remote = False
        self.between: Callable[[], object] | None = None
        self.texts: list[str] = []
        self._capable = False
        self._world = world
        self._agent = agent

    def query(self, text: str) -> Mapping[str, Any]:
        """See `Transport.query`."""
        if self.texts and self.deaf:
            self.deaf -= 1
            raise NoAnswer("the answer is lost")
        return self._faulty(lambda: EmbeddedTransport(self._world.handle(self.handle).graph).query(text))

    def capabilities(self) -> Mapping[str, Any] | None:
        """See `Transport.capabilities`."""
        found: Any = self._faulty(lambda: self._world.handle(self.handle).graph.capabilities())
        self._capable = found["processing"] == "enabled"
        return found

    def update(self, text: str) -> Applied:
        """See `Transport.update`."""
        if not self._capable:
            self._world.broken.append(
                "a client wrote, and had not asked whether anybody guards what is written"
            )
        fate = self.fates.pop(0) if self.fates else "heard"
        if fate == "unsent":
            raise Unreachable("nobody is there")
        if text not in self.texts:
            self.texts.append(text)
        between, self.between = self.between, None
        sent = self._world.request(self._agent, text)
        done = self._faulty(lambda: deliver(self._world, sent, self.handle, fate, between))
        if done is None:
            raise NoAnswer("no answer came")
        return Applied(done.tx, done.asserted, done.retracted)

    def _faulty(self, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except StoreError as error:
            if self.remote:
                raise NoAnswer("the server failed") from error
            raise


def deliver(
    world: World, sent: Sent, handle: int, fate: Fate, between: Callable[[], object] | None = None
) -> Changed | None:
    """Send a request to a handle; None where no answer comes back. Raises the answer if it is an error."""
    world.count(fate) if fate != "heard" else None
    if fate in ("lost", "unsent"):
        return None
    if fate == "late":
        world.late.append(sent)
        return None
    if fate == "twice":
        try:
            world.carry_out(sent, handle, between)
        except TreadleError:
            between = None  # whoever sent it hears the second answer
        return world.carry_out(sent, handle + 1)
    try:
        done = world.carry_out(sent, handle, between)
    except TreadleError:
        if fate == "answer lost":
            return None
        raise
    return None if fate == "answer lost" else done
