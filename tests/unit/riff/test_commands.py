"""Refusals of commands: names, keys, types, outcomes, idempotency, with the exact span."""

from __future__ import annotations

import pytest

from tests.unit.riff.refusals import INPUTS, bulk, command, declare, verify

READ = "read Shop(shop) as s else NoShop {}"
ITEM = "create Item(shop, item) as i else Exists {}"
SETS = "set i.code = code set i.size = size"
COUNT = "mutate Count(shop, day) as c else NoCount {}"


def require(condition: str) -> str:
    return command(f"read Item(shop, item) as i else No {{}} require R: {condition} else Not {{}}")


def reading(text: str, inputs: str = "input shop: uuid input item: uuid") -> str:
    """A command without idempotency key."""
    return declare(f"command «C010:Look» {{ {inputs} {text} return Ok {{}} }}")


CASES = {
    # C002
    "input twice": command(READ, more="    input «C002:shop»: u64\n"),
    "input tx": command(READ, more="    input «C002:tx»: u64\n"),
    "service named as an input": command(READ, more="    service «C002:item»: uuid_v7\n"),
    "binding named as an input": command("read Shop(shop) as «C002:shop» else NoShop {}"),
    "binding tx": command("read Shop(shop) as «C002:tx» else NoShop {}"),
    "binding twice": command(f"{READ} read Item(shop, item) as «C002:s» else No {{}}"),
    "element named as an input": declare(
        f"bulk command Try {{{INPUTS} input many: list<uuid, 1..8> idempotency_key request"
        " for «C002:item» in many { read Item(shop, item) as i else No {} } return Ok {} }"
    ),
    "requirement twice": command(f"{READ} require R: flag else No {{}} require «C002:R»: flag else No {{}}"),
    "outcome tx": command("read Shop(shop) as s else «C002:tx» {}"),
    "payload field tx": command("read Shop(shop) as s else No { «C002:tx»: shop }"),
    "conflict twice": command(
        f"{READ} {ITEM} conflict one_code A {{}} conflict «C002:one_code» B {{}} {SETS}"
    ),
    # C003
    "bulk without for": declare(
        "bulk command «C003:Try» { input r: uuid input shop: uuid idempotency_key r"
        " read Shop(shop) as s else No {} return Ok {} }"
    ),
    # C004
    "unknown entity": command("read «C004:Shp»(shop) as s else No {}"),
    "unknown key argument": command("read Shop(«C004:shp») as s else No {}"),
    "unknown name": require("«C004:nothing» > 1"),
    "unknown field of a row": require("i.«C004:siz» > 1"),
    "unknown variant": require("Color.«C004:Blue» == Color.Red"),
    "unknown part of tx": require("when_at == «C004:tx.now»"),
    "tx alone": require("when_at == «C004:tx»"),
    "no part of an input": require("size.«C004:x» == 1"),
    "three segments": require("i.size.«C004:x» == 1"),
    "unknown binding of a set": command(f"{READ} set «C004:x».name = code"),
    "unknown field of a set": command(f"{COUNT} set c.«C004:m» = 1"),
    "unknown event": command(f"{READ} emit «C004:Began» {{ shop: shop }}"),
    "unknown list of a loop": declare(
        f"bulk command Try {{{INPUTS} idempotency_key request"
        " for one in «C004:many» { read Item(shop, item) as i else No {} } return Ok {} }"
    ),
    "element outside its loop": bulk(
        "read Item(shop, one) as i else No {}", after="return Ok { one: «C004:one» }"
    ),
    "row of a loop outside it": bulk(
        "read Item(shop, one) as i else No {}", after="return Ok { n: «C004:i.size» }"
    ),
    "row of an arm outside it": command(
        f"{READ} {COUNT} decide c {{ when flag => apply {{ {ITEM} {SETS} }} else => no_effect }}",
        "return Ok { n: «C004:i.size» }",
    ),
    "row of an arm set outside it": command(
        f"{READ} {COUNT} decide c {{ when flag => apply {{ {ITEM} {SETS} }} else => no_effect }}"
        " set «C004:i».note = null"
    ),
    "a row in a binding's failure": command(
        f"{READ} create Item(shop, item) as i else E {{ n: «C004:s.name» }} {SETS}"
    ),
    "a row in a conflict": command(f"{READ} {ITEM} conflict one_code E {{ n: «C004:s.name» }} {SETS}"),
    "a row in a violates": command(f"{READ} {ITEM} violates Sized E {{ n: «C004:i.size» }} {SETS}"),
    "the time in a binding's failure": command("read Shop(shop) as s else No { t: «C004:tx.time» }"),
    "a service value in a binding's failure": command(
        "read Shop(shop) as s else No { t: «C004:id» }", more="    service id: uuid_v7\n"
    ),
    "something computed in a binding's failure": command(
        "read Shop(shop) as s else No { t: «C004:size + 1» }"
    ),
    "a day in a binding's failure": command("read Shop(shop) as s else No { t: «C004:when_at.date» }"),
    "inputs and constants in a binding's failure": command(
        'read Shop(shop) as s else No { a: shop, b: -1, c: "x", d: Color.Red, e: true, f: 1.50, g: maybe }'
    ),
    "rows and time in a requirement's failure": command(
        f"{READ} require R: flag else Not {{ n: s.name, t: tx.time }}"
    ),
    "unknown unique in a conflict": command(f"{READ} {ITEM} conflict «C004:code» E {{}} {SETS}"),
    "unknown invariant in a violates": command(f"{READ} {ITEM} violates «C004:Size» E {{}} {SETS}"),
    # C005
    "records in an ordinary command": declare(
        "command A { input r: uuid input many: list<«C005:Item», 1..3> input shop: uuid idempotency_key r"
        " read Shop(shop) as s else No {} return Ok {} }"
    ),
    "bulk list without a minimum": bulk("read Item(shop, one) as i else No {}", items="list<uuid, «C005:8»>"),
    "bulk list that may be empty": bulk(
        "read Item(shop, one) as i else No {}", items="list<uuid, «C005:0»..8>"
    ),
    "bulk over no list": declare(
        f"bulk command Try {{{INPUTS} idempotency_key request"
        " for one in «C005:size» { read Item(shop, item) as i else No {} } return Ok {} }"
    ),
    "a second list": bulk(
        "read Item(shop, one) as i else No {}", items="list<uuid, 1..8> input «C005:l»: list<u64, 3>"
    ),
    "reimport of no list": declare(
        "reimport command R { input r: «C005:u64» reconstitute Item from r else No {} return Ok {} }"
    ),
    "reimport of scalars": declare(
        "reimport command R { input r: «C005:list<u64, 1..3>» reconstitute Item from r else No {} return"
        " Ok {} }"
    ),
    "reimport of other records": declare(
        "reimport command R { input r: «C005:list<Shop, 1..3>» reconstitute Item from r else No {} return"
        " Ok {} }"
    ),
    "reimport without a minimum": declare(
        "reimport command R { input r: list<Item, «C005:3»> reconstitute Item from r else No {} return Ok"
        " {} }"
    ),
    "reimport that may be empty": declare(
        "reimport command R { input r: list<Item, «C005:0»..3> reconstitute Item from r else No {} return"
        " Ok {} }"
    ),
    "reimport of an unknown entity": declare(
        "reimport command R { input r: list<Item, 1..3> reconstitute «C004:Itm» from r else No {} return"
        " Ok {} }"
    ),
    "reimport from another input": declare(
        "reimport command R { input r: list<Item, 1..3> reconstitute Item from «C004:q» else No {} return"
        " Ok {} }"
    ),
    "reimport of too many": declare(
        "reimport command R { input r: list<Item, 1..«C020:1025»> reconstitute Item from r else No {}"
        " return Ok {} }"
    ),
    "reimport without an aggregate": declare(
        "reimport command R { input r: list<Loose, 1..9> reconstitute «C009:Loose» from r else No {}"
        " return Ok {} }"
    ),
    "reimport with one outcome name": declare(
        "reimport command R { input r: list<Item, 1..9> reconstitute Item from r else No {} return"
        " «C014:No» {} }"
    ),
    # C006
    "types that differ": require("i.size «C006:==» code"),
    "order of text": require("i.code «C006:<» code"),
    "order of an enum": require("Color.Red «C006:<» Color.Green"),
    "order of a bool": require("flag «C006:>=» true"),
    "order of an optional": require("maybe «C006:<» size"),
    "comparison of rows": require("i «C006:==» i"),
    "sum of text": require('code «C006:+» "x" == code'),
    "sum of times": require("when_at «C006:+» 1 == when_at"),
    "sum of an optional": require("maybe «C006:+» 1 == 2"),
    "sum of unlike numbers": command(
        f"{READ} require R: size «C006:+» x == 1 else No {{}}", more="    input x: i64\n"
    ),
    "product of decimals": command(
        f"{READ} require R: x «C006:*» x == 1 else No {{}}", more="    input x: decimal<5, 2>\n"
    ),
    "negative of a u64": require("«C006:-size» == 1"),
    "not of a number": require("!«C006:size»"),
    "condition that is no bool": require("«C006:size»"),
    "and of a number": require("flag && «C006:size»"),
    "null of a required field": require("i.size == «C006:null»"),
    "null alone": require("«C006:null» == null"),
    "null in a payload": command(READ, "return Ok { x: «C006:null» }"),
    "a negative u64": require("size == «C006:-1»"),
    "too large for u64": require("size == «C006:18446744073709551616»"),
    "too large for any": command(READ, "return Ok { x: «C006:18446744073709551616» }"),
    "as large as u64": command(READ, "return Ok { x: 18446744073709551615, y: 9223372036854775808 }"),
    "a text that is too long": command(
        f'{READ} {ITEM} set i.size = 1 set i.code = «C006:"123456789012345678901"»'
    ),
    "a text with too many bytes": command(f'{READ} {ITEM} set i.size = 1 set i.code = «C006:"éééééééééé1"»'),
    "a text that just fits": command(f'{READ} {ITEM} set i.size = 1 set i.code = "éééééééééé"'),
    "too many places": command(
        f"{READ} require R: x == «C006:1.255» else No {{}}", more="    input x: decimal<5, 2>\n"
    ),
    "places that are zeros": command(
        f"{READ} require R: x == 1.2500 else No {{}}", more="    input x: decimal<5, 2>\n"
    ),
    "too many digits": command(
        f"{READ} require R: x == «C006:1234» else No {{}}", more="    input x: decimal<5, 2>\n"
    ),
    "a decimal for an integer": require("size «C006:==» 1.5"),
    "another bound of a key": command("read Item(shop, «C006:size») as i else No {}"),
    "a set of another type": command(f"{COUNT} set c.n = «C006:code»"),
    "an optional for a required": command(f"{COUNT} set c.n = «C006:maybe»"),
    "a required for an optional": command(f"{COUNT} set c.last = size"),
    "a row for a field": command(f"{COUNT} set c.n = «C006:c»"),
    "an event field of another type": command(f"{READ} emit Ended {{ shop: shop, at: «C006:size» }}"),
    "a chain of comparisons": require("1 < size «C006:<» 3"),
    # C007
    "for in an ordinary command": declare(
        f"command Try {{{INPUTS} input many: list<uuid, 1..8> idempotency_key request"
        " «C007:for» one in many { read Item(shop, one) as i else No {} } return Ok {} }"
    ),
    "binding named like an enum": command("read Shop(shop) as «C007:Color» else No {}"),
    "element named like an enum": declare(
        f"bulk command Try {{{INPUTS} input many: list<uuid, 1..8> idempotency_key request"
        " for «C007:Color» in many { read Item(shop, item) as i else No {} } return Ok {} }"
    ),
    "in in a command": command(
        f"{READ} require R: size «C007:in» x else No {{}}", more="    input x: list<u64, 3>\n"
    ),
    "exists in a command": require("«C007:exists Item.by_shop(shop, item)»"),
    "is null in a command": require("maybe «C007:is null»"),
    "conflict of a read": command("read Item(shop, item) as i else No {} «C007:conflict» one_code E {}"),
    "violates of a read": command("read Item(shop, item) as i else No {} «C007:violates» Sized E {}"),
    # C009
    "entity of no aggregate": command("read «C009:Loose»(shop) as l else No {}"),
    "too few key arguments": command("read «C009:Item»(shop) as i else No {}"),
    "too many key arguments": command("read «C009:Shop»(shop, item) as i else No {}"),
    "a computed key argument": command(
        "read Shop(«C009:(shop)» == shop) as s else No {}".replace(
            "«C009:(shop)» == shop", "«C009:shop == shop»"
        )
    ),
    "a row's field as a key argument": command(f"{READ} read Item(shop, «C009:s.shop») as i else No {{}}"),
    "the time as a key argument": command("read Count(shop, «C009:tx.time.date») as c else No {}"),
    "a day as a key argument": command("read Count(shop, «C009:when_at.date») as c else No {}"),
    "the time of a service in a key": command(
        "read Shop(shop) as s else NoShop {} create T(shop, «C009:now») as t else Is {}",
        more="    service now: transaction_time\n",
    ).replace(
        "event Ended",
        "entity T { key (shop: uuid, at: timestamp) } aggregate Ts { root T partition_by shop"
        " conflict_key (shop) } event Ended",
    ),
    "a constant as a key argument": command("read N(shop, 5) as n else No {}").replace(
        "event Ended",
        "entity N { key (shop: uuid, n: u64) } aggregate Ns { root N partition_by shop"
        " conflict_key (shop) } event Ended",
    ),
    "no binding": declare("command «C009:Nothing» { input r: uuid idempotency_key r return Ok {} }"),
    # C010, C011
    "no idempotency key with a mutate": reading("mutate Shop(shop) as s else No {}"),
    "no idempotency key with a create": reading('create Shop(shop) as s else Is {} set s.name = "x"'),
    "no idempotency key with an emit": reading(
        "read Shop(shop) as s else No {} emit Ended { shop: shop, at: tx.time }"
    ),
    "no idempotency key with a delete": reading(
        "delete Count(shop, day) as c else No {}", "input shop: uuid input day: date"
    ),
    "no idempotency key with a decision": reading(
        "observe_or_initialize Count(shop, day) as c initialize { n: 0 } decide c { when true => no_effect"
        " else => no_effect }",
        "input shop: uuid input day: date",
    ),
    "reading needs none": declare(
        "command Look { input shop: uuid read Shop(shop) as s else No {} return Ok {} }"
    ),
    "a key that is a constant": declare(
        f'command Try {{{INPUTS} idempotency_key «C011:"x"» {COUNT} return Ok {{}} }}'
    ),
    "a key that is computed": declare(
        f"command Try {{{INPUTS} idempotency_key «C011:size + 1» {COUNT} return Ok {{}} }}"
    ),
    "a key that is a number": declare(
        f"command Try {{{INPUTS} idempotency_key «C011:size» {COUNT} return Ok {{}} }}"
    ),
    "a key that is too long": declare(
        f"command Try {{{INPUTS} input k: string<129> idempotency_key «C011:k» {COUNT} return Ok {{}} }}"
    ),
    "a key of 128 bytes": declare(
        f"command Try {{{INPUTS} input k: string<128> idempotency_key k {COUNT} return Ok {{}} }}"
    ),
    "a key in an outcome": command(COUNT, "return Ok { k: «C011:request» }"),
    "a key as a key argument": command("read Shop(«C011:request») as s else No {}"),
    "a key in a condition": command(f"{READ} require R: «C011:request» == shop else No {{}}"),
    "a key in a set": command(
        f"{READ} {ITEM} {SETS} emit Ended {{ shop: shop, at: tx.time }}", "return A { b: «C011:request» }"
    ),
    # C014
    "payloads of other types": command(
        "read Shop(shop) as s else No { a: 1 } read Item(shop, item) as i else «C014:No» { a: size }"
    ),
    "payloads of other names": command(
        "read Shop(shop) as s else No { a: 1 } read Item(shop, item) as i else «C014:No» { b: 1 }"
    ),
    "payloads of more fields": command(
        "read Shop(shop) as s else No {} read Item(shop, item) as i else «C014:No» { b: 1 }"
    ),
    "payloads in another order": command(
        "read Shop(shop) as s else No { a: 1, b: 2 } read Item(shop, item) as i else No { b: 2, a: 1 }"
    ),
    "success named as a failure": command("read Shop(shop) as s else Ok {}", "return «C014:Ok» {}"),
    "payload field twice": command("read Shop(shop) as s else No { a: 1, «C014:a»: 1 }"),
    # C015
    "emit without a field": command(f"{READ} emit «C015:Ended» {{ shop: shop }}"),
    "emit with an unknown field": command(
        f"{READ} emit Ended {{ shop: shop, at: tx.time, «C015:by»: shop }}"
    ),
    "emit with a field twice": command(
        f"{READ} emit Ended {{ shop: shop, at: tx.time, «C015:at»: tx.time }}"
    ),
    "emit without an optional field": command(f"{READ} emit Ended {{ shop: shop, at: tx.time }}"),
    # C017
    "two partitions": command(f"{READ} read «C017:Item»(item, shop) as i else No {{}}"),
    "emit into another partition": command(f"{READ} emit «C017:Ended» {{ shop: item, at: tx.time }}"),
    "emit by the row's key": command(f"{READ} emit Ended {{ shop: s.shop, at: tx.time }}"),
    "a partition for each element": bulk("read «C017:Shop»(one) as x else No {}"),
    "an arm in another partition": command(
        f"{COUNT} decide c {{ when flag => apply {{ create «C017:Shop»(item) as x else Is {{}}"
        ' set x.name = "x" }'
        " else => no_effect }"
    ),
    # C020
    "too many elements": bulk("read Item(shop, one) as i else No {}", items="list<uuid, 1..«C020:1025»>"),
    "too many rows": declare(
        f"bulk command Try {{{INPUTS} input many: list<uuid, 1..1024> idempotency_key request"
        f" read Shop(shop) as s else NoShop {{}} {COUNT}"
        " «C020:for» one in many { create A(shop, one) as a else Is {} create B(shop, one) as b else Is {}"
        " create C(shop, one) as k else Is {} create D(shop, one) as d else Is {} } return Ok {} }"
        + "".join(
            f" entity {x} {{ key (shop: uuid, id: uuid) }} aggregate {x}s {{ root {x} partition_by shop"
            " conflict_key (shop) }"
            for x in "ABCD"
        )
    ),
    "just enough rows": declare(
        f"bulk command Try {{{INPUTS} input many: list<uuid, 1..1024> idempotency_key request"
        " for one in many { create A(shop, one) as a else Is {} create B(shop, one) as b else Is {}"
        " create C(shop, one) as k else Is {} create D(shop, one) as d else Is {} } return Ok {} }"
        + "".join(
            f" entity {x} {{ key (shop: uuid, id: uuid) }} aggregate {x}s {{ root {x} partition_by shop"
            " conflict_key (shop) }"
            for x in "ABCD"
        )
    ),
    "an input that never fits": declare(
        "command «C020:Try» { input shop: uuid input l: list<list<list<uuid, 64..64>, 512..512>, 64..64>"
        " read Shop(shop) as s else No {} return Ok {} }"
    ),
    # C036
    "service without a key": declare(
        "command Try { input shop: uuid service «C036:id»: uuid_v7 read Shop(shop) as s else No {} return"
        " Ok {} }"
    ),
    "service twice": command(READ, more="    service a: uuid_v7\n    service «C036:a»: uuid_v7\n"),
    "service in the key of a read": command(
        "read Shop(«C036:id») as s else No {}", more="    service id: uuid_v7\n"
    ),
    "service in the key of a mutate": command(
        "mutate Item(shop, «C036:id») as s else No {}", more="    service id: uuid_v7\n"
    ),
    "service in the key of a create": command(
        f"{READ} create Item(shop, id) as i else Is {{}} {SETS}", more="    service id: uuid_v7\n"
    ),
}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES.keys())
def test_refused(text: str) -> None:
    verify(text)
