"""Enrollment: the database's own record that processing is enforced, and what a process makes of it.

The switch is an act of the database, not of one process.  A process's configuration is three-valued: absent
follows the database, true enrolls it or follows, false contradicts an enrolled one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from treadle.errors import ConfigError, DatabaseCorrupt, DatabaseNewer, Refused, TreadleError
from treadle.graph.doctor import Finding, Surroundings, blocking, examine
from treadle.graph.fold import Registered
from treadle.graph.guard.context import Context
from treadle.graph.terms import IRI
from treadle.graph.view import Graph, Survey
from treadle.graph.vocabulary import BASE_NS, Vocabulary, vocabulary

RULE_VERSION: Final = 1
"""The version of the guard's rules.  It goes up when a request could be judged otherwise than before."""

DEFAULT_GRAPH: Final = "default"
"""How configuration names the default graph among `identity_graphs`."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a process's configuration says of the graph.

    Attributes:
        enforce: `enforce_workflows`; None where it is absent.
        verify_transitions: whether events must be signed while processing is not enforced.
        base_ns: the namespace.
        identity_graphs: IRIs of graphs, and `default` for the default graph; None: follow the database, and
            every graph in one that is enrolled now.
        event_predicates: IRIs of predicates that events may bear besides their own, used when enrolling.
    """

    enforce: bool | None = None
    verify_transitions: bool = False
    base_ns: str = BASE_NS
    identity_graphs: tuple[str, ...] | None = None
    event_predicates: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        vocabulary(self.base_ns)
        for text in (*(self.identity_graphs or ()), *self.event_predicates):
            if text != DEFAULT_GRAPH:
                IRI(text)


@dataclass(frozen=True, slots=True)
class Enrollment:
    """What an enrolled database records: the rules that every process must share."""

    base_ns: str
    identity_graphs: tuple[str, ...] | None
    event_predicates: tuple[str, ...]
    rule_version: int = RULE_VERSION

    def to_fields(self) -> dict[str, Any]:
        """The record as plain values, for the log and the settings of the database."""
        graphs = None if self.identity_graphs is None else list(self.identity_graphs)
        return {
            "base_ns": self.base_ns,
            "identity_graphs": graphs,
            "event_predicates": list(self.event_predicates),
            "rule_version": self.rule_version,
        }

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Enrollment:
        """The record from `to_fields`.

        Raises:
            DatabaseNewer: it was written under a later version of the rules.
            DatabaseCorrupt: it is no such record.
        """
        try:
            version = int(fields["rule_version"])
            graphs = fields["identity_graphs"]
            record = cls(
                str(fields["base_ns"]),
                None if graphs is None else tuple(map(str, graphs)),
                tuple(map(str, fields["event_predicates"])),
                version,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise DatabaseCorrupt("the enrollment record cannot be read; restore a backup") from error
        if version > RULE_VERSION:
            raise DatabaseNewer("the database is enrolled under later rules of the guard; upgrade Treadle")
        return record

    @property
    def names(self) -> Vocabulary:
        """The vocabulary of its namespace."""
        return vocabulary(self.base_ns)

    @property
    def graphs(self) -> frozenset[Graph] | None:
        """The identity graphs as terms; None means every graph."""
        return graph_names(self.identity_graphs)


def graph_names(texts: Iterable[str] | None) -> frozenset[Graph] | None:
    """Graphs named in a configuration as terms; `default` is the default graph."""
    if texts is None:
        return None
    return frozenset(None if text == DEFAULT_GRAPH else IRI(text) for text in texts)


def follow(stored: Enrollment | None, settings: Settings) -> bool:
    """Whether a process that opens the database has to enroll it now.

    Args:
        stored: the database's record, or None when it is not enrolled.
        settings: the process's configuration.

    Raises:
        ConfigError: the configuration says false, and the database is enrolled.
        TreadleError: code `enrollment_mismatch`: another namespace, other identity graphs or other rules.
    """
    if stored is None:
        return settings.enforce is True
    if settings.enforce is False:
        raise ConfigError(
            "enforce_workflows = false, but the database is enrolled; remove the key to follow the database, "
            "or run: treadle graph disenroll"
        )
    differing = _differing(stored, settings)
    if differing:
        raise TreadleError(
            f"the database was enrolled with another {' and '.join(differing)}; use its settings "
            "(treadle graph doctor shows them)",
            code="enrollment_mismatch",
        )
    return False


def enroll(
    data: Survey, settings: Settings, registered: Registered, around: Surroundings
) -> tuple[Enrollment, list[Finding]]:
    """The record to write, with the findings that only warn.  Run it inside the write transaction.

    Raises:
        Refused: reason `unmigrated`: legacy definitions or active runs are in the way; the message lists
            them, and `treadle graph migrate` brings them over.
    """
    findings = examine(data, vocabulary(settings.base_ns), registered, around)
    obstacles = blocking(findings)
    if obstacles:
        lines = "\n".join(f"  {finding.entity}: {finding.detail}" for finding in obstacles)
        raise Refused(
            f"unmigrated: {len(obstacles)} things are in the way of enrollment:\n{lines}",
            reason="unmigrated",
            entity=str(obstacles[0].entity),
            remedy="run: treadle graph migrate --plan",
        )
    record = Enrollment(
        settings.base_ns,
        None if settings.identity_graphs is None else tuple(sorted(set(settings.identity_graphs))),
        tuple(sorted(set(settings.event_predicates))),
    )
    return record, findings


def guard_context(stored: Enrollment | None, settings: Settings, *, identity: bool, define: bool) -> Context:
    """What the guard is told about a request of a caller with these permissions."""
    if stored is None:
        return Context(
            enrolled=False,
            verify_transitions=settings.verify_transitions,
            identity=identity,
            define=define,
            names=vocabulary(settings.base_ns),
            identity_graphs=graph_names(settings.identity_graphs),
        )
    return Context(
        enrolled=True,
        identity=identity,
        define=define,
        names=stored.names,
        identity_graphs=stored.graphs,
        event_predicates=frozenset(map(IRI, stored.event_predicates)),
    )


def capabilities(stored: Enrollment | None) -> dict[str, Any]:
    """What `GET /workflow/capabilities` answers, and nothing more."""
    if stored is None:
        return {"processing": "disabled", "signatureVersions": [1]}
    return {"processing": "enabled", "signatureVersions": [2]}


def _differing(stored: Enrollment, settings: Settings) -> list[str]:
    found = []
    if stored.base_ns != settings.base_ns:
        found.append("base_ns")
    if settings.identity_graphs is not None and graph_names(settings.identity_graphs) != stored.graphs:
        found.append("identity_graphs")
    if stored.rule_version != RULE_VERSION:
        found.append("version of the guard's rules")
    return found
