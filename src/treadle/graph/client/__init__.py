"""The client of signed workflows.

In reading order: `transport` (how a dataset is reached), `texts` (the SPARQL it sends), `results` (what it
reads), `answers` (what it says), `plans` (what it defines), `settling` (sending what must happen once),
`workflow` (the client), `http` (the transport over HTTP, imported on use).
"""

from treadle.graph.client.answers import (
    Advanced,
    Conflict,
    Indeterminate,
    Line,
    Pending,
    VerificationFailed,
    exit_code,
)
from treadle.graph.client.plans import Edge
from treadle.graph.client.results import RunView
from treadle.graph.client.transport import Applied, NoAnswer, Transport, Unreachable
from treadle.graph.client.workflow import WorkflowClient

__all__ = [
    "Advanced",
    "Applied",
    "Conflict",
    "Edge",
    "Indeterminate",
    "Line",
    "NoAnswer",
    "Pending",
    "RunView",
    "Transport",
    "Unreachable",
    "VerificationFailed",
    "WorkflowClient",
    "exit_code",
]
