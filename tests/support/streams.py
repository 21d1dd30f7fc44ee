"""A contract that emits events, and what tests of streams do with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, Final

from tests.support.engines import START, open_on
from treadle.database import Acting, Database
from treadle.ports.store import Store
from treadle.testing import ManualClock

SOURCE: Final = """
contract Post version 1 {
  entity Letter { key (town: string<20>, number: u64) field text: string<200> }
  event Sent { partition_by (town) town: string<20> number: u64 text: string<200> }
  event Noted { number: u64 }
  aggregate Letters { root Letter partition_by town conflict_key (town, number) }

  command Send {
    input key: string<128> input town: string<20> input number: u64 input text: string<200>
    idempotency_key key
    create Letter(town, number) as letter else Known {}
    set letter.text = text
    emit Sent { town: town, number: number, text: text }
    return Done {}
  }

  bulk command SendMany {
    input key: string<128> input town: string<20> input numbers: list<u64, 1..64>
    idempotency_key key
    for number in numbers {
      create Letter(town, number) as letter else Known {}
      set letter.text = "many"
      emit Sent { town: town, number: number, text: "many" }
    }
    return Done {}
  }

  command Note {
    input key: string<128> input town: string<20> input number: u64
    idempotency_key key
    create Letter(town, number) as letter else Known {}
    set letter.text = "note"
    emit Noted { number: number }
    return Done {}
  }
}
"""


def post(store: Store, clock: ManualClock | None = None) -> Database:
    """A database with the contract, and a clock that stands still unless one is given."""
    db = open_on(store, clock or ManualClock(START))
    db.deploy(SOURCE)
    return db


def call(number: int, town: str = "Ulm", command: str = "Send", **more: Any) -> tuple[str, Mapping[str, Any]]:
    text = {"text": f"letter {number}"} if command == "Send" else {}
    return command, {"key": f"{command}-{town}-{number}", "town": town, "number": number} | text | more


def send(acting: Acting, numbers: Iterable[int], town: str = "Ulm") -> None:
    """Letters, one commit each."""
    for answer in acting.run_many([call(number, town) for number in numbers]):
        assert answer.ok, answer


def numbers(events: Iterable[Any]) -> list[int]:
    return [event.fields["number"] for event in events]


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)
