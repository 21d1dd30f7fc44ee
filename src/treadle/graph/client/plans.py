"""Plans to define, as statements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from treadle.errors import ConfigError
from treadle.graph.signatures import step_name
from treadle.graph.terms import IRI, Literal, Quad
from treadle.graph.view import Graph
from treadle.graph.vocabulary import LABEL, RDF_TYPE, Vocabulary


@dataclass(frozen=True, slots=True)
class Edge:
    """A step of a plan to define: the step's IRI, and the states it leads from and to."""

    step: str
    from_state: str
    to_state: str
    label: str | None = None


def plan_quads(
    plan: IRI,
    graph: Graph,
    names: Vocabulary,
    *,
    label: str,
    initial: str,
    terminal: Iterable[str],
    edges: Iterable[Edge],
) -> set[Quad]:
    """The statements of a definition with its steps.

    Raises:
        ConfigError: a step's IRI is none, or a text holds a lone surrogate.
    """
    found = {
        Quad(plan, RDF_TYPE, names.workflow, graph),
        Quad(plan, RDF_TYPE, names.definition, graph),
        Quad(plan, LABEL, checked_text(label), graph),
        Quad(plan, names.initial_state, checked_text(initial), graph),
        *(Quad(plan, names.terminal_state, checked_text(state), graph) for state in terminal),
    }
    for edge in edges:
        step = checked_iri(edge.step, "a step")
        found |= {
            Quad(plan, names.has_step, step, graph),
            Quad(step, RDF_TYPE, names.plain_step, graph),
            Quad(step, RDF_TYPE, names.step, graph),
            Quad(step, LABEL, checked_text(edge.label or step_name(edge.step)), graph),
            Quad(step, names.from_state, checked_text(edge.from_state), graph),
            Quad(step, names.to_state, checked_text(edge.to_state), graph),
        }
    return found


def checked_iri(text: str, what: str) -> IRI:
    """A caller's text as an IRI.

    Raises:
        ConfigError: it is none; the message says what it was meant for.
    """
    try:
        return IRI(text)
    except ValueError as error:
        raise ConfigError(f"{what}: {error}") from error


def checked_text(text: str) -> Literal:
    """A caller's text as a plain string literal.

    Raises:
        ConfigError: it holds a lone surrogate.
    """
    try:
        return Literal(text)
    except ValueError as error:
        raise ConfigError(str(error)) from error
