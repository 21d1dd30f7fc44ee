"""Refusal cases: a query text in which `«CODE:text»` marks where a diagnostic of that code must stand.

The text is compiled without the marks. Its diagnostics must be exactly the marked ones: code, start and end.
"""

from __future__ import annotations

import re
from functools import cache

from treadle.model.contract import Contract
from treadle.riff import compile_contract
from treadle.riffql import Compiled, compile_queries

MARK = re.compile(r"«([SQW]\d{3}):(.*?)»", re.DOTALL)

CONTRACT = """contract Shop version 1 {
  enum State { New, Busy, Done }
  entity Shop { key (shop: uuid) field name: string<40> }
  entity Job {
    key (shop: uuid, job: uuid)
    field state: State
    field size: u64
    field urgent: bool
    field title: string<40>
    field note: optional<string<20>>
    field owner: optional<uuid>
    field due: optional<timestamp>
    field made: timestamp
    field price: money<EUR>
    field tags: list<string<8>, 4>
    field secret pin: string<8>
    unique one_title (shop, title)
    index by_state (shop, state)
    index by_size (shop, size, job)
    index by_note (shop, note) text_key (note, binary_utf8_v1)
    index by_due (shop, due) presence (due)
  }
  entity Line {
    key (shop: uuid, job: uuid, line: u64)
    field text: string<40>
  }
  entity Page {
    key (shop: uuid, job: uuid, line: u64, page: u64)
    field text: string<40>
  }
  aggregate Shops { root Shop partition_by shop conflict_key (shop) }
  aggregate Jobs { root Job child Line child Page partition_by shop conflict_key (shop, job) }
}
"""


@cache
def contract() -> Contract:
    compiled = compile_contract(CONTRACT)
    assert compiled.contract is not None, compiled.render()
    return compiled.contract


def unmark(text: str) -> tuple[str, list[tuple[str, int, int]]]:
    plain, expected, at = "", [], 0
    for found in MARK.finditer(text):
        plain += text[at : found.start()]
        expected.append((found[1], len(plain), len(plain) + len(found[2])))
        plain += found[2]
        at = found.end()
    return plain + text[at:], expected


def found(compiled: Compiled) -> list[tuple[str, int, int]]:
    return [(each.code, each.span.start.offset, each.span.end.offset) for each in compiled.diagnostics]


def verify(text: str) -> Compiled:
    """Compile a marked text and compare; every diagnostic also says something and can be shown."""
    plain, expected = unmark(text)
    compiled = compile_queries(plain, contract())
    assert found(compiled) == sorted(expected, key=lambda each: (each[1:], each[0])), compiled.render()
    assert (compiled.queries is None) == any(code[0] != "W" for code, _, _ in expected)
    for each in compiled.diagnostics:
        assert each.message and not each.message.endswith(".")
    assert compiled.render() or not expected
    return compiled


def query(statements: str, answer: str = "jobs: job { job }", parameters: str = "$shop: Job.shop") -> str:
    return f"query Try({parameters}) {{\n  {statements}\n  return Found {{ {answer} }}\n}}\n"


def many(where: str, rest: str = "order by job.job take 10", parameters: str = "$shop: Job.shop") -> str:
    """A query of jobs with these conditions beside the shop."""
    joined = f" && {where}" if where else ""
    return query(f"many job from Job where job.shop == $shop{joined} {rest}", parameters=parameters)
