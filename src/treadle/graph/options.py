"""What a process may say of the graph when it opens a database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from treadle.errors import ConfigError
from treadle.graph.terms import IRI
from treadle.limits import UPDATE_COPY_QUADS

DEFAULT_GRAPH: Final = "default"
SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class GraphOptions:
    """How a process uses the graph; None follows the database.

    Attributes:
        enforce_workflows: True enrolls the database in workflow processing, or follows it; False on an
            enrolled database is an error at open.
        verify_transitions: True has events verified in a database that is not enrolled.
        identity_graphs: IRIs of the graphs whose registrations count, and `default` for the default graph.
        base_ns: the namespace of the vocabulary.
        event_predicates: predicates that events may bear besides their own, used when enrolling.
        update_full_copy_max_facts: how many statements one update may touch.
        seconds: how long an update or a query may take where the call does not say.

    Raises:
        ConfigError: a graph's name or a predicate is no absolute IRI, or a bound is none.
    """

    enforce_workflows: bool | None = None
    verify_transitions: bool | None = None
    identity_graphs: Sequence[str] | None = None
    base_ns: str | None = None
    event_predicates: Sequence[str] = ()
    update_full_copy_max_facts: int = UPDATE_COPY_QUADS
    seconds: float = SECONDS

    def __post_init__(self) -> None:
        names = [name for name in self.identity_graphs or () if name != DEFAULT_GRAPH]
        for text in (*names, *self.event_predicates):
            try:
                IRI(text)
            except ValueError as error:
                raise ConfigError(f"graph options: {error}") from error
        if self.update_full_copy_max_facts < 0 or not self.seconds > 0:
            raise ConfigError("graph options: update_full_copy_max_facts and seconds are not negative")

    @property
    def speaks(self) -> bool:
        """Whether the process says anything that an open database must be compared with."""
        said = (self.enforce_workflows, self.verify_transitions, self.identity_graphs, self.base_ns)
        return any(value is not None for value in said)
