"""Every name of a contract is found, with what it stands for: all can be renamed at once."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from tests.unit.lsp.texts import CONTRACTS, SHOP
from treadle.lsp.index import names_of
from treadle.lsp.names import Names, Symbol
from treadle.riff import compile_contract
from treadle.riff import syntax as s


def names(text: str) -> Names:
    unit = compile_contract(text).unit
    assert unit is not None
    return names_of(unit)


def name_nodes(node: Any) -> list[s.Name]:
    """Every name of a tree, but a currency's: that is no declared name."""
    if isinstance(node, tuple):
        return [name for each in node for name in name_nodes(each)]
    if isinstance(node, s.Name):
        return [node]
    if not isinstance(node, s.Node) or isinstance(node, s.MoneyType):
        return []
    return [name for each in fields(node) for name in name_nodes(getattr(node, each.name))]


@pytest.mark.parametrize("text", CONTRACTS.values(), ids=list(CONTRACTS))
def test_every_name_is_found_once(text: str) -> None:
    compiled = compile_contract(text)
    assert compiled.contract is not None, compiled.render()
    nodes = {(name.at.start, name.at.end): name.text for name in name_nodes(compiled.parsed.tree)}
    found = [each.at for each in names(text).occurrences]
    assert len(set(found)) == len(found)
    missing = {name for at, name in nodes.items() if at not in set(map(tuple, found))}
    assert not missing


@pytest.mark.parametrize("text", CONTRACTS.values(), ids=list(CONTRACTS))
def test_renaming_every_symbol_leaves_a_contract_that_means_the_same(text: str) -> None:
    index = names(text)
    fresh: dict[Symbol, str] = {}
    changed = text
    for at, symbol in reversed(index.occurrences):
        if symbol.kind != "builtin":
            number = 0 if symbol.kind == "field" else len(fresh)  # a child's key is named as its root's
            new = fresh.setdefault(symbol, f"n{number}_{symbol.name}")
            changed = changed[: at.start] + new + changed[at.end :]
    compiled = compile_contract(changed)
    assert compiled.contract is not None, compiled.render()
    assert len(compiled.diagnostics) == len(compile_contract(text).diagnostics)
    again = names(changed)
    kinds = [each.symbol.kind for each in index.occurrences]
    assert [each.symbol.kind for each in again.occurrences] == kinds


def at(text: str, marked: str) -> int:
    """The offset of `|` in a piece of the text that is written with one."""
    before, after = marked.split("|")
    return text.index(before + after) + len(before)


@pytest.mark.parametrize(
    "marked, kind, owner, declared",
    [
        ("|state: JobState", "field", "Job", "state: JobState"),
        ("state: Job|State", "enum", "", "JobState {"),
        ("job.ti|tle = title", "field", "Job", "title: string<120>\n    field pages"),
        ("= title|", "input", "AddJob", "title: string<120>\n    idempotency_key key\n    create"),
        ("as |job else JobExists", "binding", "AddJob", "job else JobExists"),
        ("initial Wait|ing", "variant", "JobState", "Waiting, Printing"),
        ("transition Fin|ish on job", "transition", "JobLife", "Finish from"),
        ("lease fence pr|inting", "lease", "JobLife", "printing {"),
        ("conflict by_ti|tle", "unique", "Job", "by_title (shop_id"),
        ("emit Job|Done", "event", "", "JobDone {\n    partition_by"),
        ("done_|at: tx", "event field", "JobDone", "done_at: timestamp"),
        ("illegal Not|Printing", "outcome", "Finish", "NotPrinting {}"),
        (
            "revision expected_revision stale St|ale {} illegal",
            "outcome",
            "Finish",
            "Stale {} invalid NotHolder",
        ),
        ("principal.sh|ops && state", "fact", "", "shops: list"),
        ("at: claim|ed_at", "service", "Claim", "claimed_at: transaction"),
        ("reveals job.p|in", "field", "Job", "pin: string<8>"),
        ("from rec|ords", "input", "RestoreJobs", "records: list"),
    ],
)
def test_what_a_name_stands_for(marked: str, kind: str, owner: str, declared: str) -> None:
    found = names(SHOP).at(at(SHOP, marked))
    assert found is not None
    symbol = found.symbol
    assert (symbol.kind, symbol.owner) == (kind, owner)
    assert symbol.at is not None and SHOP.startswith(declared, symbol.at.start)
    assert SHOP[symbol.at.start : symbol.at.end] == symbol.name


def test_between_two_names_the_one_that_begins_there() -> None:
    index = names(SHOP)
    dot = SHOP.index("job.title = title")
    first, second = index.at(dot + 3), index.at(dot + 4)
    assert first is not None and first.symbol.kind == "binding", "right behind a name is still on it"
    assert second is not None and second.symbol.kind == "field"
    assert index.at(SHOP.index("// A job")) is None


def test_of_two_declarations_of_one_name_each_has_its_own_symbol() -> None:
    text = SHOP.replace("command Finish {", "command Claim {")
    kinds = {each.symbol for each in names(text).occurrences if each.symbol.name == "Claim"}
    assert len(kinds) == 2
