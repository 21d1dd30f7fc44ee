"""An update text into a delta: `compute_delta`, or in two steps `prepare` and `evaluate`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal as OneOf

from treadle.graph.dataset import Index
from treadle.graph.delta import Delta, GraphCount
from treadle.graph.evaluation import Stopped, never, release
from treadle.graph.sparql.direct import run_direct
from treadle.graph.sparql.request import Protocol, Request, checked_bindings
from treadle.graph.sparql.sequence import run_sequence
from treadle.graph.sparql.solve import Labels, Overlay
from treadle.graph.terms import Term
from treadle.limits import UPDATE_COPY_QUADS


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """What an update comes to.

    Attributes:
        delta: the change of the whole request.
        path: the way it was computed.
        touched: how many statements its operations deleted or inserted on the way, effective or not.
    """

    delta: Delta
    path: OneOf["direct", "sequence"]
    touched: int

    @property
    def asserted(self) -> int:
        """How many statements are new."""
        return len(self.delta.added)

    @property
    def retracted(self) -> int:
        """How many statements are gone."""
        return len(self.delta.removed)

    @property
    def graphs(self) -> tuple[GraphCount, ...]:
        """The counts per graph, only graphs whose statements change."""
        return self.delta.counts()


def compute_delta(
    index: Index,
    text: str,
    *,
    now: int,
    labels: str,
    base: str | None = None,
    using: tuple[str, ...] = (),
    using_named: tuple[str, ...] = (),
    bindings: Mapping[str, Term] | None = None,
    most: int = UPDATE_COPY_QUADS,
    path: OneOf["direct", "sequence"] | None = None,
    stopped: Stopped = never,
) -> UpdateResult:
    """The change that an update would make to the index as it is; the index is left alone.

    The answer holds for the state that the index has during the call: where other threads may apply deltas
    meanwhile, compare the index's commit before and after, and compute again when it moved.

    Args:
        index: the dataset.
        text: SPARQL 1.1 Update; see `docs/explain/updates.md` for what is refused.
        now: what ``NOW()`` stands for, microseconds since 1970 UTC.
        labels: a prefix for the labels of new blank nodes, ASCII letters and digits, used for no other
            request of this dataset.
        base: the IRI that relative IRIs are resolved against.
        using, using_named: absolute IRIs of graphs, the protocol's using-graph-uri and
            using-named-graph-uri.
        bindings: terms to put in place of variables, by name.
        most: how many statements the request may touch.
        path: the way to compute it; None chooses, and both give the same delta wherever both apply.
        stopped: asked between solutions whether to end, see `treadle.graph.evaluation`.

    Raises:
        SparqlSyntax: the text is no update, with line and column.
        SparqlLimit: a bound is passed.
        SparqlError: code `deadline`, `stopped` said so.
        ValueError: a binding is unfit, or `path` is direct and a pattern follows another operation.
    """
    request = prepare(
        text,
        now=now,
        labels=labels,
        base=base,
        using=using,
        using_named=using_named,
        bindings=bindings,
        stopped=stopped,
    )
    return evaluate(request, index, most=most, path=path)


def prepare(
    text: str,
    *,
    now: int,
    labels: str,
    base: str | None = None,
    using: tuple[str, ...] = (),
    using_named: tuple[str, ...] = (),
    bindings: Mapping[str, Term] | None = None,
    stopped: Stopped = never,
) -> Request:
    """An update taken apart and checked, to be evaluated as often as need be; see `compute_delta`.

    Raises:
        SparqlSyntax, SparqlLimit, ValueError: as `compute_delta`.
    """
    return Request.read(
        text,
        now=now,
        base=base,
        bindings=checked_bindings(bindings),
        labels=Labels(labels),
        protocol=Protocol(using, using_named),
        stopped=stopped,
    )


def evaluate(
    request: Request,
    index: Index,
    *,
    most: int = UPDATE_COPY_QUADS,
    path: OneOf["direct", "sequence"] | None = None,
) -> UpdateResult:
    """The change that a prepared update would make to the index as it is; see `compute_delta`.

    Raises:
        SparqlSyntax, SparqlLimit, SparqlError, ValueError: as `compute_delta`.
    """
    overlay = Overlay(index, most)
    chosen = path or _path(request)
    if chosen == "direct" and _path(request) != "direct":
        raise ValueError(
            "a pattern of this update sees what an earlier operation changed: not for the direct path"
        )
    try:
        (run_direct if chosen == "direct" else run_sequence)(request, index, overlay)
    except BaseException as problem:
        release(problem)
        raise
    return UpdateResult(overlay.delta(), chosen, overlay.touched)


def _path(request: Request) -> OneOf["direct", "sequence"]:
    """Direct, unless a pattern may see what an earlier operation changed."""
    patterned = [operation.where is not None for operation in request.update.operations]
    return "sequence" if any(patterned[1:]) else "direct"
