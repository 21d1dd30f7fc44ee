"""The real index, the real update path and the guard, put together as a commit would."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from typing import Literal as OneOf

from tests.support.flaky import GuardedServer
from tests.support.workflows import NAMES, OPERATOR
from treadle.graph.agents import Agents, Known
from treadle.graph.client import Applied
from treadle.graph.dataset import Index
from treadle.graph.delta import Delta
from treadle.graph.guard import Context, Refusal, Verdict, judge
from treadle.graph.sparql.update import compute_delta
from treadle.graph.terms import Quad

Path = OneOf["direct", "sequence"]


class GuardedIndex:
    """An index that takes only what the guard accepts."""

    def __init__(self, quads: Iterable[Quad] = (), context: Context = OPERATOR) -> None:
        self.index = Index.build(quad.n3() for quad in quads)
        self.context = context
        self.tx = 0
        self._agents = Agents(NAMES)
        self._agents.build(self.index)

    @property
    def view(self) -> Known:
        return Known(self.index, self._agents)

    def judge(self, delta: Delta) -> Verdict | Refusal:
        return judge(self.view, delta, self.context)

    def delta(self, text: str, path: Path | None = None) -> Delta:
        return compute_delta(self.index, text, now=0, labels=f"t{self.tx}", path=path).delta

    def update(self, text: str, path: Path | None = None) -> Verdict | Refusal:
        """What the guard says to an update; an accepted one is committed."""
        delta = self.delta(text, path)
        answer = self.judge(delta)
        if isinstance(answer, Verdict):
            self._agents.apply(self.index, delta)
            self.index.apply(delta)
            self.tx += bool(delta)
        return answer

    def quads(self) -> set[Quad]:
        return set(self.index.quads())


class IndexServer(GuardedServer):
    """`GuardedServer` over the real index and update path."""

    def __init__(self, quads: Iterable[Quad] = (), context: Context = OPERATOR) -> None:
        super().__init__((), context)
        self.data = GuardedIndex(quads, context)

    def query(self, text: str) -> Mapping[str, Any]:
        self.store = self.data.index.store
        return super().query(text)

    def quads(self) -> set[Quad]:
        return self.data.quads()

    def _apply(self, text: str) -> Applied:
        delta = self.data.delta(text)
        answer = self.data.update(text)
        if isinstance(answer, Refusal):
            raise answer.error()
        self.tx = self.data.tx
        return Applied(self.tx if delta else None, len(delta.added), len(delta.removed))


def block(quads: Iterable[Quad]) -> str:
    """Statements as the inside of INSERT DATA or DELETE DATA."""
    lines = []
    for quad in sorted(quads, key=lambda quad: (quad.g or (), *quad[:3])):
        triple = f"{quad.s.n3()} {quad.p.n3()} {quad.o.n3()} ."
        lines.append(triple if quad.g is None else f"GRAPH {quad.g.n3()} {{ {triple} }}")
    return " ".join(lines)
