"""The graph's single commit point: every change passes the guard here, is recorded, and enters the index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from treadle.access.caller import Caller
from treadle.engine.acts import act_record
from treadle.engine.batch import Batch
from treadle.graph.delta import Delta
from treadle.graph.guard import Refusal, Verdict, judge
from treadle.graph.live.changes import NOTHING, Changed, changed
from treadle.graph.live.following import Turn
from treadle.graph.live.refusals import Refusals, run_of
from treadle.graph.live.stored import Part, quad_text
from treadle.graph.terms import Quad

PART: Final = 25_000
"""Statements of one record; a larger change has several, all of one commit."""


def commit(
    batch: Batch,
    turn: Turn,
    caller: Caller,
    delta: Delta,
    *,
    via: str,
    refusals: Refusals,
    request_id: bytes | None = None,
) -> Changed:
    """Judge a change and carry it out in the batch.

    Args:
        batch, turn: the batch, and the graph's turn in it.
        caller: whose change it is, as the batch confirmed it.
        delta: the whole change, computed from exactly the state that the turn shows.
        via: the surface that it came through, for the log.
        refusals: where a refusal is recorded.
        request_id: 16 bytes for the log.

    Raises:
        Refused: the guard refuses it; the refusal is recorded.
    """
    context = turn.rules.context_of(batch.state.roles, caller)
    known = turn.known_for(delta)
    verdict = judge(known, delta, context)
    if isinstance(verdict, Refusal):
        refusals.record(batch, caller, verdict, via, run_of(verdict, delta, known, context.names))
        raise verdict.error()
    return carry_out(
        batch, turn, caller, delta, kind="update", name=via, verdict=verdict, request_id=request_id
    )


def carry_out(
    batch: Batch,
    turn: Turn,
    caller: Caller,
    delta: Delta,
    *,
    kind: str,
    name: str,
    verdict: Verdict | None = None,
    body: dict[str, Any] | None = None,
    request_id: bytes | None = None,
) -> Changed:
    """Record a change and apply it, without asking the guard: for operator acts, and for what it accepted."""
    if not delta:
        return NOTHING
    deltas = list(_parts(delta))
    first, last = batch.number + 1, batch.number + len(deltas)
    parts = [Part(number, part, last) for number, part in enumerate(deltas, first)]
    for part in parts:
        about = {"commit": last} if part.number < last else body or {}
        entry = act_record(batch, caller, kind, name, about)
        batch.append(entry._replace(request=request_id, **_texts(part.delta)))
    turn.take(delta, parts)
    return changed(delta, last, verdict or Verdict())


def _texts(delta: Delta) -> dict[str, Any]:
    """The change as fields of a record."""
    return {
        "quads_removed": tuple(map(quad_text, delta.removed)),
        "quads_added": tuple(map(quad_text, delta.added)),
        "graphs_created": tuple(graph.n3() for graph in delta.graphs_created),
        "graphs_dropped": tuple(graph.n3() for graph in delta.graphs_dropped),
    }


def _parts(delta: Delta) -> Iterator[Delta]:
    """A change in parts that follow one another: names are made first, and dropped last."""
    if len(delta.removed) + len(delta.added) <= PART:
        yield replace(delta, respelled=())
        return
    if delta.graphs_created:
        yield Delta(graphs_created=delta.graphs_created)
    for quads in _chunks(delta.removed):
        yield Delta(removed=quads)
    for quads in _chunks(delta.added):
        yield Delta(added=quads)
    if delta.graphs_dropped:
        yield Delta(graphs_dropped=delta.graphs_dropped)


def _chunks(quads: Sequence[Quad]) -> Iterator[tuple[Quad, ...]]:
    source = iter(quads)
    while chunk := tuple(islice(source, PART)):
        yield chunk
