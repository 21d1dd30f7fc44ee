"""Refusals of what a command writes: fields, decisions, uniques, references, leases and more, with spans."""

from __future__ import annotations

import pytest

from tests.unit.riff.refusals import BEGIN, CLAIM, FENCE, bulk, command, verify

READ = "read Shop(shop) as s else NoShop {}"
ITEM = "create Item(shop, item) as i else Exists {}"
SETS = "set i.code = code set i.size = size"
COUNT = "mutate Count(shop, day) as c else NoCount {}"
TASK = "mutate Task(shop, task) as t else NoTask {}"
NEW = "create Task(shop, task) as t else Exists {}"
GIVEN = 'set t.fence = 0 set t.tries = 0 set t.title = "x"'
OBSERVE = "observe_or_initialize Count(shop, day) as c initialize { n: 0 }"
RELEASE = (
    "lease release work on t owner who fencing_token token revision revision"
    " stale Stale {} invalid NotYours {}"
)

RELEASE_TOO = RELEASE.replace("lease release work", "«C035:lease release work»")
BEGIN_T = BEGIN.replace("on t", "on «C034:t»")
FINISH = BEGIN.replace("Begin", "Finish")


def secret(body: str, answer: str = "return Ok {}", more: str = "") -> str:
    """A command on an entity with secrets; `b` is bound for writing."""
    text = command(f"mutate Box(shop, item) as b else NoBox {{}} {body}", answer)
    return text.replace(
        "event Ended",
        "entity Box { key (shop: uuid, box: uuid) field secret code: string<20> field secret pin: string<20>"
        f" field open: string<20> }} aggregate Boxes {{ root Box partition_by shop conflict_key (shop) }}"
        f" {more} event Ended",
    )


def uniques(body: str, more: str = "", fields: str = "field a: u64 field b: u64 field state: State") -> str:
    """A command on an entity with uniques over (a, b), and over the state."""
    text = command(body, more=more)
    return text.replace(
        "event Ended",
        f"entity U {{ key (shop: uuid, u: uuid) {fields} unique ab (shop, a, b) unique st (shop, u,"
        f" state) unique sa (shop, u, a)"
        " } aggregate Us { root U partition_by shop conflict_key (shop) }"
        " workflow Ul { entity U state state initial New transition Go from (New) to Busy"
        " transition End from (Busy) to Done } event Ended",
    )


def links(body: str, more: str = "") -> str:
    """A command on an entity that refers to Item by a field."""
    text = command(body, more=more)
    return text.replace(
        "event Ended",
        "entity Link { key (shop: uuid, link: uuid) field to: uuid field n: u64"
        " reference target (shop, to) -> Item (shop, item) }"
        " aggregate Links { root Link partition_by shop conflict_key (shop) } event Ended",
    )


