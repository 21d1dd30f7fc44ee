"""What is offered at each place of a contract that is being written."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.effort import effort
from tests.unit.lsp.texts import CONTRACTS, SHOP
from treadle.lsp import snippets
from treadle.lsp.analysis import Analysis
from treadle.lsp.contract_text import ContractText
from treadle.lsp.describe import described
from treadle.lsp.items import Item
from treadle.lsp.suggest import suggestions
from treadle.riff import compile_contract
from treadle.riff.parse import parse

WHOLE = Analysis(SHOP)


def offered(marked: str, text: str = SHOP, *, before: Analysis | None = WHOLE) -> list[Item]:
    """What is offered at `|` in a piece that takes the place of what is between its first and last line."""
    offset = marked.index("|")
    return suggestions(Analysis(marked.replace("|", "", 1), before), offset)[1]


def labels(text: str) -> list[str]:
    return [item.label for item in offered(text)]


def in_command(clauses: str, *, head: str = "command Try", more: str = "") -> str:
    """The shop with a command at its end that is being written."""
    body = "    input key: string<128>\n    input shop: uuid\n    input id: uuid\n    input n: u64\n"
    return SHOP.rstrip().removesuffix("}") + f"  {head} {{\n{body}{clauses}{more}\n  }}\n}}\n"


BOUND = "    idempotency_key key\n    mutate Job(shop, id) as job else JobMissing {}\n"


def test_declarations_at_the_top() -> None:
    assert labels("|") == ["contract"]
    found = offered("contract X version 1 {\n  |\n}")
    assert {item.label for item in found} >= {"enum", "entity", "event", "workflow", "command", "bulk", "row"}
    assert all(item.kind == "word" and item.help for item in found)


def test_the_clauses_of_a_command_in_their_order() -> None:
    assert labels(in_command("    |"))[:4] == ["input", "service", "idempotency_key", "read"]
    after = labels(in_command(BOUND + "    |"))
    assert after[:3] == ["conflict", "violates", "read"] and after[-1] == "return"
    assert "input" not in after and "idempotency_key" not in after
    assert "for" not in after, "only a bulk command has one"
    later = labels(in_command(BOUND + "    set job.pages = 1\n    |"))
    assert later == ["reveals", "set", "emit", "transition", "lease", "return"]
    bulk = labels(in_command("    idempotency_key key\n    |", head="bulk command Try"))
    assert "for" in bulk


def test_an_arm_and_a_loop_have_fewer_clauses() -> None:
    arm = labels(in_command(BOUND + "    decide job { when job.pages == 1 => apply { |", more=" } } "))
    assert "set" in arm and "require" not in arm and "return" not in arm and "input" not in arm
    loop = labels(in_command("    for each in ids { |", head="bulk command Try", more=" }"))
    assert "create" in loop and "require" in loop and "return" not in loop


@pytest.mark.parametrize(
    "marked, first",
    [
        ("    mutate |", ["Job"]),
        ("    create Jo|", ["Job"]),
        ("    mutate Job(|", ["shop", "id"]),
        ("    mutate Job(shop, |", ["shop", "id"]),
        ("    idempotency_key |", ["key"]),
        (BOUND + "    set |", ["job"]),
        (BOUND + "    set job.|", ["title", "pages", "pin"]),
        (BOUND + "    set job.pages = |", ["n"]),
        (BOUND + "    set job.ti|", ["title", "pages", "pin"]),
        (
            BOUND + "    require Open: job.state == |",
            ["JobState.Waiting", "JobState.Printing", "JobState.Done"],
        ),
        (BOUND + "    require Open: job.state == JobState.|", ["Waiting", "Printing", "Done"]),
        (BOUND + "    require Open: job.pages >= |", ["n"]),
        (BOUND + "    require Open: tx.|", ["time"]),
        (BOUND + "    require Open: tx.time.|", ["date"]),
        (BOUND + "    require Open: n > 1 else |", ["JobMissing"]),
        (BOUND + "    transition |", ["Start", "Finish"]),
        (BOUND + "    transition Start on |", ["job"]),
        (BOUND + "    transition Start on job revision |", ["n"]),
        (BOUND + "    transition Start on job revision n stale |", ["JobMissing"]),
        (BOUND + "    lease |", ["claim", "expire", "fence", "release", "renew"]),
        (BOUND + "    lease claim |", ["printing"]),
        (BOUND + "    lease claim printing on |", ["job"]),
        (BOUND + "    lease claim printing on job owner |", ["shop", "id"]),
        (BOUND + "    lease claim printing on job owner id duration_seconds |", ["n"]),
        (BOUND + "    emit |", ["JobDone"]),
        (BOUND + "    emit JobDone { |", ["shop_id", "job_id", "done_at"]),
        (BOUND + "    emit JobDone { shop_id: shop, |", ["job_id", "done_at"]),
        (BOUND + "    emit JobDone { done_at: |", ["tx.time"]),
        (BOUND + "    return Done { until: job.un|", ["shop_id", "job_id", "state"]),
        (BOUND + "    decide |", ["job"]),
        ("    create Job(shop, id) as |", ["job"]),
        ("    create Job(shop, id) as job else X {} conflict |", ["by_title"]),
        ("    create Job(shop, id) as job else X {} violates |", ["SomePages"]),
        ("    create Job(shop, id) as job else X {}\n    set job.|", ["title", "pages", "pin"]),
    ],
)
def test_in_a_command(marked: str, first: list[str]) -> None:
    assert labels(in_command(marked))[: len(first)] == first


def test_a_lease_s_counters_are_set_where_the_row_is_made() -> None:
    made = labels(in_command("    create Job(shop, id) as job else X {}\n    set job.|"))
    assert "fence" in made and "until" not in made and "state" not in made and "job_id" not in made
    assert "fence" not in labels(in_command(BOUND + "    set job.|"))


@pytest.mark.parametrize(
    "old, new, first",
    [
        ("state: JobState // where", "state: | // where", ["uuid", "string", "u64"]),
        ("field title: string<120>", "field title: optional<|", ["uuid", "string"]),
        (
            "index by_state (shop_id, state, job_id)",
            "index by_state (shop_id, |)",
            ["shop_id", "job_id", "state"],
        ),
        ("unique by_title (shop_id, title)", "unique by_title (|)", ["shop_id", "job_id"]),
        ("invariant SomePages: pages >= 1", "invariant SomePages: |", ["shop_id", "job_id"]),
        ("root Job partition_by shop_id", "root |", ["Job"]),
        ("partition_by shop_id conflict", "partition_by | conflict", ["shop_id", "job_id"]),
        ("entity Job\n    state state", "entity |", ["Job"]),
        ("    state state\n", "    state |\n", ["state"]),
        ("initial Waiting", "initial |", ["Waiting", "Printing", "Done"]),
        ("from (Waiting) to Printing", "from (|", ["Waiting", "Printing", "Done"]),
        ("from (Waiting) to Printing", "from (Waiting) to |", ["Waiting", "Printing", "Done"]),
        ("owner printer\n", "owner |\n", ["printer"]),
        ("expires_at until\n", "expires_at |\n", ["until"]),
        ("fencing_token fence\n", "fencing_token |\n", ["pages", "fence"]),
        ("partition_by (shop_id)\n", "partition_by (|)\n", ["shop_id", "job_id", "done_at"]),
        ("row policy Mine on Job", "row policy Mine on |", ["Job"]),
        ("when shop_id in principal.shops\n", "when shop_id in principal.|\n", ["shops"]),
        ("when shop_id in principal.shops\n", "when |\n", ["shop_id", "job_id"]),
        ("reconstitute Job", "reconstitute |", ["Job"]),
        ("from records else", "from | else", ["records"]),
        ("list<Job, 1..32>", "list<|, 1..32>", ["uuid"]),
    ],
)
def test_in_a_declaration(old: str, new: str, first: list[str]) -> None:
    assert SHOP.count(old) >= 1
    assert labels(SHOP.replace(old, new, 1))[: len(first)] == first


def test_details_say_the_types() -> None:
    by_name = {item.label: item for item in offered(in_command(BOUND + "    require Open: job.|"))}
    assert by_name["pin"].detail == "string<8>, secret" and by_name["shop_id"].detail == "uuid, key"
    inputs = {item.label: item for item in offered(in_command(BOUND + "    set job.pages = |"))}
    assert inputs["n"].detail == "u64" and inputs["n"].rank < inputs["shop"].rank


def test_types_name_the_enums_and_in_a_bulk_list_the_entities() -> None:
    assert "JobState" in labels(in_command("    input state: |"))
    found = labels(in_command("    input jobs: list<|", head="bulk command Try"))
    assert "Job" in found and "JobState" in found


def test_words_that_are_only_names_here_are_not_offered() -> None:
    assert "stale" not in labels(in_command(BOUND + "    require Open: |"))
    assert labels("contract X version 1 { entity E { field |") == ["secret"]


@pytest.mark.parametrize(
    "marked", ["// entity |", "contract X version 1 { // |", "contract |", "contract X version |"]
)
def test_nothing_where_nothing_can_be_chosen(marked: str) -> None:
    assert [item for item in offered(marked) if item.label != "version"] == []


def test_what_is_declared_below_and_what_was_there_before_is_known() -> None:
    text = in_command(BOUND + "    set job.|").replace("entity Job {", "entity Job {{ {")
    assert labels(text)[:2] == ["title", "pages"], "the entity is broken now, and was whole before"
    early = (
        "contract X version 1 {\n command C { input a: uuid read |\n }\n entity Late { key (id: uuid) }\n}"
    )
    assert "Late" in labels(early)
    fresh = [
        item.label
        for item in offered("contract X version 1 {\n enum A { B }\n entity E { field f: |", before=None)
    ]
    assert "A" in fresh


def test_the_word_under_the_cursor_is_replaced() -> None:
    text = in_command(BOUND + "    set job.ti|")
    offset = text.index("|")
    extent, _ = suggestions(Analysis(text.replace("|", "", 1), WHOLE), offset)
    assert text[extent.start : extent.end] == "ti"


@pytest.mark.parametrize("text", CONTRACTS.values(), ids=list(CONTRACTS))
def test_what_is_written_was_offered(text: str) -> None:
    """At names that are used, not invented, the name that stands there is among what is offered."""
    about = Analysis(text)
    used = [
        each
        for each in about.names.occurrences
        if each.symbol.at != each.at and each.symbol.kind not in ("outcome", "answer")
    ]
    missing = []
    for each in used[:: max(1, len(used) // effort(25))]:
        found = {item.label for item in suggestions(about, each.at.start)[1]}
        name = text[each.at.start : each.at.end]
        if name not in found and not any(label.startswith(f"{name}.") for label in found):
            missing.append((name, each.symbol.kind, text[each.at.start - 30 : each.at.start]))
    assert not missing


FORMS = {
    name: form
    for table in (snippets.DECLARATIONS, snippets.ENTITY, snippets.WORKFLOW, snippets.COMMAND, snippets.TYPES)
    for name, form in table.items()
}


def filled(form: str) -> str:
    """A form as it stands when its proposals are kept."""
    form = re.sub(r"\$\{\d+\|([^,|]*)[^}]*\|\}", r"\1", form)
    while "${" in form:
        form = re.sub(r"\$\{\d+:([^${}]*)\}", r"\1", form)
    return re.sub(r"\$\d+", "", form)


@pytest.mark.parametrize("name", snippets.DECLARATIONS)
def test_forms_of_declarations_are_of_the_grammar(name: str) -> None:
    assert parse(f"contract X version 1 {{ {filled(snippets.DECLARATIONS[name])} }}").tree is not None


@pytest.mark.parametrize("name", [*snippets.COMMAND, *snippets.LEASE_OPERATIONS])
def test_forms_of_clauses_are_of_the_grammar(name: str) -> None:
    form = filled({**snippets.COMMAND, **snippets.LEASE_OPERATIONS}[name])
    clause = f"lease {form}" if name in snippets.LEASE_OPERATIONS else form
    parsed = parse(f"contract X version 1 {{ command C {{ {clause} }} }}")
    assert parsed.tree is not None, parsed.diagnostics


@pytest.mark.parametrize("name", [*snippets.ENTITY, *snippets.TYPES, *snippets.WORKFLOW, *snippets.AGGREGATE])
def test_forms_of_members_and_types_are_of_the_grammar(name: str) -> None:
    if name in snippets.TYPES:
        text = f"entity E {{ field f: {filled(snippets.TYPES[name])} }}"
    elif name in snippets.ENTITY:
        text = f"entity E {{ {filled(snippets.ENTITY[name])} }}"
    elif name in snippets.AGGREGATE:
        text = f"aggregate E {{ {filled(snippets.AGGREGATE[name])} }}"
    else:
        form = filled(snippets.WORKFLOW[name])
        step = "transition A from (B) to C"
        lease = "lease l { owner o expires_at e fencing_token f duration_seconds (5, 900) }"
        forms = {"transition": f"{form}", "lease": f"{step} {form}"}
        text = f"workflow W {{ entity E state s {forms.get(name, f'{step} {lease}')} }}"
    assert parse(f"contract X version 1 {{ {text} }}").tree is not None


@settings(max_examples=effort(25), deadline=None)
@given(st.data())
def test_no_text_and_no_place_stops_it(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(list(CONTRACTS.values())))
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 40)))
    piece = data.draw(
        st.sampled_from(["", "{", "}", "(", "set ", "job.", '"', "// ", "💡", "entity X {", "\x00", "1."])
    )
    changed = text[:start] + piece + text[end:]
    subject = ContractText(changed, ContractText(text) if data.draw(st.booleans()) else None)
    assert all(described(subject.about, each.symbol) for each in subject.about.names.occurrences)
    subject.outline()
    for offset in {start, start + len(piece), data.draw(st.integers(0, len(changed)))}:
        extent, items = subject.suggestions(offset)
        subject.hover(offset)
        subject.renaming(offset)
        assert 0 <= extent.start <= extent.end == offset
        assert len({item.label for item in items}) == len(items)
    assert compile_contract(text).contract is not None
