"""Invariants of entities and aggregates over the result of a command."""

from __future__ import annotations

import pytest

from tests.support.machine import Machine, answer

SOURCE = """
contract Budget version 1 {
  entity Account {
    key (bank: u64, account: u64)
    field balance: i64
    field floor: i64
    invariant NotBelow: balance >= floor
    invariant Sane: balance / (floor - 7) != 99
  }
  entity Pot {
    key (bank: u64, account: u64, pot: u64)
    field share: i64
    field most: i64
    delete_policy no_inbound
  }
  entity Rule {
    key (bank: u64, account: u64, rule: u64)
    field cap: i64
  }
  aggregate Accounts {
    root Account
    child Pot
    child Rule
    partition_by bank
    conflict_key (bank, account)
    invariant Covered: Pot.share <= Account.balance
    invariant Capped: Rule.cap <= Account.balance
  }

  command Open {
    input key: string<128> input bank: u64 input account: u64 input balance: i64 input floor: i64
    idempotency_key key
    create Account(bank, account) as made else Exists {} violates NotBelow TooLow { balance: balance }
    set made.balance = balance
    set made.floor = floor
    return Opened {}
  }
  command Take {
    input key: string<128> input bank: u64 input account: u64 input amount: i64
    idempotency_key key
    mutate Account(bank, account) as taken else Missing {}
    set taken.balance = taken.balance - amount
    return Taken { balance: taken.balance }
  }
  command Fill {
    input key: string<128> input bank: u64 input account: u64 input pot: u64 input share: i64
    idempotency_key key
    create Pot(bank, account, pot) as made else Exists {} violates Covered TooMuch {}
    set made.share = share
    set made.most = share
    return Filled {}
  }
  command Draw {
    input key: string<128> input bank: u64 input account: u64 input pot: u64 input rule: u64 input amount: i64
    idempotency_key key
    mutate Account(bank, account) as owner else Missing {} violates Covered OwnerShort {}
    read Pot(bank, account, pot) as held else NoPot {}
    read Rule(bank, account, rule) as limit else NoRule {}
    set owner.balance = owner.balance - amount
    return Drawn {}
  }
  command Cap {
    input key: string<128> input bank: u64 input account: u64 input pot: u64 input rule: u64 input cap: i64
    idempotency_key key
    read Pot(bank, account, pot) as held else NoPot {}
    init_or_mutate Rule(bank, account, rule) as limit initialize { cap: 0 }
    set limit.cap = cap
    return Set {}
  }
  command Empty {
    input key: string<128> input bank: u64 input account: u64 input pot: u64
    idempotency_key key
    delete Pot(bank, account, pot) as gone else NoPot {}
    return Emptied {}
  }
}
"""


@pytest.fixture
def machine() -> Machine:
    made = Machine(SOURCE)
    made.put("Account", 1, 1, 100, 0)
    made.put("Pot", 1, 1, 1, 60, 60)
    return made


def test_a_false_invariant_answers_or_fails_by_name(machine: Machine) -> None:
    assert machine.run("Open", bank=1, account=2, balance=-1, floor=0)[:2] == ("TooLow", (-1,))
    assert answer(machine.run("Take", bank=1, account=1, amount=101)) == "invariant_violated:NotBelow"
    assert machine.run("Take", bank=1, account=1, amount=40).fields == (60,)


def test_arithmetic_in_an_invariant_is_arithmetic(machine: Machine) -> None:
    assert answer(machine.run("Open", bank=1, account=2, balance=8, floor=7)) == "arithmetic"


def test_a_written_child_is_checked_against_its_root(machine: Machine) -> None:
    assert machine.run("Fill", bank=1, account=1, pot=2, share=101).outcome == "TooMuch"
    assert machine.run("Fill", bank=1, account=1, pot=2, share=100).success
    assert ("Account", (1, 1)) in machine.plan.commands["Fill"].access(
        machine.input("Fill", bank=1, account=1, pot=2, share=1), (), None
    ).rows


def test_a_written_root_is_checked_against_bound_children_only(machine: Machine) -> None:
    machine.put("Rule", 1, 1, 1, 10)
    assert machine.run("Draw", bank=1, account=1, pot=1, rule=1, amount=41).outcome == "OwnerShort"
    assert machine.run("Draw", bank=1, account=1, pot=1, rule=1, amount=40).success
    assert machine.run("Take", bank=1, account=1, amount=1).success, "the pot is not bound by this command"


def test_each_invariant_looks_at_the_children_that_it_names(machine: Machine) -> None:
    assert (
        answer(machine.run("Cap", bank=1, account=1, pot=1, rule=1, cap=101)) == "invariant_violated:Capped"
    )
    assert machine.run("Cap", bank=1, account=1, pot=1, rule=1, cap=100).success


def test_a_deleted_child_no_longer_counts(machine: Machine) -> None:
    machine.put("Pot", 1, 1, 3, 1000, 0)
    assert machine.run("Empty", bank=1, account=1, pot=3).success


def test_a_child_without_its_root_has_nothing_to_be_checked_against(machine: Machine) -> None:
    assert machine.run("Fill", bank=1, account=9, pot=1, share=5).success
