"""The base of generated clients: who acts, which history is relied on, and answers that do not fit."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

import treadle
from tests.support.clients import SCOPE, WORK, interface, loaded, python_text
from treadle.errors import ContractMismatch, InvalidInput


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Any:
    text = python_text(interface(WORK, ""))
    return loaded(text, "generated_work_client", tmp_path_factory.mktemp("typed"))


@pytest.fixture
def db() -> Iterator[treadle.Database]:
    with treadle.open(":memory:") as opened:
        opened.deploy(WORK)
        yield opened


def create(work: Any, number: int) -> Any:
    return work.CreateWork(request_key=f"k{number}", organization_id=SCOPE, work_id=UUID(int=number))


class Answering:
    """A transport that gives a receipt of the test's."""

    def __init__(self, **receipt: Any) -> None:
        self.given: list[Any] = []
        self._receipt = SimpleNamespace(outcome="Created", fields={}, commit=9, history="h.1")
        vars(self._receipt).update(receipt)

    def run(self, command: str, input: Any, **options: Any) -> Any:
        self.given.append((command, options))
        return self._receipt

    def run_many(self, commands: Any, **options: Any) -> list[Any]:
        return [self._receipt for _ in commands]


@pytest.mark.parametrize(
    "receipt",
    [
        {"outcome": "Brand_new"},
        {"fields": {}},
        {"fields": {"work": {"organization_id": SCOPE}}},
        {"fields": {"work": None}},
        {
            "fields": {
                "work": dict.fromkeys(("organization_id", "work_id", "lease_fence"), 1) | {"state": "Lost"}
            }
        },
    ],
)
def test_an_answer_of_another_contract_is_told_with_its_commit(work: Any, receipt: dict[str, Any]) -> None:
    client = work.WorkItemsClient(Answering(**receipt))
    with pytest.raises(ContractMismatch, match="contract"):
        client.run(create(work, 1))
    (answer,) = client.run_many([create(work, 1)])
    assert isinstance(answer, ContractMismatch)


def test_every_call_names_the_contract_and_the_history_that_was_seen(work: Any) -> None:
    transport = Answering(outcome="Exists")
    client = work.WorkItemsClient(transport)
    client.run(create(work, 1))
    client.run(create(work, 2), timeout=3.0)
    first, second = [options for _, options in transport.given]
    assert first == {"timeout": None, "history": None, "contract": work.CONTRACT}
    assert second == {"timeout": 3.0, "history": "h.1", "contract": work.CONTRACT}
    assert work.WorkItemsClient(transport, history="h.0").history == "h.0"


def test_somebody_acts(work: Any, db: treadle.Database) -> None:
    with pytest.raises(InvalidInput, match="who acts"):
        work.WorkItemsClient(db)
    with pytest.raises(InvalidInput, match="already"):
        work.WorkItemsClient(db.acting_as("a"), role="b")
    receipt = work.WorkItemsClient(db, principal="clerk").run(create(work, 1)).receipt
    assert next(db.log(receipt.commit, receipt.commit)).principal == "clerk"


def test_outcomes_are_values(work: Any, db: treadle.Database) -> None:
    client = work.WorkItemsClient(db, principal="clerk")
    first, again = client.run(create(work, 1)), client.run(create(work, 1))
    assert first == again and again.receipt.replayed and hash(first) == hash(again)
    assert first != client.run(create(work, 2)) and first.work.state is work.WorkState.Queued
    with pytest.raises(AttributeError):
        first.work = None
    assert not hasattr(first, "__dict__") and "Created" in repr(first)
