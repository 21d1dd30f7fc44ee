"""What was changed in streams behind the log is found, on every store."""

from __future__ import annotations

import msgspec
import pytest

from tests.support.streams import post, send
from treadle.ports.store import WriteTx
from treadle.streams.ledger import Entry, Header, find_header, save
from treadle.streams.letters import Letter, bury
from treadle.streams.positions import Position


def lose_an_event(tx: WriteTx, header: Header) -> None:
    tx.remove_events(tx.events("Sent", None, (0, 0), 1))


def change_an_event(tx: WriteTx, header: Header) -> None:
    event = tx.events("Sent", None, (0, 0), 1)[0]
    tx.remove_events([event])
    tx.append_events([event._replace(data=event.data[:-1] + b"!")])


def invent_an_event(tx: WriteTx, header: Header) -> None:
    event = tx.events("Sent", None, (0, 0), 9)[-1]
    tx.append_events([event._replace(ordinal=7)])


def skip_events(tx: WriteTx, header: Header) -> None:
    save(tx, msgspec.structs.replace(header, frontier=tx.events("Sent", None, (0, 0), 9)[-1][:2]))


def settle_ahead(tx: WriteTx, header: Header) -> None:
    save(tx, msgspec.structs.replace(header, checkpoint=(99, 0)))


def forget_an_entry(tx: WriteTx, header: Header) -> None:
    tx.write_entries("delivery", [(tx.entries("delivery", b"", None, 1)[0][0], None)])


def forget_when(tx: WriteTx, header: Header) -> None:
    tx.write_entries("due", [(tx.entries("due", b"", None, 1)[0][0], None)])


def scramble_an_entry(tx: WriteTx, header: Header) -> None:
    tx.write_entries("delivery", [(tx.entries("delivery", b"", None, 1)[0][0], b"?")])


def scramble_a_consumer(tx: WriteTx, header: Header) -> None:
    tx.write_entries("consumer", [(tx.entries("consumer", b"", None, 1)[0][0], b"?")])


def forge_a_fence(tx: WriteTx, header: Header) -> None:
    key, data = tx.entries("delivery", b"", None, 1)[0]
    tx.write_entries("delivery", [(key, Entry.decode(data)._replace(fence=99).encode())])


def invent_a_letter(tx: WriteTx, header: Header) -> None:
    bury(tx, header, [Position(2, 9)], Letter(10, 0))


def two_with_one_number(tx: WriteTx, header: Header) -> None:
    save(tx, msgspec.structs.replace(header, name="zwilling", kept=0, open=0))


def live_in_the_future(tx: WriteTx, header: Header) -> None:
    save(tx, msgspec.structs.replace(header, incarnation=2))


@pytest.mark.parametrize(
    "change",
    [lose_an_event, change_an_event, invent_an_event, skip_events, settle_ahead, forget_an_entry, forget_when,
     scramble_an_entry, scramble_a_consumer, forge_a_fence, invent_a_letter, two_with_one_number,
     live_in_the_future],
)  # fmt: skip
def test_verification_finds_what_was_changed_behind_the_log(store, change) -> None:
    db = post(store)
    acting = db.acting_as("tests")
    consumer = acting.consumer("Sent", "mailer")
    send(acting, range(6))
    consumer.ack(*consumer.pull(2))
    consumer.pull(2)
    assert db.verify().ok
    with store.write() as tx:
        header = find_header(tx, "Sent", "mailer", None)
        assert header is not None
        change(tx, header)
        tx.commit()
    assert not db.verify().ok
