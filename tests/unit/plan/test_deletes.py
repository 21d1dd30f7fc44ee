"""Delete policies: restrict and cascade, asked of the result of the command."""

from __future__ import annotations

import pytest

from tests.support.machine import Machine, answer
from treadle.errors import Denied

SOURCE = """
contract Library version 1 {
  entity Shelf {
    key (house: u64, shelf: u64)
    field label: string<20>
    delete_policy restrict Book.on_shelf
  }
  entity Book {
    key (house: u64, book: u64)
    field shelf: u64
    field title: string<20>
    index on_shelf (house, shelf, book)
    unique by_title (house, title)
    reference stands (house, shelf) -> Shelf (house, shelf)
    delete_policy cascade { relationship Loan.of_book using Loan.by_book maximum 2 }
  }
  entity Loan {
    key (house: u64, loan: u64)
    field book: u64
    field code: u64
    index by_book (house, book, loan)
    unique by_code (house, code)
    reference of_book (house, book) -> Book (house, book)
    delete_policy no_inbound
  }
  principal fact reader: bool
  row policy Readers on Book {
    allow read when principal.reader
    allow update when true
    allow delete when true
  }
  aggregate Shelves { root Shelf partition_by house conflict_key (house, shelf) }
  aggregate Books { root Book partition_by house conflict_key (house, book) }
  aggregate Loans { root Loan partition_by house conflict_key (house, loan) }

  command DropShelf {
    input key: string<128> input house: u64 input shelf: u64
    idempotency_key key
    delete Shelf(house, shelf) as gone else NoShelf {} restrict InUse {}
    return Dropped {}
  }
  command DropBook {
    input key: string<128> input house: u64 input book: u64
    idempotency_key key
    delete Book(house, book) as gone else NoBook {} cascade TooManyLoans {}
    return Dropped { title: gone.title }
  }
  command DropBoth {
    input key: string<128> input house: u64 input shelf: u64 input book: u64
    idempotency_key key
    delete Shelf(house, shelf) as shelf_row else NoShelf {} restrict InUse {}
    delete Book(house, book) as book_row else NoBook {} cascade TooManyLoans {}
    return Dropped {}
  }
  command MoveAndDrop {
    input key: string<128> input house: u64 input shelf: u64 input book: u64 input other: u64
    idempotency_key key
    read Shelf(house, other) as target else NoTarget {}
    mutate Book(house, book) as moved else NoBook {}
    delete Shelf(house, shelf) as shelf_row else NoShelf {} restrict InUse {}
    set moved.shelf = other
    return Moved {}
  }
  command DropAndLend {
    input key: string<128> input house: u64 input book: u64 input loan: u64
    idempotency_key key
    mutate Loan(house, loan) as touched else NoLoan {}
    delete Book(house, book) as gone else NoBook {} cascade TooManyLoans {}
    set touched.code = 77
    return Dropped {}
  }
  command DropWithLoan {
    input key: string<128> input house: u64 input book: u64 input loan: u64
    idempotency_key key
    delete Loan(house, loan) as loan_row else NoLoan {}
    delete Book(house, book) as book_row else NoBook {} cascade TooManyLoans {}
    return Dropped {}
  }
  bulk command DropBooks {
    input key: string<128> input house: u64 input books: list<u64, 1..9>
    idempotency_key key
    for book in books {
      delete Book(house, book) as gone else NoBook { book: book } cascade TooManyLoans { book: book }
    }
    return Dropped {}
  }
}
"""


@pytest.fixture
def machine() -> Machine:
    made = Machine(SOURCE)
    for shelf in (1, 2, 3):
        made.put("Shelf", 1, shelf, "label")
    made.put("Book", 1, 10, 1, "one")
    made.put("Book", 1, 11, 1, "two")
    made.put("Book", 1, 12, 2, "three")
    for loan, book in ((100, 10), (101, 10), (102, 11)):
        made.put("Loan", 1, loan, book, loan + 1000)
    return made


def test_restrict_refuses_while_the_index_has_an_entry(machine: Machine) -> None:
    assert machine.run("DropShelf", house=1, shelf=1).outcome == "InUse"
    assert machine.run("DropShelf", house=1, shelf=3).outcome == "Dropped"
    assert machine.run("DropShelf", house=1, shelf=9).outcome == "NoShelf"
    assert machine.plan.commands["DropShelf"].ranges


def test_a_cascade_takes_the_rows_and_their_entries_along(machine: Machine) -> None:
    verdict = machine.run("DropBook", house=1, book=10)
    assert [(change.entity, change.key, change.cells) for change in verdict.changes] == [
        ("Book", (1, 10), None),
        ("Loan", (1, 100), None),
        ("Loan", (1, 101), None),
    ]
    assert set(verdict.released) == {
        ("Book", "by_title", (1, "one")),
        ("Loan", "by_code", (1, 1100)),
        ("Loan", "by_code", (1, 1101)),
    }
    assert machine.row("Loan", 1, 102) is not None


def test_a_cascade_over_its_maximum_answers_its_outcome(machine: Machine) -> None:
    machine.put("Loan", 1, 103, 10, 5)
    assert machine.run("DropBook", house=1, book=10).outcome == "TooManyLoans"
    machine.run("DropBook", house=1, book=11)
    assert machine.row("Loan", 1, 103) is not None


def test_a_probe_asks_for_one_more_than_it_may_find(machine: Machine) -> None:
    machine.run("DropBook", house=1, book=12)
    probes = [asked for kind, asked in machine.asked if kind == "probe"]
    assert [(probe.values, probe.limit) for probe in probes] == [((1, 12), 3)]


def test_a_row_that_the_command_deletes_is_no_obstacle(machine: Machine) -> None:
    assert machine.run("DropBoth", house=1, shelf=2, book=12).outcome == "Dropped"
    assert machine.run("DropBoth", house=1, shelf=1, book=10).outcome == "InUse", "another book stands there"


def test_a_row_that_the_command_moves_away_is_no_obstacle(machine: Machine) -> None:
    assert machine.run("MoveAndDrop", house=1, shelf=2, book=12, other=3).outcome == "Moved"
    assert machine.run("MoveAndDrop", house=1, shelf=3, book=11, other=3).outcome == "InUse"


def test_a_written_row_cannot_go_with_a_cascade(machine: Machine) -> None:
    assert answer(machine.run("DropAndLend", house=1, book=10, loan=100)) == "duplicate_target"
    assert machine.run("DropAndLend", house=1, book=11, loan=100).success


def test_a_row_that_the_command_deletes_anyway_is_deleted_once(machine: Machine) -> None:
    verdict = machine.run("DropWithLoan", house=1, book=10, loan=100)
    assert sorted(change.key for change in verdict.changes) == [(1, 10), (1, 100), (1, 101)]


def test_each_element_has_its_own_cascade(machine: Machine) -> None:
    verdict = machine.run("DropBooks", house=1, books=(11, 10), apply=False)
    assert [change.key[1] for change in verdict.changes] == [11, 10, 102, 100, 101]
    machine.put("Loan", 1, 103, 10, 5)
    assert machine.run("DropBooks", house=1, books=(11, 10))[:2] == ("TooManyLoans", (10,))


def test_restrict_that_meets_a_hidden_row_is_denied(machine: Machine) -> None:
    assert machine.run("DropShelf", house=1, shelf=1, facts={"reader": True}).outcome == "InUse"
    with pytest.raises(Denied):
        machine.run("DropShelf", house=1, shelf=1, facts={"reader": False})
    assert machine.run("DropShelf", house=1, shelf=3, facts={"reader": False}).success
