"""Putting a contract into force: one exclusive job, one record of the log."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from treadle.access import roles as access_roles
from treadle.access.caller import Caller
from treadle.access.roles import Role
from treadle.engine import named
from treadle.engine import state as states
from treadle.engine.batch import Batch
from treadle.engine.job import Job
from treadle.engine.named import QueryProposal
from treadle.engine.state import Deployed
from treadle.errors import ContractError, ContractMismatch
from treadle.model import canonical, record
from treadle.model import contract as contracts
from treadle.model.contract import Contract
from treadle.model.record import LogRecord
from treadle.plan import SEMANTICS_VERSION, evolution
from treadle.plan.schema import fixed_names


class Proposal(NamedTuple):
    """What to deploy. `contract` None changes roles and queries only; `roles` None leaves them.

    `expected_version` is the version that must be active, 0 for none, None for no expectation. `queries`
    None leaves the named queries; with a contract they are given, compiled against it.
    """

    contract: Contract | None
    source: str
    expected_version: int | None
    roles: tuple[Role, ...] | None
    caller: Caller
    request_id: bytes | None = None
    queries: QueryProposal | None = None


class DeployJob(Job):
    """Deploys a contract, named queries and roles; its result is the active version."""

    __slots__ = ("proposal",)

    exclusive = True

    def __init__(self, proposal: Proposal) -> None:
        super().__init__(size=len(proposal.source))
        self.proposal = proposal

    def step(self, batch: Batch) -> None:
        batch.check_token(self.proposal.caller)
        batch.state.roles.check_permission(self.proposal.caller, "admin")
        active = batch.state.deployed
        wanted = self.proposal.contract
        changed = wanted is not None and (active is None or active.identity != wanted.identity)
        if wanted is not None:
            self._check_expected(active, wanted, changed)
        if wanted is not None and changed:
            self._deploy(batch, active, wanted)
        if self.proposal.queries is not None:
            changed = self._write_queries(batch, self.proposal.queries) or changed
        if self.proposal.roles is not None:
            changed = self._write_roles(batch, self.proposal.roles) or changed
        if changed:
            states.bump(batch.tx)
        now = wanted.version if wanted is not None else active.version if active else 0
        self.result = now

    def _check_expected(self, active: Deployed | None, wanted: Contract, changed: bool) -> None:
        expected = self.proposal.expected_version
        version = active.version if active else 0
        if expected is not None and expected != version and changed:
            raise ContractMismatch(
                f"version {version} is active, not {expected}; look at it and deploy again",
                code="version_conflict",
            )

    def _deploy(self, batch: Batch, active: Deployed | None, wanted: Contract) -> None:
        if active is not None:
            refusals = evolution.refusals(active.contract, wanted)
            if refusals:
                raise ContractError(
                    "the contract cannot follow the deployed one: " + "; ".join(refusals),
                    code="contract_incompatible",
                )
        deployed = Deployed(wanted, states.table_names(batch.tx))
        before = active.tables if active else {}
        for table in deployed.plan.tables:
            known = before.get(table.entity)
            if known is None:
                batch.tx.create_table(table)
            elif known != table:
                batch.tx.alter_table(known, table)
        names = states.table_names(batch.tx) | fixed_names(deployed.plan.tables)
        tx = batch.tx
        tx.put_setting(states.TABLE_NAMES, msgspec.json.encode(names, order="sorted"))
        tx.put_setting(states.CONTRACT + wanted.identity, contracts.encode(wanted))
        tx.put_setting(states.SOURCE + wanted.identity, self.proposal.source.encode())
        tx.put_setting(states.ACTIVE, wanted.identity.encode())
        self._append(
            batch, "deploy", wanted.name, {"identity": wanted.identity, "version": wanted.version}, wanted
        )

    def _write_queries(self, batch: Batch, proposal: QueryProposal) -> bool:
        current = batch.state.queries
        proposal.check(current)
        if not named.write(batch.tx, current, proposal.queries):
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
