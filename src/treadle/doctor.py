"""What an operator should know about a database: findings, each with what to do.

Nothing here changes anything. `verify` says whether history agrees with itself; this says whether the
database is kept and used as it should be.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple

from treadle import limits
from treadle.engine import grants
from treadle.engine.core import Engine
from treadle.errors import DatabaseCorrupt
from treadle.model import record
from treadle.model.scalars import timestamp_text
from treadle.ports.store import ReadTx
from treadle.ports.tallies import LAPSED, Places, counted
from treadle.retention.advice import advice

SECOND: Final = 1_000_000
DAY: Final = 86_400 * SECOND
RECENT: Final = 5_000
"""How many of the newest records are looked at for principals and versions."""

PRINCIPALS: Final = 8
"""So many principals that differ in digits only look like one for each process."""

LONG_LOG: Final = 256 * limits.MIB
_RESTORE: Final = "restore from a backup; `treadle verify` names what is damaged"
_VARYING: Final = re.compile(r"[0-9a-f]{8,}|\d+", re.IGNORECASE)


class Finding(NamedTuple):
    """One finding. `error` stops work or loses safety, `warning` will, `note` is good to know."""

    level: Literal["error", "warning", "note"]
    code: str
    what: str
    remedy: str


def examine(engine: Engine) -> list[Finding]:
    """Everything worth saying about the database behind `engine`, the gravest first."""
    findings = [*_file(engine), *_clock(engine)]
    with engine.store.read() as tx:
        for look in (_structure, _access, _principals, _leases, _sizes):
            try:
                findings += look(engine, tx)
            except DatabaseCorrupt as error:  # the doctor is called for just such a database
                findings.append(Finding("error", "structure", error.message, _RESTORE))
                break
    order = ("error", "warning", "note")
    return sorted(findings, key=lambda finding: order.index(finding.level))


def _file(engine: Engine) -> Iterator[Finding]:
    """The file: who may read it, how long its write-ahead log is, whether there is room."""
    path = getattr(engine.store, "path", None)
    if path is None:
        return
    found = os.stat(path)
    if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        yield Finding(
            "warning",
            "file_mode",
            f"others may open the file (mode {stat.S_IMODE(found.st_mode):04o}); it holds secrets and tokens",
            "chmod 600 it, and its -wal and -shm files",
        )
    log = Path(f"{path}-wal")
    size = log.stat().st_size if log.exists() else 0
    if size > LONG_LOG:
        yield Finding(
            "warning",
            "long_wal",
            f"the write-ahead log has {size // limits.MIB} MiB: some reader keeps a snapshot open",
            "end long reads; it shrinks at the next checkpoint",
        )
    free = shutil.disk_usage(path).free
    if free < max(found.st_size // 10, 64 * limits.MIB):
        what = f"{free // limits.MIB} MiB are free beside a database of {found.st_size // limits.MIB} MiB"
        yield Finding("warning", "little_room", what, "make room; a backup needs as much again")


def _clock(engine: Engine) -> Iterator[Finding]:
    """How far the clock is from the last commit."""
    with engine.store.read() as tx:
        head = tx.head()
    ahead = head.time - engine.clock.now()
    if ahead > SECOND:
        yield Finding(
            "error" if ahead > 60 * SECOND else "warning",
            "floor_ahead",
            f"the last commit ({timestamp_text(head.time)}) is {ahead // SECOND} s ahead of the clock: "
            "time stands still until the clock gets there",
            "correct the clock; if the commit was stamped wrongly, `treadle clock reset`",
        )
    if head.number and -ahead > DAY:
        what = f"nothing was committed for {-ahead // DAY} days: commands are refused as clock_jumped"
        yield Finding("warning", "clock_ahead", what, "look at the clock, then `treadle clock confirm`")


def _structure(engine: Engine, tx: ReadTx) -> Iterator[Finding]:
    """What the store finds wrong with itself."""
    for text in tx.integrity():
        yield Finding("error", "structure", text, _RESTORE)
    engine.refresh()


def _access(engine: Engine, tx: ReadTx) -> Iterator[Finding]:
    """Tokens and roles."""
    state, now = engine.state, engine.clock.now()
    tokens = [token for token in grants.listed(tx) if token.revoked is None]
    live = [token for token in tokens if token.expires is None or token.expires > now]
    for token in live:
        if state.roles.get(token.role) is None:
            what = f"token {token.id} is for role {token.role}, which is gone: it can do nothing"
            yield Finding("warning", "token_without_role", what, "revoke it, or deploy the role")
        elif token.expires is not None and token.expires - now < 7 * DAY:
            what = f"token {token.id} of {token.principal} ends on {timestamp_text(token.expires)}"
            yield Finding(
                "note", "token_ends", what, "`treadle token rotate` gives a new one with an overlap"
            )
        elif token.expires is None and now - token.created > 365 * DAY:
            what = f"token {token.id} of {token.principal} is older than a year and never ends"
            yield Finding("note", "token_old", what, "rotate it")
    if state.deployed is not None and not len(state.roles):
        what = "no roles are deployed: whoever opens the file may run every command"
        yield Finding("note", "no_roles", what, "declare roles in treadle.toml and deploy")


def _principals(engine: Engine, tx: ReadTx) -> Iterator[Finding]:
    """Principals that look like one for each process: their keys would run again after a restart."""
    head = tx.head().number
    seen: dict[str, set[str]] = defaultdict(set)
    for entry in tx.log(max(1, head - RECENT + 1), head):
        principal = record.decode(entry.data).principal
        seen[_VARYING.sub("#", principal)].add(principal)
    for names in seen.values():
        if len(names) > PRINCIPALS:
            some = ", ".join(sorted(names)[:3])
            yield Finding(
                "warning",
                "principal_per_process",
                f"{len(names)} principals differ in numbers only ({some} …): the principal is part of the "
                "idempotency identity, so a key repeated by a restarted process runs again",
                "name the service as principal, and the process as instance",
            )


def _leases(engine: Engine, tx: ReadTx) -> Iterator[Finding]:
    """Leases that lapsed long ago: nobody picks these rows up."""
    deployed, now = engine.state.deployed, engine.clock.now()
    if deployed is None:
        yield Finding("note", "no_contract", "no contract is deployed", "deploy one")
        return
    for workflow in deployed.contract.workflows:
        lease = workflow.lease
        if lease is None:
            continue
        table = deployed.tables[workflow.entity]
        names = [column.field for column in table.columns]
        places = Places(*(names.index(name) for name in (workflow.state, lease.owner, lease.expires_at)))
        rows = sum(
            each.rows
            for each in counted(tx, table, places, now)
            if each.hold == LAPSED and each.until is not None and now - each.until > DAY
        )
        if rows:
            what = f"{rows} rows of {workflow.entity} or more: leases that ran out over a day ago"
            yield Finding("note", "lapsed_leases", what, "let a worker claim or expire them")


def _sizes(engine: Engine, tx: ReadTx) -> Iterator[Finding]:
    """What takes room, and what would give some back."""
    for one in advice(tx, engine.clock.now()):
        yield Finding("note", *one)
