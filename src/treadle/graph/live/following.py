"""The index of an open database: built when first needed, following the log, no concern of commands.

Who changes the index holds `Live.lock`: a batch from its first graph job to its end, a reader while it takes
over what other processes committed, the builder of a new index while it puts it in place. Queries hold
nothing.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from treadle.engine import retained
from treadle.engine.batch import Batch
from treadle.errors import Closed, check
from treadle.graph.agents import Agents, Known
from treadle.graph.dataset import Index
from treadle.graph.delta import EMPTY_DELTA, Delta
from treadle.graph.facts import Facts
from treadle.graph.live import rules as switches
from treadle.graph.live import stored
from treadle.graph.live.gate import Gate
from treadle.graph.live.rules import Rules
from treadle.graph.live.stored import Part
from treadle.graph.options import GraphOptions
from treadle.graph.view import Graph
from treadle.graph.vocabulary import Vocabulary
from treadle.ports.store import QuadText, ReadTx, Store

Progress = Callable[[int, int], None]

INSIDE: Final = 20_000
"""Statements that a batch may take over from other processes while it holds the write lock."""


LITTLE: Final = 1_000
"""Statements of a change up to which the facts asked for lately are of use to it."""

REMEMBERED: Final = 100_000
"""Statements of the latest changes that are kept in memory."""


class NotReady(Exception):
    """The index is too far behind for the write lock: follow outside of it, and come again."""


class Live:
    """The index with the agents in it.

    Args:
        store: the open store.
        options: what the process says of the graph.

    Attributes:
        gate: where answers wait.
        version: rises before and after each change of the index; odd while one is under way.
    """

    def __init__(self, store: Store, options: GraphOptions) -> None:
        self.gate = Gate()
        self.version = 0
        self.lock = threading.Lock()
        self._store = store
        self._options = options
        self._building = threading.Lock()
        self._index: Index | None = None
        self._facts: Facts | None = None
        self._agents: Agents | None = None
        self._names: Vocabulary | None = None
        self._rules: Rules | None = None
        self._recent: deque[tuple[int, Delta]] = deque()
        self._remembered = 0

    def rules(self, tx: ReadTx) -> Rules:
        """What holds as of a transaction."""
        raw, known = switches.raw_of(tx), self._rules
        if known is None or known.raw != raw:
            known = self._rules = switches.read(raw, self._options)
        return known

    # Following, outside of any batch.

    def index(self, progress: Progress | None = None) -> Index:
        """The index, with everything that was committed before the call.

        Built where there is none yet, in time linear in the graph. `progress` is called with statements read
        and in all.
        """
        while True:
            if self._index is None:
                self._build(progress)
            with self._store.read() as tx:
                head = stored.head_of(tx).number
                if self._index is not None and self._index.commit < head:
                    with self.lock:
                        if self._index is not None:
                            self._follow(tx)
            index = self._index
            if index is not None and index.commit >= head:
                return index

    def built(self) -> bool:
        """Whether there is an index."""
        return self._index is not None

    def _build(self, progress: Progress | None) -> None:
        with self._building:
            if self._index is None:
                self._put(*self._made(progress))

    def _made(self, progress: Progress | None = None) -> tuple[Index, Agents, Vocabulary]:
        """A new index from the statement table."""
        with self._store.read() as tx:
            head, names = stored.head_of(tx), self.rules(tx).names
            told = None if progress is None else lambda done: progress(done, head.size)
            graphs = [stored.read_name(name) for name in tx.graphs()]
            index = Index.build(_lines(tx.quads()), graphs=graphs, commit=head.number, progress=told)
        agents = Agents(names)
        agents.build(index)
        return index, agents, names

    def _put(self, index: Index, agents: Agents, names: Vocabulary) -> None:
        """Put a new index in place, after it has taken over what came since it was begun."""
        with self.lock, self._store.read() as tx:
            if self._index is not None and self._index.commit != index.commit:
                self._forget()  # the changes that it remembers do not lead to the new one
            self._index, self._agents, self._names = index, agents, names
            self._follow(tx)

    def renew(self) -> None:
        """Build a new index beside the one that is crowded, and put it in its place."""
        if self._building.acquire(blocking=False):
            try:
                if self._index is not None and self._index.crowded:
                    self._put(*self._made())
            finally:
                self._building.release()

    def _renew(self) -> None:
        try:
            self.renew()
        except Closed:
            return  # the handle was closed meanwhile

    def _follow(self, tx: ReadTx, most: int | None = None) -> None:
        """Take over what was committed elsewhere, as one change; the caller holds the lock.

        Raises `NotReady` where it is more than `most` statements. Where the log does not say any more what
        came between, there is no index afterwards.
        """
        index = self._index
        if index is None:
            raise NotReady
        head = stored.head_of(tx)
        if head.number <= index.commit:
            return
        if index.commit < retained.floor(tx):
            self._forget()  # what came between is gone from the log: it is built anew from the statements
            return
        deltas: list[Delta] = []
        count = 0
        for item in stored.changes(tx, index.commit):
            count += len(item.quads_removed) + len(item.quads_added)
            if most is not None and count > most:
                raise NotReady
            deltas.append(stored.delta_of(item))
        self._apply(index, stored.merged(deltas), head.number)

    def _forget(self) -> None:
        self._index = self._facts = None
        self._recent.clear()
        self._remembered = 0
        self.version += 2  # who computed something before cannot ask what changed since

    def _apply(self, index: Index, delta: Delta, number: int | None) -> None:
        self.version += 1
        try:
            facts = self.facts(index)
            if self._agents is not None:
                self._agents.apply(facts if _weight(delta) <= LITTLE else index, delta)
            facts.changing(delta)
            index.apply(delta, commit=number)
        except BaseException:
            self._forget()  # what it holds now is not known; it is built anew when it is next needed
            raise
        finally:
            self.version += 1
        self._remember(delta)

    def _remember(self, delta: Delta) -> None:
        """Keep the latest changes, for those who computed something just before them."""
        self._recent.append((self.version, delta))
        self._remembered += _weight(delta)
        while self._recent and self._remembered > REMEMBERED:
            self._remembered -= _weight(self._recent.popleft()[1])

    def since(self, version: int) -> Delta | None:
        """What changed since a version, as one change; None where that is not known any more."""
        if version == self.version:
            return EMPTY_DELTA
        found = [delta for after, delta in self._recent if after > version]
        if 2 * len(found) != self.version - version:
            return None
        return stored.merged(found)

    # In a batch.

    def join(self, batch: Batch) -> Turn:
        """The graph's turn in a batch, begun where this is the batch's first graph job.

        Raises `NotReady` where the index must follow outside first.
        """
        for part in batch.parts:
            if isinstance(part, Turn) and part.live is self:
                return part
        self.lock.acquire()
        try:
            self._follow(batch.tx, INSIDE)
            if self._index is None:
                raise NotReady
            turn = Turn(self, batch, self._index)
        except BaseException:
            self.lock.release()
            raise
        batch.parts.append(turn)
        return turn

    def facts(self, index: Index) -> Facts:
        """The facts of an index that were asked for lately; the caller holds the lock."""
        if self._facts is None or self._facts.index is not index:
            self._facts = Facts(index)
        return self._facts

    def agents(self, names: Vocabulary) -> Agents:
        """The agents under a vocabulary; the caller holds the lock."""
        if self._agents is None or self._names is not names:
            agents = Agents(names)
            if self._index is not None:
                agents.build(self._index)
            self._agents, self._names = agents, names
        return self._agents

    def take(self, turn: Turn, delta: Delta, number: int) -> None:
        """Make a change of the running batch visible to what follows in it."""
        self.gate.applying()
        self._apply(turn.index, delta, number)

    def end(self, turn: Turn, *, committed: bool) -> None:
        """Keep what a batch did, or take it back, and let others change the index again."""
        try:
            if committed:
                self.gate.kept()
            elif turn.taken:
                self._take_back(turn)
        finally:
            if not committed:
                self.gate.undone()
            crowded = self._index is not None and self._index.crowded
            self.lock.release()
        if crowded and not self._building.locked():
            threading.Thread(target=self._renew, name="treadle-index", daemon=True).start()

    def _take_back(self, turn: Turn) -> None:
        if self._index is not turn.index:
            return  # it is gone already
        self._apply(turn.index, stored.inverse(stored.merged(part.delta for part in turn.taken)), None)
        turn.index.commit = turn.before


class Turn:
    """A batch's hold on the index, from its first graph job to its end.

    Attributes:
        index: what the batch's jobs see.
        before: the commit that it reflected when the batch began.
        rules: what holds in the batch; who changes it is alone in its batch.
        taken: the changes of the batch so far, each with its record's number, in parts as recorded.
    """

    def __init__(self, live: Live, batch: Batch, index: Index) -> None:
        self.live = live
        self.index = index
        self.before = index.commit
        self.taken: list[Part] = []
        self.broken = False
        self.rules = live.rules(batch.tx)
        self._tx = batch.tx

    @property
    def known(self) -> Known:
        """What the guard takes as the state before a request."""
        return Known(self.index, self.live.agents(self.rules.names))

    def known_for(self, delta: Delta) -> Known:
        """The same for one change; a large one asks of many subjects once, which the index answers faster."""
        if _weight(delta) > LITTLE:
            return self.known
        return Known(self.facts, self.live.agents(self.rules.names))

    @property
    def facts(self) -> Facts:
        """What is there, read faster than from the index where the same is asked again."""
        return self.live.facts(self.index)

    def version(self, graph: Graph) -> int:
        """The last commit that changed a graph, those of the running batch too; 0 where none did."""
        for part in reversed(self.taken):
            if graph in stored.graphs_of(part.delta):
                return part.commit
        return stored.version_of(self._tx, graph)

    def take(self, delta: Delta, parts: Sequence[Part]) -> None:
        """Take a change over, recorded in parts; later jobs of the batch see it.

        If this fails, the whole batch does, because its records are there already.
        """
        self.broken = True
        self.live.take(self, delta, parts[-1].number)
        self.taken += parts
        self.broken = False

    def write(self) -> None:
        """Write the changes into the transaction."""
        check(not self.broken, "a change of the graph that is recorded is also applied")
        if self.taken:
            stored.write(self._tx, self.taken)

    def ended(self, *, committed: bool) -> None:
        """The batch is over."""
        self.live.end(self, committed=committed)


def _weight(delta: Delta) -> int:
    return 1 + len(delta.removed) + len(delta.added)


def _lines(quads: Iterable[QuadText]) -> Iterator[str]:
    return map(stored.line_of, quads)
