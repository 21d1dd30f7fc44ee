"""Access sets where something cannot be known beforehand, and bounds on rows."""

from __future__ import annotations

import pytest

from tests.support.machine import Machine, answer
from treadle import limits

SOURCE = """
contract Wide version 1 {
  entity Page {
    key (book: u64, page: u64)
    field text: string<600000>
    field more: optional<string<600000>>
  }
  entity Stamp {
    key (book: u64, id: uuid)
    field at: timestamp
  }
  aggregate Pages { root Page partition_by book conflict_key (book, page) }
  aggregate Stamps { root Stamp partition_by book conflict_key (book, id) }

  command Write {
    input key: string<128> input book: u64 input page: u64 input text: string<600000>
    input more: optional<string<600000>>
    idempotency_key key
    init_or_mutate Page(book, page) as page_row initialize { text: "" }
    set page_row.text = text
    set page_row.more = more
    return Written {}
  }
  command Mark {
    input key: string<128> input book: u64
    service id: uuid_v7
    idempotency_key key
    create Stamp(book, id) as stamp else Exists {}
    set stamp.at = tx.time
    return Marked { id: id }
  }
}
"""


@pytest.fixture
def machine() -> Machine:
    return Machine(SOURCE)


def test_a_row_over_a_mebibyte_is_a_terminal_failure(machine: Machine) -> None:
    half = "x" * (limits.ROW_BYTES // 2)
    assert machine.run("Write", book=1, page=1, text=half, more=half[:-100]).success
    assert answer(machine.run("Write", book=1, page=1, text=half, more=half)) == "row_too_large"
    wide = "é" * (limits.ROW_BYTES // 4)
    assert answer(machine.run("Write", book=1, page=2, text=wide, more=wide)) == "row_too_large"
    assert machine.run("Write", book=1, page=2, text=wide).success


def test_a_key_may_be_a_service_value(machine: Machine) -> None:
    id = b"7" * 16
    verdict = machine.run("Mark", book=1, services=(id,))
    assert verdict.changes[0].key == (1, id)
    plan = machine.plan.commands["Mark"]
    assert list(plan.access(("k", 1), (id,), None).rows) == [("Stamp", (1, id))]
    assert plan.conflict_keys(("k", 1), (id,)) == (("Stamps", (1, id)),)
