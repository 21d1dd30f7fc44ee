"""What the compiler refuses: one file for each check, named like its function, in the order they run.

A check takes the unit, reports what it refuses, and enters what it found out for those after it. None
stops the others, so that one run tells all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from treadle.riff.checks.aggregates import aggregates
from treadle.riff.checks.assignments import assignments
from treadle.riff.checks.bindings import bindings
from treadle.riff.checks.clause_order import clause_order
from treadle.riff.checks.commands import commands
from treadle.riff.checks.decisions import decisions
from treadle.riff.checks.declarations import declarations
from treadle.riff.checks.delete_policies import delete_policies
from treadle.riff.checks.deletes import deletes
from treadle.riff.checks.emits import emits
from treadle.riff.checks.entities import entities
from treadle.riff.checks.enums import enums
from treadle.riff.checks.events import events
from treadle.riff.checks.idempotency import idempotency
from treadle.riff.checks.indexes import indexes
from treadle.riff.checks.invariants import invariants
from treadle.riff.checks.lease_operations import lease_operations
from treadle.riff.checks.leases import leases
from treadle.riff.checks.loops import loops
from treadle.riff.checks.outcomes import outcomes
from treadle.riff.checks.partitions import partitions
from treadle.riff.checks.principal_facts import principal_facts
from treadle.riff.checks.reference_targets import reference_targets
from treadle.riff.checks.references import references
from treadle.riff.checks.reimports import reimports
from treadle.riff.checks.required_fields import required_fields
from treadle.riff.checks.requirements import requirements
from treadle.riff.checks.row_policies import row_policies
from treadle.riff.checks.row_sizes import row_sizes
from treadle.riff.checks.secrets import secrets
from treadle.riff.checks.transitions import transitions
from treadle.riff.checks.unique_parts import unique_parts
from treadle.riff.checks.uniques import uniques
from treadle.riff.checks.version import version
from treadle.riff.checks.workflows import workflows
from treadle.riff.symbols import Unit

CHECKS: Final[tuple[Callable[[Unit], None], ...]] = (
    # Declarations.
    clause_order,
    version,
    declarations,
    enums,
    entities,
    events,
    aggregates,
    invariants,
    workflows,
    leases,
    indexes,
    uniques,
    references,
    delete_policies,
    principal_facts,
    row_policies,
    # Commands: names and types first, then what they must not do.
    commands,
    loops,
    bindings,
    decisions,
    requirements,
    assignments,
    emits,
    transitions,
    lease_operations,
    outcomes,
    reimports,
    idempotency,
    required_fields,
    partitions,
    reference_targets,
    unique_parts,
    deletes,
    secrets,
    row_sizes,
)
