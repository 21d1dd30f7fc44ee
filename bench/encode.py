"""Microseconds for what a claim of a lease reads and writes in canonical bytes: no store, no evaluation.

Run `python bench/encode.py`. Prints for each step the best of fifteen rounds, in CPU time: what other
processes take is not ours to report.
"""

from __future__ import annotations

import time
import timeit
import uuid
from collections.abc import Callable
from typing import Any, Final

from treadle.model import canonical, record
from treadle.model import contract as c
from treadle.model import types as t
from treadle.model.facts import RevisionFact
from treadle.model.json_text import scan_json
from treadle.model.record import LogRecord, RowImage
from treadle.model.values import Codec

LOOPS: Final = 5_000
HASH: Final = bytes(range(32))
NOW: Final = 1_780_000_000_000_000
SHOP, JOB, PRINTER = (uuid.UUID(int=number) for number in (1, 2, 3))
KEY: Final = (c.Field("shop_id", t.UUID), c.Field("job_id", t.UUID))
FIELDS: Final = (
    c.Field("state", t.Enum("JobState")),
    c.Field("title", t.String(120)),
    c.Field("pages", t.U64_),
    c.Field("note", t.Optional(t.String(200))),
    c.Field("printer", t.Optional(t.UUID)),
    c.Field("printer_until", t.Optional(t.TIMESTAMP)),
    c.Field("fence", t.U64_),
    c.Field("tries", t.U64_),
)
ROW: Final = (SHOP.bytes, JOB.bytes, "Waiting", "A title here", 3, None, PRINTER.bytes, NOW, 1, 1)
INPUT: Final[dict[str, Any]] = {
    "key": "k" * 22,
    "shop_id": SHOP,
    "job_id": JOB,
    "printer_id": PRINTER,
    "seconds": 60,
    "expected_revision": 1,
}


def contract() -> c.Contract:
    kinds: tuple[t.Type, ...] = (t.String(128), t.UUID, t.UUID, t.UUID, t.U64_, t.U64_)
    inputs = tuple(c.Field(name, kind) for name, kind in zip(INPUT, kinds, strict=True))
    claimed = c.OutcomeDecl("Claimed", (c.Field("job", t.Record("Job")),), True)
    claim = c.Command(
        name="Claim",
        bulk=False,
        inputs=inputs,
        services=(),
        idempotency_key="key",
        bindings=(),
        decisions=(),
        loop=None,
        requires=(),
        effects=(),
        success=c.Outcome("Claimed"),
        outcomes=(claimed,),
        partition=None,
    )
    states = c.EnumDecl("JobState", ("Waiting", "Printing", "Done", "Failed"))
    return c.Contract("Shop", 1, "00" * 32, (states,), (c.Entity("Job", KEY, FIELDS),), commands=(claim,))


def log_record(codec: Codec, cells: tuple[Any, ...]) -> LogRecord:
    """All that is encoded for one claim, but for the record itself."""
    image = codec.row_encoder("Job")(ROW)
    change = RowImage("Job", codec.key_encoder("Job")(ROW[:2]), 4, 2, image)
    return LogRecord(
        5,
        NOW,
        HASH,
        "command",
        "Claim",
        "printer-service",
        "service",
        request=JOB.bytes,
        role="worker",
        actor_instance="host-7/4242",
        contract=HASH,
        contract_version=1,
        semantics=1,
        identity=HASH,
        input_hash=HASH,
        input=codec.input_reader("Claim").encode(cells),
        outcome="Claimed",
        fields=codec.outcome_encoder("Claim", "Claimed")((ROW,)),
        success=True,
        revisions=(RevisionFact("job", None, 2),),
        changes=(change,),
    )


def measure(name: str, step: Callable[[], object]) -> None:
    times = timeit.repeat(step, timer=time.process_time, number=LOOPS, repeat=15)
    print(f"{name:44} {min(times) / LOOPS * 1e6:6.2f} µs")


def main() -> None:
    codec = Codec(contract())
    reader = codec.input_reader("Claim")
    wire = {name: str(value) if isinstance(value, uuid.UUID) else value for name, value in INPUT.items()}
    text = b'{"input": %s}' % str(wire).replace("'", '"').encode()
    cells = reader.read(INPUT).cells
    stored = log_record(codec, cells)
    data = record.encode(stored)
    python, json = codec.python(t.Record("Job")), codec.json(t.Record("Job"))
    measure("scan the JSON text of the input", lambda: scan_json(text))
    measure("read six inputs, Python values; encode", lambda: reader.read(INPUT))
    measure("read six inputs, JSON values; encode", lambda: reader.read(wire))
    measure(
        "identity or input hash (HMAC-SHA-256)",
        lambda: canonical.keyed(HASH, "treadle.input/v1", stored.input or b""),
    )
    measure("encode input, image, key, outcome, record", lambda: record.encode(log_record(codec, cells)))
    measure(f"  of it the record ({len(data)} bytes)", lambda: record.encode(stored))
    measure("hash of the record", lambda: record.chain(HASH, data))
    measure("decode the record", lambda: record.decode(data))
    measure("the row as Python values", lambda: python(ROW))
    measure("the row as JSON values", lambda: json(ROW))


if __name__ == "__main__":
    main()
