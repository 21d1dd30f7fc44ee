"""Refusals of declarations: each row of the table and each clause of a row, with the exact span."""

from __future__ import annotations

import pytest

from tests.unit.riff.refusals import BASE, declare, verify

KEY64 = 2**64


def wide(name: str, fields: int) -> str:
    """An entity with so many fields."""
    others = " ".join(f"field f{number}: u64" for number in range(1, fields))
    return f"entity {name} {{ key (e: uuid) {others} }}"


CASES = {
    # C001
    "version zero": "contract A version «C001:0» {}",
    "version too large": f"contract A version «C001:{KEY64}» {{}}",
    "version huge": f"contract A version «C001:{'9' * 5000}» {{}}",
    # C002: declarations
    "enum twice": declare("enum «C002:State» { A }"),
    "enum and entity share a namespace": declare("enum «C002:Shop» { A }"),
    "event twice": declare("event «C002:Ended» { a: u64 }"),
    "aggregate twice": declare(
        "entity E { key (e: uuid) } aggregate «C002:Shops» { root E partition_by e conflict_key (e) }"
    ),
    "workflow twice": declare("workflow «C002:Life» { entity Item state code transition T from (A) to B }"),
    "command twice": declare(
        "command A { input shop: uuid read Shop(shop) as s else No {} return Ok {} }"
        " command «C002:A» { input shop: uuid read Shop(shop) as s else No {} return Ok {} }"
    ),
    "command and reimport share a namespace": declare(
        "command A { input shop: uuid read Shop(shop) as s else No {} return Ok {} }"
        " reimport command «C002:A» { input r: list<Item, 1..2> reconstitute Item from r else No {}"
        " return Ok {} }"
    ),
    "principal fact twice": declare("principal fact a: u64 principal fact «C002:a»: u64"),
    "row policy twice": declare(
        "row policy P on Item { allow read when size > 1 } row policy «C002:P» on Shop { allow read when"
        " true }"
    ),
    "an event may be called as an entity": declare("event Shop { a: u64 }"),
    # C002: members
    "variant twice": declare("enum E { A, B, «C002:A» }"),
    "field twice": declare("entity E { key (e: uuid) field a: u64 field «C002:a»: u64 }"),
    "field named as a key field": declare("entity E { key (e: uuid) field «C002:e»: u64 }"),
    "event field twice": declare("event E { a: u64 «C002:a»: u64 }"),
    "invariant twice": declare("entity E { key (e: uuid) invariant I: true invariant «C002:I»: true }"),
    "index twice": declare("entity E { key (e: uuid) index i (e) index «C002:i» (e) }"),
    "unique twice": declare("entity E { key (e: uuid) unique i (e) unique «C002:i» (e) }"),
    "reference twice": declare(
        "entity E { key (shop: uuid) reference r (shop) -> Shop (shop)"
        " reference «C002:r» (shop) -> Shop (shop) }"
    ),
    "an index may be called as a unique": declare("entity E { key (e: uuid) unique i (e) index i (e) }"),
    "two delete policies": declare(
        "entity E { key (e: uuid) delete_policy no_inbound «C002:delete_policy» no_inbound }"
    ),
    "aggregate invariant twice": declare(
        "entity E { key (e: uuid) } aggregate A { root E partition_by e conflict_key (e)"
        " invariant I: true invariant «C002:I»: true }"
    ),
    "aggregate invariant called as its root's": declare(
        "entity E { key (e: uuid) invariant I: true } aggregate A { root E partition_by e conflict_key (e)"
        " invariant «C002:I»: true }"
    ),
    "field twice in a key": declare("entity E { key (e: uuid, «C002:e»: uuid) }"),
    "field twice in an index": declare("entity E { key (e: uuid) index i (e, «C002:e») }"),
    "field twice in a unique": declare("entity E { key (e: uuid) unique i (e, «C002:e») }"),
    "field twice in a reference": declare(
        "entity E { key (shop: uuid, item: uuid) reference r (shop, «C002:shop») -> Item (shop, item) }"
    ),
    "field twice in a target": declare(
        "entity E { key (shop: uuid, item: uuid) reference r (shop, item) -> Item (shop, «C002:shop») }"
    ),
    "field twice in a partition": declare("event E { partition_by (a, «C002:a») a: u64 }"),
    "presence twice": declare(
        "entity E { key (e: uuid) field a: optional<u64> index i (a) presence (a) presence («C002:a») }"
    ),
    # C002: tx
    "contract tx": "contract «C002:tx» version 1 {}",
    "enum tx": declare("enum «C002:tx» { A }"),
    "variant tx": declare("enum E { «C002:tx» }"),
    "entity tx": declare("entity «C002:tx» { key (e: uuid) }"),
    "key field tx": declare("entity E { key («C002:tx»: uuid) }"),
    "field tx": declare("entity E { key (e: uuid) field «C002:tx»: u64 }"),
    "event tx": declare("event «C002:tx» { a: u64 }"),
    "event field tx": declare("event E { «C002:tx»: u64 }"),
    "invariant tx": declare("entity E { key (e: uuid) invariant «C002:tx»: true }"),
    "lease tx": declare(
        "entity E { key (e: uuid) field s: State field o: optional<uuid> field x: optional<timestamp>"
        " field f: u64 }"
        " aggregate A { root E partition_by e conflict_key (e) }"
        " workflow W { entity E state s initial New transition T from (New) to Busy"
        " transition U from (Busy) to Done lease «C002:tx» { owner o expires_at x fencing_token f"
        " duration_seconds (1, 2) } }"
    ),
    # C003
    "entity without key": declare("entity «C003:E» { field a: u64 }"),
    "entity with two keys": declare("entity E { key (e: uuid) «C003:key» (f: uuid) }"),
    "aggregate without root": declare("aggregate «C003:A» { partition_by e conflict_key (e) }"),
    "aggregate with two roots": declare(
        "entity E { key (e: uuid) } entity F { key (e: uuid) }"
        " aggregate A { root E «C003:root» F partition_by e conflict_key (e) }"
    ),
    "aggregate without partition": declare(
        "entity E { key (e: uuid) } aggregate «C003:A» { root E conflict_key (e) }"
    ),
    "aggregate with two partitions": declare(
        "entity E { key (e: uuid) } aggregate A { root E partition_by e «C003:partition_by» e"
        " conflict_key (e) }"
    ),
    "aggregate without conflict key": declare(
        "entity E { key (e: uuid) } aggregate «C003:A» { root E partition_by e }"
    ),
    "aggregate with two conflict keys": declare(
        "entity E { key (e: uuid) }"
        " aggregate A { root E partition_by e conflict_key (e) «C003:conflict_key» (e) }"
    ),
    # C004
    "unknown field in an index": declare("entity E { key (e: uuid) index i («C004:f») }"),
    "unknown field in a unique": declare("entity E { key (e: uuid) unique i (e, «C004:f») }"),
    "unknown field in a reference": declare(
        "entity E { key (e: uuid) reference r («C004:f») -> Shop (shop) }"
    ),
    "unknown target of a reference": declare(
        "entity E { key (e: uuid) reference r (e) -> «C004:Shops» (shop) }"
    ),
    "unknown field in presence": declare("entity E { key (e: uuid) index i (e) presence («C004:f») }"),
    "text key of a field outside the index": declare(
        "entity E { key (e: uuid) field s: string<9> index i (e) text_key («C004:s», binary_utf8_v1) }"
    ),
    "unknown field in an event's partition": declare("event E { partition_by («C004:b») a: u64 }"),
    "unknown root": declare("aggregate A { root «C004:Nobody» partition_by e conflict_key (e) }"),
    "unknown child": declare(
        "entity E { key (e: uuid) } aggregate A { root E child «C004:F» partition_by e conflict_key (e) }"
    ),
    "unknown field in a partition": declare(
        "entity E { key (e: uuid) } aggregate A { root E partition_by «C004:f» conflict_key (e) }"
    ),
    "unknown field in an invariant": declare("entity E { key (e: uuid) invariant I: «C004:f» > 1 }"),
    "unknown variant in an invariant": declare(
        "entity E { key (e: uuid) field c: Color invariant I: c == Color.«C004:Blue» }"
    ),
    "an enum is no value": declare(
        "entity E { key (e: uuid) field c: Color invariant I: c == «C004:Color» }"
    ),
    "no part of a number": declare("entity E { key (e: uuid) field a: u64 invariant I: a.«C004:b» == 1 }"),
    "no day of an optional": declare(
        "entity E { key (e: uuid) field a: optional<timestamp> field d: date invariant I: a.«C004:date»"
        " == d }"
    ),
    "unknown entity of a workflow": declare(
        "workflow W { entity «C004:E» state s transition T from (A) to B }"
    ),
    "unknown state field": declare(
        "workflow W { entity Item state «C004:s» initial A transition T from (A) to B }"
    ),
    "unknown lease field": BASE.replace("owner owner", "owner «C004:holder»") + "}",
    "unknown entity of a policy": declare("row policy P on «C004:Nobody» { allow read when true }"),
    "unknown principal fact": declare("row policy P on Item { allow read when principal.«C004:x» == 1 }"),
    # C005
    "string of nothing": declare("event E { a: string<«C005:0»> }"),
    "string too long": declare("event E { a: string<«C005:1048577»> }"),
    "string as long as can be": declare("event E { a: string<1048576> b: bytes<1> c: list<u64, 65535> }"),
    "bytes of nothing": declare("event E { a: bytes<«C005:0»> }"),
    "bytes huge": declare(f"event E {{ a: bytes<«C005:{'1' * 4400}»> }}"),
    "decimal of no digits": declare("event E { a: decimal<«C005:0», 0> }"),
    "decimal of too many digits": declare("event E { a: decimal<«C005:39», 0> }"),
    "decimal of more places than digits": declare("event E { a: decimal<3, «C005:4»> }"),
    "money of no currency": declare("event E { a: money<«C005:Eur»> }"),
    "money of four letters": declare("event E { a: money<«C005:EURO»> }"),
    "nested optional": declare("event E { a: optional<«C005:optional<u64>»> }"),
    "list of none": declare("event E { a: list<u64, «C005:0»> }"),
    "list too long": declare("event E { a: list<u64, «C005:65536»> }"),
    "list upside down": declare("event E { a: list<u64, «C005:5»..4> }"),
    "unknown type": declare("event E { a: «C005:Stat» }"),
    "unknown type in a list": declare("event E { a: list<«C005:text», 5> }"),
    "string without a bound": declare("event E { a: «C005:string» }"),
    "entity as a type": declare("event E { a: «C005:Shop» }"),
    "records in an event": declare("event E { a: list<«C005:Shop», 1..5> }"),
    "records in a field": declare("entity E { key (e: uuid) field a: list<«C005:Shop», 1..5> }"),
    "optional key": declare("entity E { key (e: «C005:optional<uuid>») }"),
    "list key": declare("entity E { key (e: «C005:list<uuid, 3>») }"),
    "list in an index": declare("entity E { key (e: uuid) field a: list<u64, 3> index i («C005:a») }"),
    "list in a unique": declare("entity E { key (e: uuid) field a: list<u64, 3> unique i (e, «C005:a») }"),
    "optional partition of an event": declare("event E { partition_by («C005:a») a: optional<u64> }"),
    # C006, C007 in invariants
    "invariant of a number": declare("entity E { key (e: uuid) field a: u64 invariant I: «C006:a» }"),
    "presence of a required field": declare(
        "entity E { key (e: uuid) field a: u64 index i (a) presence («C006:a») }"
    ),
    "text key of a number": declare(
        "entity E { key (e: uuid) field a: u64 index i (a) text_key («C006:a», binary_utf8_v1) }"
    ),
    "invariant that reads the time": declare(
        "entity E { key (e: uuid) field a: timestamp invariant I: a < «C007:tx.time» }"
    ),
    "exists in an invariant": declare(
        "entity E { key (e: uuid) invariant I: «C007:exists Item.by_shop(e, e)» }"
    ),
    "in in an invariant": declare(
        "entity E { key (e: uuid) field l: list<uuid, 4> invariant I: e «C007:in» l }"
    ),
    "is null in an invariant": declare(
        "entity E { key (e: uuid) field a: optional<u64> invariant I: a «C007:is null» }"
    ),
    "is not null in an invariant": declare(
        "entity E { key (e: uuid) field a: optional<u64> invariant I: a «C007:is not null» }"
    ),
    "invariant over two children": declare(
        "entity R { key (r: uuid) } entity A { key (r: uuid, a: uuid) field x: u64 }"
        " entity B { key (r: uuid, b: uuid) field y: u64 }"
        " aggregate G { root R child A child B partition_by r conflict_key (r) invariant I: A.x <"
        " «C007:B.y» }"
    ),
    # C008
    "root of two aggregates": declare(
        "aggregate A { root «C008:Shop» partition_by shop conflict_key (shop) }"
    ),
    "child of another aggregate": declare(
        "entity R { key (shop: uuid) }"
        " aggregate A { root R child «C008:Item» partition_by shop conflict_key (shop) }"
    ),
    "root as its own child": declare(
        "entity R { key (r: uuid) } aggregate A { root R child «C008:R» partition_by r conflict_key (r) }"
    ),
    "child key of another name": declare(
        "entity R { key (r: uuid) } entity C { key (q: uuid, c: uuid) }"
        " aggregate A { root R child «C008:C» partition_by r conflict_key (r) }"
    ),
    "child key of another type": declare(
        "entity R { key (r: uuid) } entity C { key (r: u64, c: uuid) }"
        " aggregate A { root R child «C008:C» partition_by r conflict_key (r) }"
    ),
    "child key in another order": declare(
        "entity R { key (r: uuid, s: uuid) } entity C { key (s: uuid, r: uuid, c: uuid) }"
        " aggregate A { root R child «C008:C» partition_by r conflict_key (r) }"
    ),
    "child key too short": declare(
        "entity R { key (r: uuid, s: uuid) } entity C { key (r: uuid) }"
        " aggregate A { root R child «C008:C» partition_by r conflict_key (r) }"
    ),
    # C016
    "partition by a field": declare(
        "entity R { key (r: uuid) field f: uuid } aggregate A { root R partition_by «C016:f» conflict_key"
        " (r) }"
    ),
    "conflict key of a field": declare(
        "entity R { key (r: uuid) field f: uuid } aggregate A { root R partition_by r conflict_key (r,"
        " «C016:f») }"
    ),
    # C018
    "reference to part of a key": declare(
        "entity E { key (shop: uuid) reference r (shop) -> Item («C018:shop») }"
    ),
    "reference to a field": declare(
        "entity E { key (shop: uuid, n: string<40>) reference r (n) -> Shop («C018:name») }"
    ),
    "reference of too many fields": declare(
        "entity E { key (shop: uuid, n: uuid) reference r (shop, n) -> Shop («C018:shop») }"
    ),
    "reference of another type": declare(
        "entity E { key (e: uuid) field n: u64 reference r («C018:n») -> Shop (shop) }"
    ),
    "reference of an optional": declare(
        "entity E { key (e: uuid) field n: optional<uuid> reference r («C018:n») -> Shop (shop) }"
    ),
    "reference into another partition": declare(
        "entity E { key (e: uuid) field other: uuid reference «C018:r» (other) -> Shop (shop) }"
        " aggregate A { root E partition_by e conflict_key (e) }"
    ),
    "reference in another order is fine": declare(
        "entity E { key (shop: uuid, item: uuid) reference r (item, shop) -> Item (item, shop) }"
        " aggregate A { root E partition_by shop conflict_key (shop) }"
    ),
    # C020
    "as many fields as every store holds": declare(wide("E", 1_500)),
    "more fields than every store holds": declare(wide("«C020:E»", 1_501)),
    "an event may have more": declare("event E { " + " ".join(f"f{n}: u64" for n in range(2_000)) + " }"),
    "rows that never fit": declare("entity «C020:E» { key (e: uuid) field a: list<uuid, 65535..65535> }"),
    "rows that may fit": declare(
        "entity E { key (e: uuid) field a: list<uuid, 65535> field b: string<1048576> }"
    ),
    "events that never fit": declare("event «C020:E» { a: list<uuid, 65535..65535> }"),
    "an expression too deep": declare(
        "entity E { key (e: uuid) field a: u64 invariant I: «C020:" + "a + " * 101 + "a > 1» }"
    ),
    "a long condition is shallow": declare(
        "entity E { key (e: uuid) field a: u64 invariant I: " + "a > 1 && " * 1000 + "a > 2 }"
    ),
    # C025
    "unique without the partition": declare(
        "entity E { key (e: uuid) field a: u64 unique u («C025:a», e) }"
        " aggregate A { root E partition_by e conflict_key (e) }"
    ),
    "unique over an optional": declare(
        "entity E { key (e: uuid) field a: optional<u64> unique u (e, «C025:a») }"
        " aggregate A { root E partition_by e conflict_key (e) }"
    ),
    # C039 to C043
    "fact of nested lists": declare("principal fact f: «C039:list<list<u64, 3>, 3>»"),
    "fact of an optional list": declare("principal fact f: «C039:optional<list<u64, 3>>»"),
    "fact of records": declare("principal fact f: list<«C005:Shop», 1..3>"),
    "fact of too many values": declare("principal fact f: «C041:list<u64, 1025>»"),
    "too many facts": declare(
        "".join(f"principal fact f{n}: u64\n" for n in range(64)) + "principal fact «C041:f64»: u64"
    ),
    "policy on an entity of no aggregate": declare("row policy P on «C040:Loose» { allow read when x > 1 }"),
    "policy that allows twice": declare(
        "row policy P on Item { allow read when size > 1 «C040:allow» read when size > 2 }"
    ),
    "policy of a number": declare("row policy P on Item { allow read when «C006:size» }"),
    "policy that reads the time": declare("row policy P on Item { allow read when seen == «C007:tx.time» }"),
    "policy with in over no list": declare(
        "principal fact f: u64 row policy P on Item { allow read when size «C006:in» principal.f }"
    ),
    "policy with in over another type": declare(
        "principal fact f: list<uuid, 3> row policy P on Item { allow read when size «C006:in» principal.f }"
    ),
    "policy with null of a required field": declare(
        "row policy P on Item { allow read when size «C006:is null» }"
    ),
    "too many policies": declare(
        "".join(f"row policy P{n} on Item {{ allow read when true }}\n" for n in range(64))
        + "row policy «C041:P64» on Item { allow read when true }"
    ),
    "too many probes": declare(
        "row policy P on Item { allow read when "
        + "exists Item.by_shop(shop, item) || " * 8
        + "«C041:exists Item.by_shop(shop, item)» }"
    ),
    "probe of another partition": declare(
        "row policy P on Item { allow read when «C042:exists Item.by_shop(item, item)» }"
    ),
    "probe of an unknown entity": declare(
        "row policy P on Item { allow read when exists «C004:Itm».by_shop(item, item) }"
    ),
    "probe without an index": declare(
        "row policy P on Item { allow read when exists Item.«C043:by_code»(shop, code) }"
    ),
    "probe of part of an index": declare(
        "row policy P on Item { allow read when «C043:exists Item.by_shop(shop)» }"
    ),
    "probe of another type": declare(
        "row policy P on Item { allow read when exists Item.by_shop(shop, «C006:size») }"
    ),
    # C046
    "secret in an index": declare("entity E { key (e: uuid) field secret a: u64 index i (e, «C046:a») }"),
    "secret in presence": declare(
        "entity E { key (e: uuid) field secret a: optional<u64> index i (e) presence («C046:a») }"
    ),
    "secret in a unique": declare("entity E { key (e: uuid) field secret a: u64 unique i (e, «C046:a») }"),
    "secret in an invariant": declare(
        "entity E { key (e: uuid) field secret a: u64 invariant I: «C046:a» > 1 }"
    ),
    "secret in an aggregate's invariant": declare(
        "entity E { key (e: uuid) field secret a: u64 }"
        " aggregate A { root E partition_by e conflict_key (e) invariant I: «C046:E.a» > 1 }"
    ),
}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES.keys())
def test_refused(text: str) -> None:
    verify(text)


def test_the_base_itself_compiles() -> None:
    verify(declare(""))
