"""Putting a contract into force: one exclusive job, one record of the log."""

from __future__ import annotations

from typing import Final, NamedTuple

from treadle.access import roles as access_roles
from treadle.access.caller import Caller
from treadle.access.roles import Role
from treadle.engine import migration as migrating
from treadle.engine import named, succession, tables
from treadle.engine import state as states
from treadle.engine.batch import Batch
from treadle.engine.job import Job
from treadle.engine.migration import Wanted
from treadle.engine.named import Queries, QueryProposal
from treadle.engine.state import Deployed
from treadle.engine.usage import Looked
from treadle.errors import ContractMismatch
from treadle.model import canonical, record
from treadle.model import contract as contracts
from treadle.model.contract import Contract
from treadle.model.migration import Migration
from treadle.model.record import LogRecord
from treadle.plan import SEMANTICS_VERSION


class Proposal(NamedTuple):
    """What to deploy. `contract` None changes roles and queries only; `roles` None leaves them.

    `expected_version` is the version that must be active, 0 for none, None for no expectation. `queries`
    None leaves the named queries; with a contract they are given, compiled against it. `migration` was
    carried to its end before; `looked` is how far somebody looked for what stands in the contract's way.
    """

    contract: Contract | None
    source: str
    expected_version: int | None
    roles: tuple[Role, ...] | None
    caller: Caller
    request_id: bytes | None = None
    queries: QueryProposal | None = None
    migration: Migration | None = None
    looked: Looked | None = None

    def check_version(self, active: Deployed | None) -> None:
        """Raise `ContractMismatch` unless the version that is expected is active."""
        version = active.version if active else 0
        if self.expected_version is not None and self.expected_version != version:
            raise ContractMismatch(
                f"version {version} is active, not {self.expected_version}; look at it and deploy again",
                code="version_conflict",
            )

    def check_queries(self, current: Queries, changed: bool) -> None:
        """Raise `ContractMismatch` where named queries are deployed that were not reckoned with.

        `changed`: the contract is another one, under which they have not been compiled.
        """
        if self.queries is not None:
            self.queries.check(current)
        elif changed:
            QueryProposal((), {}).check(current)

    def wanted(self, contract: Contract) -> Wanted | None:
        """The successor with its migration; None without one."""
        return None if self.migration is None else Wanted(contract, self.source, self.migration)


NOT_YET: Final = -1
"""What a deployment answers that finds too much left of its migration; nothing was changed."""


class DeployJob(Job):
    """Deploys a contract, named queries and roles; its result is the active version, or `NOT_YET`.

    `force` follows whatever is left of a migration.
    """

    __slots__ = ("force", "proposal")

    exclusive = True

    def __init__(self, proposal: Proposal, *, force: bool = True) -> None:
        super().__init__(size=len(proposal.source))
        self.proposal = proposal
        self.force = force

    def step(self, batch: Batch) -> None:
        batch.check_token(self.proposal.caller)
        batch.state.roles.check_permission(self.proposal.caller, "admin")
        active = batch.state.deployed
        wanted = self.proposal.contract
        changed = wanted is not None and (active is None or active.identity != wanted.identity)
        if wanted is not None and changed:
            self.proposal.check_version(active)
        self.proposal.check_queries(batch.state.queries, changed)
        if wanted is not None and changed and not self._deploy(batch, active, wanted):
            self.result = NOT_YET
            return
        if self.proposal.queries is not None:
            changed = self._write_queries(batch, self.proposal.queries) or changed
        if self.proposal.roles is not None:
            changed = self._write_roles(batch, self.proposal.roles) or changed
        if changed:
            states.bump(batch.tx)
        now = wanted.version if wanted is not None else active.version if active else 0
        self.result = now

    def _deploy(self, batch: Batch, active: Deployed | None, wanted: Contract) -> bool:
        """Put the contract into force; false where its migration has more to do first."""
        body: dict[str, object] = {"identity": wanted.identity, "version": wanted.version}
        site = None
        if active is not None:
            self._judge(batch, active, wanted)
            with_migration = self.proposal.wanted(wanted)
            if with_migration is not None:
                site = migrating.finish(batch, self.proposal.caller, with_migration, force=self.force)
                if site is None:
                    return False
                body["migration"] = with_migration.migration.identity
        tx = batch.tx
        deployed = site.deployed if site is not None else tables.successor(tx, active, wanted)
        tables.install(tx, active, deployed, site.built if site is not None else {})
        tx.put_setting(states.CONTRACT + wanted.identity, contracts.encode(wanted))
        tx.put_setting(states.SOURCE + wanted.identity, self.proposal.source.encode())
        tx.put_setting(states.ACTIVE, wanted.identity.encode())
        self._append(batch, "deploy", wanted.name, body, wanted)
        return True

    def _judge(self, batch: Batch, active: Deployed, wanted: Contract) -> None:
        """Raise `ContractError` for what stands in the way, `ContractMismatch` for another migration."""
        found = succession.judged(batch.tx, active, wanted, batch.time, self.proposal.looked)
        succession.check(found)
        succession.check_covered(found, self.proposal.migration)
        standing = migrating.load(batch.tx)
        if standing is not None and self.proposal.migration is None:
            raise migrating.under_way(standing)

    def _write_queries(self, batch: Batch, proposal: QueryProposal) -> bool:
        if not named.write(batch.tx, batch.state.queries, proposal.queries):
            return False
        self._append(batch, "queries", "", named.described(proposal.queries), None)
        return True

    def _write_roles(self, batch: Batch, roles: tuple[Role, ...]) -> bool:
        data = access_roles.encode(roles)
        if data == (batch.tx.setting(states.ROLES) or access_roles.encode(())):
            return False
        batch.tx.put_setting(states.ROLES, data)
        self._append(batch, "roles", "", {"roles": data.decode()}, None)
        return True

    def _append(self, batch: Batch, kind: str, name: str, body: object, contract: Contract | None) -> None:
        caller = self.proposal.caller
        batch.append(
            LogRecord(
                number=0,
                time=0,
                previous=record.GENESIS,
                kind=kind,
                name=name,
                principal=caller.principal,
                actor_kind=caller.kind,
                request=self.proposal.request_id,
                role=caller.role,
                actor_instance=caller.instance or None,
                manual_clock=batch.manual_clock,
                contract=bytes.fromhex(contract.identity) if contract else None,
                contract_version=contract.version if contract else None,
                semantics=SEMANTICS_VERSION,
                body=canonical.encode(body),
            )
        )
