"""The page on consumers says what is stored of them, and how tokens and cursors are spelled."""

from __future__ import annotations

import re
import struct
from base64 import urlsafe_b64decode
from pathlib import Path

import msgspec

from tests.support.streams import post, send
from treadle.model.packing import unpack
from treadle.store.memory import MemoryStore
from treadle.streams.ledger import Header
from treadle.streams.letters import Letter
from treadle.streams.retention import Stream

PAGE = (Path(__file__).parents[3] / "docs" / "formats" / "streams.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `([a-z]+)` \| (.*) \|$", PAGE, re.MULTILINE))


def test_every_member_is_on_the_page() -> None:
    assert set(ROWS) == {"consumer", "delivery", "due", "letter", "stream"}
    for space, kind in (("consumer", Header), ("letter", Letter), ("stream", Stream)):
        members = re.findall(r"`([a-z]+)`", ROWS[space].partition("JSON")[2])
        assert members == [field.name for field in msgspec.structs.fields(kind)]


def test_what_is_stored() -> None:
    store = MemoryStore()
    db = post(store)
    acting = db.acting_as("tests")
    send(acting, range(3))
    consumer = acting.consumer("Sent", "c", "Ulm")
    held = consumer.pull()
    consumer.ack(held[1])
    consumer.nack(held[2], delay=9)
    with store.read() as tx:
        entries = {space: tx.entries(space, b"", None, 9) for space in ROWS}
    (key, _), number = entries["consumer"][0], held[0].commit
    assert unpack(key)[:2] == ("Sent", "c") and isinstance(unpack(key)[2], bytes)
    found = {unpack(key): struct.unpack(">BHQq", data)[:3] for key, data in entries["delivery"]}
    assert found == {(1, number, 0): (1, 1, 1), (1, number + 1, 0): (3, 1, 2), (1, number + 2, 0): (2, 1, 3)}
    assert [unpack(key)[2:] for key, _ in entries["due"]] == [(number + 2, 0), (number, 0)]
    history, _, packed = held[0].token.partition(":")
    assert history == db.history
    assert struct.unpack(">QQIQ", urlsafe_b64decode(packed + "==")) == (1, number, 0, 1)
    assert held[0].cursor == f"{db.history}:{number}.0"