CASES = {
    # C012
    "a field unset": command(f"{READ} create Item(shop, item) as «C012:i» else Is {{}} set i.code = code"),
    "all fields unset": command(f"{READ} create Item(shop, item) as «C012:i» else Is {{}}"),
    "an initializer without a field": command(
        "init_or_mutate Count(shop, day) as «C012:c» initialize { last: 1 }"
    ),
    "an initializer and a set": command("init_or_mutate Count(shop, day) as c initialize {} set c.n = 1"),
    "an initializer twice": command("init_or_mutate Count(shop, day) as c initialize { n: 0, «C012:n»: 1 }"),
    "an observed row without a field": command(
        "observe_or_initialize Count(shop, day) as c initialize {}"
        " decide c { «C012:when» flag => apply { set c.last = 1 } else => no_effect }"
    ),
    "an observed row, set in the arm": command(
        "observe_or_initialize Count(shop, day) as c initialize {}"
        " decide c { when flag => apply { set c.n = 1 } else => no_effect }"
    ),
    "an observed row, read unset": command(
        "observe_or_initialize Count(shop, day) as c initialize {}"
        " decide c { when «C012:c.n» == 0 => apply { set c.n = 1 } else => no_effect }"
    ),
    "an observed row, answered unset": command(
        "observe_or_initialize Count(shop, day) as c initialize {}"
        " decide c { when flag => apply { set c.n = 1 } else => no_effect }",
        "return Ok { c: «C012:c» }",
    ),
    "read before it is set": command(f"{READ} {ITEM} set i.size = «C012:i.size» + 1 set i.code = code"),
    "read after it is set": command(
        f"{READ} {ITEM} set i.code = code set i.size = size set i.note = i.code".replace(
            "set i.note = i.code", "emit Ended { shop: shop, at: tx.time, note: i.size }"
        )
    ),
    "an optional is null at once": command(
        f"{READ} {ITEM} set i.code = code set i.size = size emit Ended {{ shop: shop,"
        " at: tx.time, note: maybe }",
        "return Ok { n: i.note }",
    ),
    "read by a requirement": command(f"{READ} {ITEM} require R: «C012:i.size» > 1 else No {{}} {SETS}"),
    "read by a requirement's failure": command(
        f"{READ} {ITEM} require R: flag else No {{ n: «C012:i.size» }} {SETS}"
    ),
    "a whole new row in a failure": command(
        "create Count(shop, day) as k else Is {} require R: flag else No { k: «C012:k» } set k.n = 1"
    ),
    "an arm's row unset": command(
        f"{READ} {COUNT} decide c {{ when flag => apply {{ create Item(shop, item) as «C012:i» else Is {{}}"
        " set i.size = 1 } else => no_effect }"
    ),
    "a loop's row unset": bulk("create Item(shop, one) as «C012:i» else Is {} set i.size = 1", before=READ),
    "the state is given by initial": command(f"{NEW} {GIVEN}"),
    "the state without initial": command(f"create Task(shop, task) as «C012:t» else Is {{}} {GIVEN}").replace(
        "state state initial New", "state state"
    ),
    "counters of a lease unset": command('create Task(shop, task) as «C012:t» else Is {} set t.title = "x"'),
    # C013
    "set of a read row": command(f'{READ} set «C013:s».name = "x"'),
    "set of a deleted row": command("delete Count(shop, day) as c else No {} set «C013:c».n = 1"),
    "set of a key": command(f"{COUNT} set «C013:c.day» = day"),
    "set twice": command(f"{COUNT} set c.n = 1 set «C013:c.n» = 2"),
    "set of an input": command(f"{COUNT} set «C013:size» = 1"),
    "set of a row": command(f"{COUNT} set «C013:c» = 1"),
    "set of part of a field": command(f"{COUNT} set «C013:c.n.date» = 1"),
    "initializer of a key": command(
        "init_or_mutate Count(shop, day) as c initialize { n: 0, «C013:day»: day }"
    ),
    "set of a decided row outside": command(
        f"{COUNT} decide c {{ when flag => apply {{ set c.n = 1 }} else => no_effect }} set «C013:c».last = 1"
    ),
    "set of an observed row outside": command(
        f"{OBSERVE} decide c {{ when flag => apply {{ set c.n = 1 }} else => no_effect }}"
        " set «C013:c».last = 1"
    ),
    "set in two arms": command(
        f"{COUNT} decide c {{ when flag => apply {{ set c.n = 1 }} else => apply {{ set c.n = 2 }} }}"
    ),
    "set twice in an arm": command(
        f"{COUNT} decide c {{ when flag => apply {{ set c.n = 1 set «C013:c.n» = 2 }} else => no_effect }}"
    ),
    "set of another row in an arm and outside": command(
        f'{COUNT} mutate Shop(shop) as s else No {{}} decide c {{ when flag => apply {{ set s.name = "x" }}'
        ' else => no_effect } set «C013:s.name» = "y"'
    ),
    "set of another row in two decisions": command(
        f"{COUNT} mutate Shop(shop) as s else No {{}} mutate Item(shop, item) as i else No {{}}"
        ' decide c { when flag => apply { set s.name = "x" } else => no_effect }'
        ' decide i { when flag => apply { set «C013:s.name» = "x" } else => no_effect }'
    ),
    "set of a new row in an arm": command(
        f"{READ} {COUNT} {ITEM} decide c {{ when flag => apply {{ set «C013:i».note = null }}"
        f" else => no_effect }} {SETS}"
    ),
    "set of an outer row in a loop": bulk(
        "read Item(shop, one) as i else No {} set «C013:c».n = 1", before=COUNT
    ),
    # C007: decisions
    "decision on a read row": command(
        f"{READ} decide «C007:s» {{ when flag => no_effect else => no_effect }}"
    ),
    "decision on a created row": command(
        f"{READ} {ITEM} decide «C007:i» {{ when flag => no_effect else => no_effect }} {SETS}"
    ),
    "decision on nothing": command(f"{READ} decide «C004:x» {{ when flag => no_effect else => no_effect }}"),
    "decision twice": command(
        f"{COUNT} decide c {{ when flag => no_effect else => no_effect }}"
        " decide «C007:c» { when flag => no_effect else => no_effect }"
    ),
    "decision on another than observed": command(
        f"{COUNT} observe_or_initialize Count(shop, day) as d initialize {{ n: 0 }}"
        " decide «C007:c» { when flag => no_effect else => no_effect }"
    ),
    "decision on an outer row in a loop": bulk(
        "read Item(shop, one) as i else No {} decide «C007:c» { when flag => no_effect else => no_effect }",
        before=COUNT,
    ),
    "condition twice": command(
        f"{COUNT} decide c {{ when c.n > 1 => no_effect when («C007:c.n  >  1») => no_effect"
        " else => no_effect }"
    ),
    "a condition that is no bool": command(
        f"{COUNT} decide c {{ when «C006:c.n» => no_effect else => no_effect }}"
    ),
    "a read in an arm": command(
        f"{COUNT} decide c {{ when flag => apply {{ «C007:read» Shop(shop) as s else No {{}} }}"
        " else => no_effect }"
    ),
    "a row observed later": command(
        f"{COUNT} decide c {{ when «C004:d.n» > 1 => no_effect else => no_effect }}"
        " observe_or_initialize Count(shop, when_day) as d initialize { n: 0 }"
        " decide d { when flag => no_effect else => no_effect }",
        more="    input when_day: date\n",
    ),
    # C024
    "a create without its target": command("create Item(shop, item) as «C024:i» else Is {} " + SETS),
    "a create before its target": command(f"create Item(shop, item) as «C024:i» else Is {{}} {READ} {SETS}"),
    "a create after a delete of its target": command(
        "delete Shop(shop) as s else No {} create Item(shop, item) as «C024:i» else Is {} " + SETS
    )
    .replace(
        "entity Shop { key (shop: uuid) field name: string<40>",
        "entity Shop { key (shop: uuid)"
        " field name: string<40> delete_policy cascade { relationship Item.of_shop using Item.by_shop"
        " maximum 1 }",
    )
    .replace("as s else No {}", "as s else No {} cascade Many {}"),
    "a create beside its created target": command(
        f'create Shop(shop) as s else Is {{}} {ITEM} set s.name = "x" {SETS}'
    ),
    "a reference field from a row": links(
        f"{READ} read Item(shop, item) as i else No {{}} create Link(shop, task) as l else Is {{}}"
        " set l.to = i.item set l.n = 1"
    ),
    "a reference field of another row": links(
        f"{READ} read Item(shop, item) as i else No {{}} create Link(shop, task) as «C024:l» else Is {{}}"
        " set l.to = task set l.n = 1"
    ),
    "a reference to an observed row": links(
        "observe_or_initialize Item(shop, item) as i initialize { code: code, size: 1 }"
        " decide i { when flag => apply { create Link(shop, task) as l else Is {} set l.to = item set l.n"
        " = 1 }"
        " else => no_effect }"
    ).replace("    reference of_shop (shop) -> Shop (shop)\n", ""),
    "a reference to an observed row outside": links(
        "create Link(shop, task) as «C024:l» else Is {}"
        " observe_or_initialize Item(shop, item) as i initialize { code: code, size: 1 }"
        " decide i { when flag => no_effect else => no_effect } set l.to = item set l.n = 1"
    ).replace("    reference of_shop (shop) -> Shop (shop)\n", ""),
    "a changed reference": links("mutate Link(shop, task) as l else No {} set «C024:l.to» = item"),
    "a changed reference with its target": links(
        "read Item(shop, item) as i else No {} mutate Link(shop, task) as l else Gone {} set l.to = item"
    ),
    "a mutate that keeps its reference": links("mutate Link(shop, task) as l else No {} set l.n = 1"),
    "a loop without the target": bulk("create Item(shop, one) as «C024:i» else Is {} " + SETS),
    # C026, C036
    "a unique from a row": uniques(
        f"{COUNT} create U(shop, item) as u else Is {{}} set «C026:u.a» = c.n set u.b = 1"
    ),
    "a unique from the time": command(
        f"{READ} create D(shop, item) as d else Is {{}} set «C026:d.at» = tx.time"
    ).replace(
        "event Ended",
        "entity D { key (shop: uuid, d: uuid) field at: timestamp unique u (shop, at) }"
        " aggregate Ds { root D partition_by shop conflict_key (shop) } event Ended",
    ),
    "a unique from a service value": command(
        f"{READ} create D(shop, item) as d else Is {{}} set «C036:d.id» = made",
        more="    service made: uuid_v7\n",
    ).replace(
        "event Ended",
        "entity D { key (shop: uuid, d: uuid) field id: uuid unique u (shop, id) }"
        " aggregate Ds { root D partition_by shop conflict_key (shop) } event Ended",
    ),
    "a unique from a key": command(f"{READ} create D(shop, item) as d else Is {{}} set d.id = d.d").replace(
        "event Ended",
        "entity D { key (shop: uuid, d: uuid) field id: uuid unique u (shop, id) }"
        " aggregate Ds { root D partition_by shop conflict_key (shop) } event Ended",
    ),
    "part of a unique": uniques("mutate U(shop, item) as u else No {} set «C026:u.a» = 1"),
    "all of a unique": uniques("mutate U(shop, item) as u else No {} set u.a = 1 set u.b = size"),
    "all of a unique, computed": uniques(
        "mutate U(shop, item) as u else No {} set u.a = 1 set u.b = size + 1"
    ),
    "a unique counted up": uniques(
        "mutate U(shop, item) as u else No {} set u.a = 1 set «C026:u.b» = u.b + 1"
    ),
    "a unique initialized from a row": uniques(
        f"{COUNT} init_or_mutate U(shop, item) as u initialize {{ «C026:a»: c.n, b: 1 }}"
    ),
    "a unique in one arm": uniques(
        "mutate U(shop, item) as u else No {}"
        " decide u { when flag => apply { set u.a = 1 set u.b = 2 } else => apply { set «C026:u.a» = 3 } }"
    ),
    "a unique over the state": uniques(
        "mutate U(shop, item) as t else No {} transition Go on t revision revision"
        " stale Stale {} illegal Illegal {}"
    ),
    "a unique over state and field": uniques(
        "mutate U(shop, item) as t else No {} transition «C026:Go» on t revision revision stale Stale {}"
        " illegal No2 {}"
    ).replace("unique st (shop, u, state)", "unique st (shop, state, a)"),
    "a unique over a fence": command(f"{TASK} {CLAIM.replace('claim work', 'claim «C026:work»')}").replace(
        "field title: string<40>", "field title: string<40> unique u (shop, fence)"
    ),
    # C034, C037
    "a transition of a read row": command(
        "read Task(shop, task) as t else No {} " + BEGIN.replace("on t", "on «C034:t»")
    ),
    "a transition of a new row": command(f"{NEW} {GIVEN} " + BEGIN.replace("on t", "on «C034:t»")),
    "a transition twice": command(f"{TASK} {FENCE} {BEGIN} " + BEGIN.replace("Begin", "«C034:Finish»")),
    "an unknown transition": command(f"{TASK} {FENCE} " + BEGIN.replace("Begin", "«C034:Begins»")),
    "a transition without a workflow": command(
        f"{COUNT} transition «C034:Begin» on c revision revision stale Stale {{}} illegal Illegal {{}}"
    ),
    "a transition of an unknown row": command(f"{TASK} {FENCE} " + BEGIN.replace("on t", "on «C004:x»")),
    "a transition in a loop": bulk(
        "mutate U(shop, one) as u else No {} transition Go on «C034:u» revision revision stale A {}"
        " illegal B {}"
    ).replace(
        "event Ended",
        "entity U { key (shop: uuid, u: uuid) field state: State }"
        " aggregate Us { root U partition_by shop conflict_key (shop) } workflow Ul { entity U state state"
        " initial New transition Go from (New) to Busy transition End from (Busy) to Done } event Ended",
    ),
    "a transition of another row in an arm": command(
        f"{COUNT} {TASK} decide c {{ when flag => apply {{ {BEGIN_T} }} else => no_effect }} {FENCE}"
    ),
    "a transition of a decided row outside": command(
        f'{TASK} decide t {{ when flag => apply {{ set t.title = "x" }} else => no_effect }} {FENCE} '
        + BEGIN.replace("on t", "on «C034:t»")
    ),
    "a transition in each arm": command(
        f"{TASK} decide t {{ when flag => apply {{ {BEGIN} }} else => apply {{ {FINISH} }} }} {FENCE}"
    ),
    "a set of the state": command(f"{TASK} {FENCE} set t.«C034:state» = State.Busy"),
    "a set of a new row's state": command(f"{NEW} {GIVEN} set t.«C034:state» = State.New"),
    "an initializer of the state": command(
        "init_or_mutate U(shop, item) as u initialize { «C034:state»: State.New }"
    ).replace(
        "event Ended",
        "entity U { key (shop: uuid, u: uuid) field state: State }"
        " aggregate Us { root U partition_by shop conflict_key (shop) } workflow Ul { entity U state state"
        " initial New transition Go from (New) to Busy transition End from (Busy) to Done } event Ended",
    ),
    "a computed revision": command(
        f"{TASK} {FENCE} " + BEGIN.replace("revision revision", "revision «C037:revision + 0»")
    ),
    "a constant revision": command(
        f"{TASK} {FENCE} " + BEGIN.replace("revision revision", "revision «C037:1»")
    ),
    "a revision of another type": command(
        f"{TASK} {FENCE} " + BEGIN.replace("revision revision", "revision «C037:item»")
    ),
    "a revision from a row": command(
        f"{TASK} {FENCE} " + BEGIN.replace("revision revision", "revision «C037:t.fence»")
    ),
    # C035, C038
    "an unknown lease": command(
        f"mutate Task(shop, task) as «C035:t» else No {{}} {FENCE.replace('work', '«C035:job»')}"
    ),
    "a lease of no workflow": command(
        f"{COUNT} {FENCE.replace('work', '«C035:work»').replace('on t', 'on c')}"
    ),
    "a lease operation twice": command(
        f"{TASK} {FENCE} «C035:lease release work»{RELEASE[len('lease release work') :]}"
    ),
    "a mutate without proof": command('mutate Task(shop, task) as «C035:t» else No {} set t.title = "x"'),
    "a transition without proof": command(f"mutate Task(shop, task) as «C035:t» else No {{}} {BEGIN}"),
    "an arm without proof": command(
        f'{TASK} decide t {{ when flag => apply {{ {FENCE} }} else => «C035:apply» {{ set t.title = "x" }} }}'
    ),
    "an arm with two": command(
        f"{TASK} decide t {{ when flag => apply {{ {FENCE} {RELEASE_TOO} }} else => no_effect }}"
    ),
    "an arm and the top level": command(
        f"{TASK} decide t {{ when flag => apply {{ {RELEASE_TOO} }} else => no_effect }} {FENCE}"
    ),
    "each arm once": command(
        f"{TASK} decide t {{ when flag => apply {{ {FENCE} }} else => apply {{ {RELEASE} }} }}"
    ),
    "no arm that writes": command(f"{TASK} decide t {{ when flag => no_effect else => reject Not {{}} }}"),
    "an operation on a read row": command(
        f"read Task(shop, task) as t else No {{}} {FENCE.replace('on t', 'on «C035:t»')}"
    ),
    "an operation on a new row": command(f"{NEW} {GIVEN} {CLAIM.replace('on t', 'on «C035:t»')}"),
    "an operation on another row in an arm": command(
        f"{COUNT} mutate Task(shop, task) as «C035:t» else No {{}}"
        f" decide c {{ when flag => apply {{ {FENCE.replace('on t', 'on «C035:t»')} }} else => no_effect }}"
    ),
    "a delete without proof": command("delete Task(shop, task) as «C035:t» else No {}"),
    "a delete with a release": command(
        f"delete Task(shop, task) as t else No {{}} {RELEASE.replace('on t', 'on «C035:t»')}"
    ),
    "a delete with a fence": command(f"delete Task(shop, task) as t else No {{}} {FENCE}"),
    "init_or_mutate of a leased row": command(
        'init_or_mutate Task(shop, task) as «C035:t» initialize { fence: 0, tries: 0, title: "x" }'
    ),
    "observe of a leased row": command(
        'observe_or_initialize Task(shop, task) as «C035:t» initialize { fence: 0, tries: 0, title: "x" }'
        " decide t { when flag => no_effect else => no_effect }"
    ),
    "a leased row in a loop": bulk('mutate Task(shop, one) as «C035:t» else No {} set t.title = "x"'),
    "a lease operation in a loop": bulk(
        f"mutate Task(shop, one) as «C035:t» else No {{}} {FENCE.replace('on t', 'on «C035:t»')}"
    ),
    "a leased row created in a loop": bulk(f"create Task(shop, one) as t else Is {{}} {GIVEN}"),
    "a set of the owner": command(f"{TASK} {FENCE} set t.«C035:owner» = who"),
    "a set of the expiry": command(f"{TASK} {FENCE} set t.«C035:until» = null"),
    "a set of the fence": command(f"{TASK} {FENCE} set t.«C035:fence» = 1"),
    "a set of the attempts": command(f"{TASK} {FENCE} set t.«C035:tries» = 1"),
    "a set of a new row's owner": command(f"{NEW} {GIVEN} set t.«C035:owner» = who"),
    "a set of a new row's expiry": command(f"{NEW} {GIVEN} set t.«C035:until» = when_at"),
    "an owner from a row": command(f"{TASK} " + CLAIM.replace("owner who", "owner «C038:t.owner»")),
    "a literal duration": command(f"{TASK} " + CLAIM.replace("seconds seconds", "seconds «C038:60»")),
    "a computed token": command(f"{TASK} " + FENCE.replace("token token", "token «C038:token + 0»")),
    "a computed revision of a lease": command(
        f"{TASK} " + FENCE.replace("revision revision", "revision «C038:revision - 1»")
    ),
    "an owner of another type": command(f"{TASK} " + FENCE.replace("owner who", "owner «C038:size»")),
    "a duration of another type": command(
        f"{TASK} " + CLAIM.replace("seconds seconds", "seconds «C038:who»")
    ),
    # C045, C020
    "a delete without a policy": command("delete «C045:Shop»(shop) as s else No {}"),
    "a needless restrict": command("delete Count(shop, day) as c else No {} restrict «C045:Held» {}"),
    "a needless cascade": command("delete Count(shop, day) as c else No {} cascade «C045:Many» {}"),
    "a missing restrict": command("delete Shop(shop) as «C045:s» else No {}").replace(
        "field name: string<40> }", "field name: string<40> delete_policy restrict Item.by_shop }"
    ),
    "a restrict": command("delete Shop(shop) as s else No {} restrict Held {}").replace(
        "field name: string<40> }", "field name: string<40> delete_policy restrict Item.by_shop }"
    ),
    "a missing cascade": command("delete Shop(shop) as «C045:s» else No {}").replace(
        "field name: string<40> }",
        "field name: string<40>"
        " delete_policy cascade { relationship Item.of_shop using Item.by_shop maximum 255 } }",
    ),
    "a cascade": command("delete Shop(shop) as s else No {} cascade Many {}").replace(
        "field name: string<40> }",
        "field name: string<40>"
        " delete_policy cascade { relationship Item.of_shop using Item.by_shop maximum 255 } }",
    ),
    # C046
    "a secret in an outcome": secret("", "return Ok { c: «C046:b.code» }"),
    "a secret revealed": secret("", "return Ok { c: b.code reveals b.code }"),
    "a row with secrets": secret("", "return Ok { b: «C046:b» }"),
    "a row with one of two revealed": secret("", "return Ok { b: «C046:b» reveals b.pin }"),
    "a row revealed": secret("", "return Ok { b: b reveals b.pin reveals b.code }"),
    "a secret compared in an outcome": secret("", "return Ok { b: «C046:b.pin == b.code» reveals b.pin }"),
    "revealed twice": secret("", "return Ok { c: b.code reveals b.code reveals «C046:b.code» }"),
    "revealed without need": secret("", "return Ok { c: b.open reveals «C046:b.open» }"),
    "another revealed": secret("", "return Ok { c: «C046:b.code» reveals «C046:b.pin» }"),
    "a secret in an event": secret(
        "emit Told { shop: shop, what: «C046:b.code» }",
        more="event Told { partition_by (shop) shop: uuid what: string<20> }",
    ),
    "a secret told": secret(
        "emit Told { shop: shop, what: b.code reveals b.code }",
        more="event Told { partition_by (shop) shop: uuid what: string<20> }",
    ),
    "a secret in an open field": secret("set b.open = «C046:b.code»"),
    "a secret opened": secret("set b.open = b.code reveals b.code"),
    "a secret in a secret field": secret("set b.pin = b.code"),
    "a secret in a failure": secret("require R: flag else No { c: «C046:b.code» }"),
    "a secret in a condition": secret("require R: b.code == code else No {}"),
}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES.keys())
def test_refused(text: str) -> None:
    verify(text)


def test_a_cascade_of_many_roots() -> None:
    part = (
        "entity Whole { key (shop: uuid, w: uuid) delete_policy cascade { relationship Part.of using"
        " Part.by maximum 31 } }"
        " entity Part { key (shop: uuid, p: uuid) field w: uuid reference of (shop, w) -> Whole (shop, w)"
        " index by (shop, w) } aggregate Wholes { root Whole partition_by shop conflict_key (shop) }"
        " aggregate Parts { root Part partition_by shop conflict_key (shop) }"
    )
    for most, mark in ((8, "delete Whole"), (9, "«C020:delete Whole»")):
        text = bulk(f"{mark}(shop, one) as w else No {{}} cascade Many {{}}", items=f"list<uuid, 1..{most}>")
        verify(text.replace("event Ended", f"{part} event Ended"))
