"""The state at which a pruned log begins, as packed tuples: what a verification would have found up to there.

The tuples are sorted within each kind, so equal states give equal bytes. `treadle.engine.parts` keeps them;
docs/formats/snapshot.md lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, Final

from treadle.engine import parts
from treadle.engine.state import Deployed
from treadle.errors import DatabaseCorrupt
from treadle.model.facts import Row
from treadle.model.packing import pack, unpack
from treadle.verify.receipts import ReceiptCheck
from treadle.verify.replay import Replay

_KEYS: Final = 1_000


def items(replay: Replay, receipts: ReceiptCheck, deployed: Deployed | None) -> Iterator[bytes]:
    """The state as packed tuples, one after another, each kind in the order of its bytes."""
    yield pack(("receipts", receipts.pruned, receipts.dropped))
    keys = receipts.after(receipts.dropped)
    while some := tuple(islice(keys, _KEYS)):
        yield pack(("keys", *chain.from_iterable(some)))
    if deployed is not None:
        yield from replay.scratch.sorted(_rows(replay, deployed))
    for (entity, key), revision in replay.revisions.pairs():
        yield pack(("revision", entity, pack(key), revision))
    for (entity, name, values), key in replay.uniques.pairs():
        yield pack(("unique", entity, name, pack(values), pack(key)))


def _rows(replay: Replay, deployed: Deployed) -> Iterator[bytes]:
    for (entity, _), row in replay.rows.pairs():
        image = deployed.row_encoders[entity][1](row.cells)
        yield pack(("row", entity, row.revision, row.commit, image))


def load(source: Iterable[bytes], replay: Replay, receipts: ReceiptCheck, deployed: Deployed | None) -> None:
    """Put the parts of a stored state where a walk would have come to; raises `DatabaseCorrupt`."""
    take: dict[Any, Callable[..., None]] = {
        "receipts": receipts.begin,
        "keys": receipts.add,
        "row": lambda *row: _take_row(replay, deployed, *row),
        "revision": lambda entity, key, revision: replay.revisions.update({(entity, unpack(key)): revision}),
        "unique": lambda entity, name, values, key: replay.uniques.update(
            {(entity, name, unpack(values)): unpack(key)}
        ),
    }
    for kind, *rest in parts.items(source):
        take[kind](*rest)


def _take_row(
    replay: Replay, deployed: Deployed | None, entity: str, revision: int, commit: int, image: bytes
) -> None:
    if deployed is None:
        raise DatabaseCorrupt("the state where the log begins has rows without a contract")
    cells = deployed.codec.row_decoder(entity)(image)
    key = cells[: deployed.tables[entity].key_count]
    replay.rows[entity, key] = Row(revision, cells, commit)
