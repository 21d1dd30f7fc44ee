"""What is refused, each with its code and place; beside each case stands what is not refused."""

from __future__ import annotations

import re

import pytest

from tests.support.shared import ROOT
from tests.unit.riffql.refusals import many, query, verify

P = "$shop: Job.shop"
ONE = "one job from Job where job.shop == $shop && job.job == $job else Missing"
BOTH = "$shop: Job.shop, $job: Job.job"

REFUSED = {
    # Q001: names.
    "two queries of a name": many("") + many("").replace("Try", "«Q001:Try»"),
    "two parameters of a name": many("", parameters=f"{P}, «Q001:$shop»: u64"),
    "two rows of a name": query(
        f"{ONE} many «Q001:job» from Job where job.shop == $shop take 1", "job: job { size }", BOTH
    ),
    "a row called like an enum": query(
        "many «Q001:State» from Job where State.shop == $shop take 1", "x: State { job }"
    ),
    "a row called tx": query("many «Q001:tx» from Job where shop == $shop take 1", "x: tx { job }"),
    "two members of a name": query(
        "many job from Job where job.shop == $shop take 1", "jobs: job { job «Q001:job» }"
    ),
    "two outcomes of a name": query(ONE, "job: job { size }", BOTH).replace(
        "}\n}", "}\n  outcomes Found | Missing | «Q001:Missing»\n}"
    ),
    # Q002: unknown names.
    "an unknown entity": query("many job from «Q002:Jop» where job.shop == $shop take 1"),
    "an unknown field": many("job.«Q002:sise» == 3"),
    "an unknown parameter": many("job.state == «Q002:$state»"),
    "a variant without its enum": many("job.state == «Q002:New»"),
    "an unknown variant": many("job.state == State.«Q002:Old»"),
    "an enum alone": many("job.state == «Q002:State»"),
    "a parameter without its sign": many("job.state == «Q002:state»", parameters=f"{P}, $state: Job.state"),
    "an unknown row": many("job.size == «Q002:line».line"),
    "an unknown part of tx": many("job.made == «Q002:tx.now»"),
    "an unknown row in the answer": query(
        "many job from Job where job.shop == $shop take 1", "jobs: «Q002:jops» { job } more: job { job }"
    ),
    "an unknown field in the answer": query(
        "many job from Job where job.shop == $shop take 1", "jobs: job { «Q002:jop» }"
    ),
    "an unknown entity of a parameter": many("", parameters=f"{P}, $x: «Q002:Jop».job"),
    "an unknown field of a parameter": many("", parameters=f"{P}, $x: Job.«Q002:jop»"),
    # Q003: types of parameters.
    "a bound out of range": many("", parameters=f"{P}, $x: string<«Q003:0»>"),
    "an unknown type": many("", parameters=f"{P}, $x: «Q003:text»"),
    "an optional optional": many("", parameters=f"{P}, $x: optional<«Q003:optional<u64>»>"),
    "a long list for in": many(
        "job.state in $states", parameters=f"{P}, «Q003:$states: list<State, 1..2000>»"
    ),
    # Q004: types that differ.
    "another type": many("job.state == «Q004:$size»", parameters=f"{P}, $size: u64"),
    "a constant of another type": many('job.size > «Q004:"a"»'),
    "a constant out of range": many("job.size > «Q004:-1»"),
    "a text that is too long": many('job.note != «Q004:"abcdefghijklmnopqrstuvwxyz"»'),
    "a list of another type": many("job.state in «Q004:$sizes»", parameters=f"{P}, $sizes: list<u64, 1..4>"),
    "an order of texts": many('job.title «Q004:<» "b"'),
    "an order of enums": many("job.state «Q004:<» State.New"),
    "null in an order": many("job.due < «Q004:null»"),
    "null for what is never null": many("job.size «Q004:is null»"),
    "null as a constant": many("job.size == «Q004:null»"),
    "a parameter that may be null": many("job.size > «Q004:$size»", parameters=f"{P}, $size: optional<u64>"),
    "a parameter that may be null, equal": many(
        "job.state == «Q004:$state»", parameters=f"{P}, $state: optional<State>"
    ),
    "a prefix of a number": many('job.size «Q004:prefix» "a"'),
    "a list is compared": many("«Q004:job.tags» == job.tags"),
    "a condition that is no bool": many("«Q004:job.size»"),
    "when of what is always there": many(
        "when «Q004:$size» { job.size > $size }", parameters=f"{P}, $size: u64"
    ),
    # Q005: forms.
    "or": many("(job.urgent «Q005:||» job.size > 3)"),
    "arithmetic on the left": many("job.size «Q005:+» 1"),
    "arithmetic on the right": many("job.size > «Q005:$a + 1»", parameters=f"{P}, $a: u64"),
    "a chain": many("job.size > 1 «Q005:==» true"),
    "two fields of one row": many("job.made == «Q005:job.due»"),
    "no field on the left": many("«Q005:$a» == $a", parameters=f"{P}, $a: u64"),
    "a part of a field": many("job.made.«Q005:date» == $d", parameters=f"{P}, $d: date"),
    "a condition without comparison": many("«Q005:true»"),
    "a negated parameter": many("job.size > «Q005:-$a»", parameters=f"{P}, $a: u64"),
    "a whole row on the right": query(
        "one shop from Shop where shop == $shop else Missing"
        " many job from Job where job.shop == «Q005:shop» take 1",
        "jobs: job { job }",
    ).replace("where shop ==", "where shop.shop =="),
    # Q006: one row.
    "an incomplete key": query(
        "one «Q006:job» from Job where job.shop == $shop else Missing", "job: job { size }"
    ),
    "a key by in": query(
        "maybe «Q006:job» from Job where job.shop == $shop && job.job in ($job)", "job: job { size }", BOTH
    ),
    "a key under when": query(
        "maybe «Q006:job» from Job where job.shop == $shop && when $job { job.job == $job }",
        "job: job { size }",
        f"{P}, $job: optional<Job.job>",
    ),
    # Q007: indexes.
    "no index for an equality": many("job.title == $t", parameters=f"{P}, $t: Job.title").replace(
        "many job", "many «Q007:job»"
    ),
    "no index for an order": many("", "order by job.made take 3").replace("many job", "many «Q007:job»"),
    "a prefix without text_key": many('job.title prefix "a"', "order by job.title take 3").replace(
        "many job", "many «Q007:job»"
    ),
    "a prefix and another order": many('job.note prefix "a"').replace("many job", "many «Q007:job»"),
    "an optional prefix without text_key": many(
        "when $t { job.title prefix $t }", parameters=f"{P}, $t: optional<Job.title>"
    ).replace("many job", "many «Q007:job»"),
    "an index of present rows only": many("", "order by job.due take 3").replace(
        "many job", "many «Q007:job»"
    ),
    # Q008: order.
    "two directions": many("", "order by job.size desc, «Q008:job.job asc» take 3"),
    "the order of a list": many("", "order by «Q008:job.tags» take 3"),
    "a field twice": many("", "order by job.size, «Q008:job.size» take 3"),
    "an order of one row": query(
        f"{ONE.replace(' else Missing', '')} order by «Q008:job.size» else Missing", "job: job { size }", BOTH
    ),
    "an order of groups": query(
        "many job from Job where job.shop == $shop group by job.state order by «Q008:job.state» take 3",
        "states: job { state }",
    ),
    "an order of totals": query(
        "many job from Job where job.shop == $shop order by «Q008:job.job»", "n: count(job)"
    ),
    "a field of another row": query(
        f"{ONE} many line from Line where line.shop == $shop && line.job == $job"
        " order by «Q008:job.size» take 3",
        "lines: line { text }",
        BOTH,
    ),
    # Q009: bounds.
    "no take": many("", "order by job.job").replace("many job", "many «Q009:job»"),
    "take nothing": many("", "take «Q009:0»"),
    "take too many": many("", "take «Q009:1001»"),
    "take of one row": query(
        f"{ONE.replace(' else Missing', '')} «Q009:take 1» else Missing", "job: job { size }", BOTH
    ),
    "take of totals": query("many job from Job where job.shop == $shop «Q009:take 3»", "n: count(job)"),
    "nested lists with too many rows": query(
        "many job from Job where job.shop == $shop take 1000"
        " many line from Line where line.shop == job.shop && line.job == job.job take «Q009:11»",
        "jobs: job { lines: line { text } }",
    ),
    # Q010: cursors.
    "a cursor of a nested list": query(
        "many job from Job where job.shop == $shop take 10"
        " many line from Line where line.shop == job.shop && line.job == job.job take 3 after «Q010:$c»",
        "jobs: job { lines: line { text } }",
    ),
    "two lists with pages": query(
        "many job from Job where job.shop == $shop take 10 after $c"
        " many other from Job where other.shop == $shop take 10 after «Q010:$c»",
        "jobs: job { job } others: other { job }",
    ),
    "a cursor that is no cursor": many("", "take 3 after «Q010:$c»", parameters=f"{P}, $c: u64"),
    "a cursor in a condition": many("job.size > «Q010:$c»", "take 3 after $c"),
    "a cursor that nothing uses": many("", parameters=f"{P}, «Q010:$c»: cursor"),
    # Q011: the answer.
    "a list that is not answered": query(
        f"{ONE} many «Q011:other» from Job where other.shop == $shop take 1", "job: job { size }", BOTH
    ),
    "a list answered twice": query(
        "many job from Job where job.shop == $shop take 1", "a: job { job } b: «Q011:job { job }»"
    ),
    "a field of a list": query(
        "many job from Job where job.shop == $shop take 1", "jobs: job { job } title: «Q011:job.title»"
    ),
    "a nested row outside": query(
        "many job from Job where job.shop == $shop take 1 maybe shop from Shop where shop.shop == job.shop",
        "jobs: job { job } shop: «Q011:shop { name }»",
    ),
    "a list of its own inside another": query(
        "many job from Job where job.shop == $shop take 1"
        " many other from Job where other.shop == $shop take 1",
        "jobs: job { job other: «Q011:other { job }» }",
    ),
    "a field that is not grouped": query(
        "many job from Job where job.shop == $shop group by job.state take 3", "states: job { «Q011:size» }"
    ),
    "the revision of a group": query(
        "many job from Job where job.shop == $shop group by job.state take 3",
        "states: job { «Q011:revision» }",
    ),
    "a group without a shape": query(
        "many job from Job where job.shop == $shop group by job.state take 3", "states: «Q011:job»"
    ),
    "a part of a field in the answer": query(ONE, "day: «Q011:job.made.date»", BOTH),
    # Q012: outcomes.
    "no outcome for an absent row": query(
        "one «Q012:job» from Job where job.shop == $shop && job.job == $job", "job: job { size }", BOTH
    ),
    "else of a list": query("many job from Job where job.shop == $shop take 1 else «Q012:Missing»"),
    "else of a row that may be absent": query(
        "maybe job from Job where job.shop == $shop && job.job == $job else «Q012:Missing»",
        "job: job { size }",
        BOTH,
    ),
    "else names the answer": query(ONE.replace("Missing", "«Q012:Found»"), "job: job { size }", BOTH),
    "an outcome is left out": query(ONE, "job: job { size }", BOTH).replace(
        "}\n}", "}\n  outcomes «Q012:Found»\n}"
    ),
    "an outcome that nothing answers": many("").replace("}\n}", "}\n  outcomes Found | «W012:Missing»\n}"),
    # Q013: secrets.
    "a secret in a condition": many('«Q013:job.pin» == "1"'),
    "a secret of another row in a condition": query(
        f"{ONE} many other from Job where other.shop == $shop && other.title != «Q013:job.pin» take 1",
        "jobs: other { job }",
        BOTH,
    ),
    "a secret in an order": many("", "order by «Q013:job.pin» take 3"),
    "a secret in the answer": query(
        "many job from Job where job.shop == $shop take 1", "jobs: job { «Q013:pin» }"
    ),
    "a secret in a whole row": query("many job from Job where job.shop == $shop take 1", "jobs: «Q013:job»"),
    "a secret in an aggregate": query(
        "many job from Job where job.shop == $shop", "x: min(«Q013:job.pin») n: count(job)"
    ),
    "reveals what is no secret": query(
        "many job from Job where job.shop == $shop take 1", "jobs: job { size reveals «Q013:job.size» }"
    ),
    # Q014: aggregates.
    "an aggregate of rows": query(
        "many job from Job where job.shop == $shop take 1", "jobs: job { job } n: «Q014:count(job)»"
    ),
    "an aggregate of nothing": query(ONE, "n: «Q014:sum(3)» job: job { size }", BOTH),
    "rows of an aggregate": query(
        "many job from Job where job.shop == $shop", "n: count(job) jobs: «Q014:job { job }»"
    ),
    "count of a field": query("many job from Job where job.shop == $shop", "n: «Q014:count(job.size)»"),
    "sum of a text": query("many job from Job where job.shop == $shop", "n: sum(«Q014:job.title»)"),
    "min of an enum": query("many job from Job where job.shop == $shop", "n: min(«Q014:job.state»)"),
    "sum of an expression": query("many job from Job where job.shop == $shop", "n: «Q014:sum(job.size > 3)»"),
    "an aggregate of groups outside": query(
        "many job from Job where job.shop == $shop group by job.state take 3",
        "states: job { state } n: «Q014:count(job)»",
    ),
    # W015: unused.
    "an unused parameter": many("", parameters=f"{P}, «W015:$size»: u64"),
    # Q016: nesting.
    "one for each row of a list": query(
        "many job from Job where job.shop == $shop take 1"
        " one «Q016:shop» from Shop where shop.shop == job.shop else Missing",
        "jobs: job { job shop: shop { name } }",
    ),
    "two separate lists": query(
        "many job from Job where job.shop == $shop take 1"
        " many other from Job where other.shop == $shop take 1"
        " maybe line from Line where line.shop == job.shop && line.job == «Q016:other.job» && line.line == 1",
        "jobs: job { job line: line { text } } others: other { job }",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    verify(REFUSED[case])


ALLOWED = {
    "the key as an index": many(""),
    "no order": many("", "take 3"),
    "the key, falling": many("", "order by job.job desc take 3"),
    "an equality and the rest of the key": many("job.state == State.New"),
    "in, before the order": many("job.state in (State.New, State.Busy)"),
    "in, in the order": many("job.state in (State.New, State.Busy)", "order by job.state, job.job take 3"),
    "in as a filter": many("job.title in $titles", parameters=f"{P}, $titles: list<Job.title, 0..100>"),
    "a range on the order": many("job.size > 3 && job.size <= 10", "order by job.size take 3"),
    "a range as a filter": many("job.size > 3"),
    "the other way round": many("3 < job.size", "order by job.size take 3"),
    "a field without its row": many('size > 3 && title != "a"'),
    "null": many("job.note is null"),
    "null as a constant": many("job.note == null"),
    "null from a parameter": many("job.note == $note", parameters=f"{P}, $note: Job.note"),
    "not null leads to the index of present rows": many("job.due is not null", "order by job.due take 3"),
    "an edge leads to the index of present rows": many("job.due <= tx.time", "order by job.due take 3"),
    "a prefix": many(
        "job.note prefix $note", "order by job.note take 3", parameters=f"{P}, $note: string<5>"
    ),
    "an optional prefix": many(
        "when $note { job.note prefix $note }", parameters=f"{P}, $note: optional<string<5>>"
    ),
    "flags": many("when $all { urgent && !urgent }", parameters=f"{P}, $all: bool"),
    "a flag": many("when $all { job.urgent && job.size > 1 }", parameters=f"{P}, $all: bool"),
    "texts of another bound": many("job.title != $text", parameters=f"{P}, $text: string<999>"),
    "money": many("job.price >= 12.50"),
    "a declared cursor": many("", "take 3 after $c", parameters=f"{P}, $c: cursor"),
    "an optional cursor": many("", "take 3 after $c", parameters=f"{P}, $c: optional<cursor>"),
    "a cursor": many("", "take 3 after $c"),
    "no parameters": "query All { many shop from Shop take 10 return Found { shops: shop } }",
    "empty parentheses": "query All() { many shop from Shop take 10 return Found { shops: shop } }",
    "a unique": query(
        "maybe job from Job where job.shop == $shop && job.title == $t",
        "job: job { size }",
        f"{P}, $t: Job.title",
    ),
    "a key and more": query(f"{ONE.replace(' else', ' && job.urgent else')}", "size: job.size", BOTH),
    "one outcome without else": query(
        ONE.replace(" else Missing", ""), "job: job { size revision }", BOTH
    ).replace("}\n}", "}\n  outcomes Found | Missing\n}"),
    "a secret that is revealed": query(
        "many job from Job where job.shop == $shop take 1",
        "jobs: job { pin reveals job.pin x: pin reveals pin }",
    ),
    "a whole row with its secret": query(
        "many job from Job where job.shop == $shop take 1", "jobs: job reveals job.pin"
    ),
    "a field called like its row": query(
        "many job from Job where job == $job && shop == $shop take 1", "j: job { job }", BOTH
    ),
    "other names": query(
        "many job from Job where job.shop == $shop take 1", "jobs: job { id: job rev: revision }"
    ),
    "nested": query(
        "many job from Job where job.shop == $shop take 10"
        " many line from Line where line.shop == job.shop && line.job == job.job take 3"
        " many page from Page where page.shop == line.shop && page.job == line.job"
        " && page.line == line.line take 2"
        " maybe shop from Shop where shop.shop == page.shop",
        "jobs: job { lines: line { pages: page { text shop: shop { name } job: job.title } } }",
    ),
    "totals for each row": query(
        "many job from Job where job.shop == $shop take 10"
        " many line from Line where line.shop == job.shop && line.job == job.job",
        "jobs: job { n: count(line) long: any(line.line > 3) }",
    ),
    "groups": query(
        "many job from Job where job.shop == $shop && job.urgent in (false)"
        " group by job.state take 3 after $c",
        "states: job { state n: count(job) most: max(job.size) all: all(job.size > 1 && job.urgent) }",
    ),
    "totals": query(
        "many job from Job where job.shop == $shop", "n: count(job) sum: sum(job.price) first: min(job.due)"
    ),
    "words as names": (
        "query from { many where from Shop take 1 return take { order: where { by: where.shop } } }"
    ),
}


@pytest.mark.parametrize("case", ALLOWED)
def test_what_is_allowed(case: str) -> None:
    compiled = verify(ALLOWED[case])
    assert compiled.queries is not None and len(compiled.queries) == 1


def test_every_code_has_a_case() -> None:
    folder = ROOT / "src" / "treadle" / "riffql"
    reported = set(re.findall(r'"([QW]\d{3})"', "".join(path.read_text() for path in folder.glob("*.py"))))
    assert reported == set(re.findall(r"«([QW]\d{3}):", "".join(REFUSED.values())))


def test_a_misspelt_name_is_helped() -> None:
    compiled = verify(many("job.«Q002:sise» == 3"))
    assert compiled.diagnostics[0].message == "no field of Job is called `sise`; the nearest is size"


def test_too_many_statements() -> None:
    lines = [f"maybe r{place} from Shop where r{place}.shop == $shop" for place in range(33)]
    body = " ".join([*lines[:32], lines[32].replace("maybe", "«Q009:maybe", 1) + "»"])
    verify(query(body, "x: r0 { name }"))


def test_lists_nest_four_deep() -> None:
    deep = [
        f"many r{n} from Job where r{n}.shop == r{n - 1}.shop && r{n}.owner == r{n - 1}.job take 1"
        for n in range(1, 5)
    ]
    text = query("many r0 from Job where r0.shop == $shop take 1 " + " ".join(deep), "x: r0 { job }")
    plain = text.replace("r4.owner == r3.job", "r4.state == r3.state").replace("many r4", "many «Q016:r4»")
    for place in range(1, 4):
        plain = plain.replace(f"r{place}.owner == r{place - 1}.job", f"r{place}.state == r{place - 1}.state")
    shape = "job"
    for place in range(3, -1, -1):
        shape = f"job r{place + 1}: r{place + 1} {{ {shape} }}" if place < 3 else "job r4: r4 { job }"
    verify(plain.replace("x: r0 { job }", f"x: r0 {{ {shape} }}"))
