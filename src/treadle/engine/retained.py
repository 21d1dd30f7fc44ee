"""How far a database has been pruned: up to which record receipts are stubs, stubs are gone, the log is gone.

Each mark is a setting, written in the transaction that prunes, together with a record of kind `prune` that
says the same. docs/howto/retention.md tells an operator what each means.
"""

from __future__ import annotations

from typing import Final

import msgspec

from treadle.errors import DatabaseCorrupt
from treadle.ports.store import ReadTx, WriteTx

RECEIPTS: Final = "retained.receipts"
STUBS: Final = "retained.stubs"
LOG: Final = "retained.log"
KIND: Final = "prune"
"""The kind of a record by which something was pruned."""


class Snapshot(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where the log begins: the state after record `number`, whose hash and time it keeps.

    `digest` is the hash of the state's bytes in hex, which are stored in `parts` parts; `contract` is the
    identity of the contract in force then, '' before the first deployment. `graph` and `graph_parts` are the
    same for what is kept of the graph, '' and 0 where no record up to there was about it.
    """

    number: int
    time: int
    hash: str
    digest: str
    parts: int
    contract: str
    graph: str = ""
    graph_parts: int = 0

    @property
    def hash_bytes(self) -> bytes:
        return bytes.fromhex(self.hash)


def said(snapshot: Snapshot) -> dict[str, object]:
    """What the record of a pruning says of where the log begins."""
    graph = {"graph": snapshot.graph} if snapshot.graph else {}
    return {"through": snapshot.number, "hash": snapshot.hash, "state": snapshot.digest, **graph}


def receipts(tx: ReadTx) -> int:
    """The record up to which receipts are stubs, or gone; 0 where none was pruned."""
    return int(tx.setting(RECEIPTS) or 0)


def stubs(tx: ReadTx) -> int:
    """The record up to which stubs were dropped, so that those keys execute again; 0 for none."""
    return int(tx.setting(STUBS) or 0)


def snapshot(tx: ReadTx) -> Snapshot | None:
    """Where the log begins; None where all of it is kept. Raises `DatabaseCorrupt`."""
    data = tx.setting(LOG)
    if data is None:
        return None
    try:
        return msgspec.json.decode(data, type=Snapshot)
    except msgspec.MsgspecError as error:
        raise DatabaseCorrupt(f"where the log begins cannot be read: {error}; restore a backup") from error


def floor(tx: ReadTx) -> int:
    """The last record that is gone from the log; 0 where all are kept."""
    found = snapshot(tx)
    return 0 if found is None else found.number


def put(tx: WriteTx, name: str, number: int) -> None:
    """Write a mark."""
    tx.put_setting(name, b"%d" % number)


def last_before(tx: ReadTx, time: int) -> int:
    """The last record that was committed before a time in microseconds; what the log begins behind, if none.

    Times rise along the log. Where the clock was reset after a commit stamped in the future, any record whose
    successor is not before the time is as good: what stands before it was committed before it.
    """
    low, high = floor(tx), tx.head().number
    while low < high:
        middle = (low + high + 1) // 2
        entry = next(tx.log(middle, middle), None)
        if entry is None:
            raise DatabaseCorrupt(f"record {middle} of the log is missing; run `treadle verify`")
        if entry.time < time:
            low = middle
        else:
            high = middle - 1
    return low
