"""Refusal cases: a contract text in which `«CODE:text»` marks where a diagnostic of that code must stand.

The text is compiled without the marks. Its diagnostics must be exactly the marked ones: code, start and end.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from treadle.riff import Compiled, compile_contract

MARK = re.compile(r"«([SCW]\d{3}):(.*?)»", re.DOTALL)

BASE = """contract Base version 1 {
  enum State { New, Busy, Done }
  enum Color { Red, Green }
  entity Shop { key (shop: uuid) field name: string<40> }
  entity Item {
    key (shop: uuid, item: uuid)
    field code: string<20>
    field size: u64
    field note: optional<string<20>>
    field secret pin: optional<string<8>>
    field seen: optional<timestamp>
    unique one_code (shop, code)
    invariant Sized: size >= 1
    index by_shop (shop, item)
    reference of_shop (shop) -> Shop (shop)
  }
  entity Task {
    key (shop: uuid, task: uuid)
    field state: State
    field owner: optional<uuid>
    field until: optional<timestamp>
    field fence: u64
    field tries: u64
    field title: string<40>
    delete_policy no_inbound
  }
  entity Count { key (shop: uuid, day: date) field n: u64 field last: optional<u64> delete_policy no_inbound }
  entity Loose { key (id: uuid) field x: u64 }
  event Ended { partition_by (shop) shop: uuid at: timestamp note: optional<u64> }
  aggregate Shops { root Shop partition_by shop conflict_key (shop) }
  aggregate Items { root Item partition_by shop conflict_key (shop, item) }
  aggregate Tasks { root Task partition_by shop conflict_key (shop, task) }
  aggregate Counts { root Count partition_by shop conflict_key (shop, day) }
  workflow Life {
    entity Task state state initial New
    transition Begin from (New) to Busy
    transition Finish from (Busy) to Done
    lease work {
      owner owner expires_at until fencing_token fence attempts tries duration_seconds (5, 900)
    }
  }
"""

INPUTS = """
    input request: uuid
    input shop: uuid
    input item: uuid
    input task: uuid
    input who: uuid
    input token: u64
    input seconds: u64
    input revision: u64
    input day: date
    input size: u64
    input code: string<20>
    input flag: bool
    input maybe: optional<u64>
    input when_at: timestamp
"""

FENCE = (
    "lease fence work on t owner who fencing_token token revision revision"
    " stale Stale {} invalid NotYours {} expired Late {}"
)
CLAIM = (
    "lease claim work on t owner who duration_seconds seconds revision revision"
    " stale Stale {} unavailable Taken {} invalid BadTime {} exhausted Exhausted {}"
)
BEGIN = "transition Begin on t revision revision stale Stale {} illegal Illegal {}"


class Marked(NamedTuple):
    """A text without marks, and what they say: (code, start, end), in source order."""

    text: str
    expected: list[tuple[str, int, int]]


def unmark(text: str) -> Marked:
    plain, expected, at = "", [], 0
    for found in MARK.finditer(text):
        plain += text[at : found.start()]
        expected.append((found[1], len(plain), len(plain) + len(found[2])))
        plain += found[2]
        at = found.end()
    return Marked(plain + text[at:], expected)


def declare(text: str) -> str:
    """The base contract and some declarations."""
    return f"{BASE}{text}\n}}\n"


def command(body: str, answer: str = "return Ok {}", name: str = "Try", more: str = "") -> str:
    """The base contract and a command with all the inputs and this body."""
    head = f"command {name} {{{INPUTS}{more}    idempotency_key request\n    "
    return declare(f"{head}{body}\n    {answer}\n  }}")


def bulk(body: str, before: str = "", items: str = "list<uuid, 1..8>", after: str = "return Ok {}") -> str:
    """A bulk command over `one in many`."""
    return declare(
        f"bulk command Try {{{INPUTS}    input many: {items}\n    idempotency_key request\n    {before}\n"
        f"    for one in many {{ {body} }}\n    {after}\n  }}"
    )


def found(compiled: Compiled) -> list[tuple[str, int, int]]:
    return [(each.code, each.span.start.offset, each.span.end.offset) for each in compiled.diagnostics]


def verify(text: str) -> None:
    """Compile a marked text and compare; every diagnostic also says something and can be shown."""
    marked = unmark(text)
    compiled = compile_contract(marked.text)
    assert found(compiled) == sorted(marked.expected, key=lambda each: (each[1:], each[0])), compiled.render()
    assert (compiled.contract is None) == any(code[0] != "W" for code, _, _ in marked.expected)
    for each in compiled.diagnostics:
        assert each.message and not each.message.endswith(".")
