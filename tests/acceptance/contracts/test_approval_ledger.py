"""A ledger of approvals: exact money, invariants over budget and entry, signatures of others."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

import treadle
from tests.support.lives import Life

ORG, ANN, BOB, CYD, DAN = UUID(int=1), UUID(int=11), UUID(int=12), UUID(int=13), UUID(int=14)
MOST = Decimal("9" * 36 + ".99")


@pytest.fixture
def ledger(url: str) -> Iterator[Life]:
    life = Life(url, "approval_ledger", org=ORG, budget="trips", kind="Travel", rate="1.000", author=ANN)
    life.uuid_keys = True
    yield life
    life.close()


def entry(life: Life, number: int, budget: str = "trips") -> dict[str, Any]:
    found = life.row("Entry", ORG, budget, number)
    assert found is not None
    return found


def propose(life: Life, number: int, amount: str, expect: str = "Proposed", **given: Any) -> None:
    life.run("Propose", expect, **{"number": number, "amount": amount, "voucher": f"v{number}"} | given)


def book(life: Life, number: int, expect: str, revision: int = 0) -> None:
    life.run("Book", expect, number=number, revision=revision or entry(life, number)["revision"])


def budgets(life: Life) -> None:
    life.run("OpenBudget", "Opened", most="100.00")
    life.run("OpenBudget", "BudgetExists", most="100.00")
    life.run("OpenBudget", "Negative", budget="debts", most="-0.01")
    life.run("OpenBudget", "Opened", budget="empty", most="5")
    life.run("CloseBudget", "NoBudget", budget="none")
    life.run("CloseBudget", "BudgetClosed", budget="empty")
    life.run("Raise", "NoBudget", budget="none", by_amount="1")
    assert life.run("Raise", "Raised", by_amount="50.50").fields == {"most": Decimal("150.50")}
    life.run("Raise", "Spent", by_amount="-150.51")
    life.fails("Raise", "arithmetic", by_amount=MOST)
    with pytest.raises(treadle.InvalidInput):
        life.run("Raise", "", by_amount="0.001")


def entries(life: Life) -> None:
    propose(life, 1, "100.00")
    life.run("CloseBudget", "HasEntries")
    propose(life, 1, "1.00", "EntryExists")
    propose(life, 2, "1.00", "NoBudget", budget="none")
    propose(life, 2, "1.00", "VoucherUsed", voucher="v1")
    propose(life, 2, "0.00", "NotPositive")
    propose(life, 2, "150.51", "TooMuch")
    propose(life, 2, "1.00", "NotNow", rate="-0.001")
    for number, amount in ((2, "60.25"), (3, "10.00"), (4, "0.01"), (5, "1.00")):
        propose(life, number, amount)


def signatures(life: Life) -> None:
    life.run("Sign", "NoEntry", number=9, signer=BOB)
    life.run("Sign", "OwnEntry", number=1, signer=ANN)
    life.run("Sign", "Signed", number=1, signer=BOB)
    life.run("Sign", "SignedAlready", number=1, signer=BOB)
    book(life, 1, "NeedsSignatures")
    life.run("SignAll", "NoEntry", numbers=[2, 9], signer=CYD)
    life.run("SignAll", "SignedAlready", numbers=[2, 1], signer=BOB)
    propose(life, 6, "2.00", author=BOB)
    life.run("SignAll", "OwnEntry", numbers=[2, 6], signer=BOB)
    assert entry(life, 2)["signatures"] == 0
    life.run("SignAll", "AllSigned", numbers=[1, 2, 3, 4], signer=CYD)
    life.run("SignAll", "AllSigned", numbers=[2, 3, 4], signer=DAN)


def bookings(life: Life) -> None:
    life.run("Book", "NoBudget", budget="none", number=1, revision=1)
    life.run("Book", "NoEntry", number=9, revision=1)
    book(life, 1, "Stale", revision=1)
    book(life, 1, "EntryBooked")
    book(life, 1, "NotProposed")
    book(life, 2, "Overspent")
    assert life.row("Budget", ORG, "trips")["spent"] == Decimal("100.00")  # type: ignore[index]
    life.run("Sign", "NotProposed", number=1, signer=DAN)
    life.run("Reject", "NoEntry", number=9, revision=1)
    life.run("Reject", "Stale", number=2, revision=1)
    life.run("Reject", "Rejected", number=2, revision=entry(life, 2)["revision"])
    life.run("Reject", "NotProposed", number=2, revision=entry(life, 2)["revision"])
    life.run("Shred", "NoEntry", number=9)
    life.run("Shred", "NotRejected", number=3)
    life.run("SignAll", "AllSigned", numbers=[2], signer=BOB)
    life.run("Shred", "TooManySignatures", number=2)
    life.run("Reject", "Rejected", number=5, revision=1)
    assert life.run("Shred", "Shredded", number=5).fields == {"signatures": 0}


def restores(life: Life) -> None:
    budget = (ORG.bytes, "old", 7_000, 6_999, False)
    cells = (ORG.bytes, "old", 1, "Booked", "Other", 6_999, 1_250, "v77", ANN.bytes, 2)
    life.place.restore("RestoreBudgets", "BudgetsRestored", budget)
    life.place.restore("RestoreBudgets", "BudgetExists", budget)
    life.place.restore("RestoreEntries", "EntriesRestored", cells, revision=3)
    life.place.restore("RestoreEntries", "EntryExists", cells)
    propose(life, 2, "1.00", "NotNow", budget="old")
    assert entry(life, 1, "old")["revision"] == 4


def test_every_outcome_and_three_versions(ledger: Life) -> None:
    budgets(ledger)
    entries(ledger)
    signatures(ledger)
    bookings(ledger)
    restores(ledger)
    ledger.check_reached()
    ledger.refuses(("Travel, Hardware, Other", "Travel, Hardware"), says=r"Kind.Other.*Entry\(.*, old, 1\)")
    ledger.refuses(
        ("conflict_key (org, budget)", "conflict_key (org)"), says="aggregate Budgets: its conflict key"
    )
    second_version(ledger)
    third_version(ledger)
    ledger.check()


def second_version(life: Life) -> None:
    """Fees and totals for entries that are there, a sum that must fit, and entries found by kind."""
    life.follow()
    assert entry(life, 1)["total"] == Decimal("101.50") and entry(life, 1)["net"] == Decimal("0.500")
    assert entry(life, 1, "old")["total"] == Decimal("71.49")
    propose(life, 7, "10.00")
    assert entry(life, 7)["total"] == Decimal("11.50")
    life.run("OpenBudget", "Opened", budget="tiny", most="1.00")
    life.fails(
        "Propose", "invariant_violated", "FeeFits", budget="tiny", number=1, amount="0.50", voucher="t"
    )
    life.check_reached()


def third_version(life: Life) -> None:
    """A value that cannot be computed for one row; another text of the migration, which can."""
    propose(life, 8, "20.00")
    with pytest.raises(treadle.ContractError, match=r"Entry\(.*, trips, 2\): field left cannot be computed"):
        life.follow(migration="field Entry.left = 2 - signatures unique Entry.one_place")
    life.back()
    life.follow()
    assert [entry(life, number)["left"] for number in (1, 2, 7)] == [1, 0, 3]
    life.run("Sign", "Signed", number=7, signer=BOB)
    life.run("Sign", "Signed", number=7, signer=CYD)
    book(life, 7, "EntryBooked")
    life.check_reached()
