"""Refusals of workflows, leases and delete policies, with the exact span."""

from __future__ import annotations

import pytest

from tests.unit.riff.refusals import BASE, declare, verify


def workflow(
    text: str, entity: str = "Ticket", fields: str = "field state: State", aggregate: bool = True
) -> str:
    """A workflow on an entity of its own; `text` follows `workflow W {`."""
    holds = "aggregate Tickets { root Ticket partition_by t conflict_key (t) }" if aggregate else ""
    return declare(f"entity Ticket {{ key (t: uuid, k: State) {fields} }} {holds} workflow W {{ {text} }}")


ALL = "transition A from (New) to Busy transition B from (Busy) to Done"
HEAD = f"entity Ticket state state initial New {ALL}"


def lease(text: str, fields: str = "") -> str:
    known = (
        "field o: optional<uuid> field x: optional<timestamp> field f: u64 field n: u64"
        " field b: optional<uuid>"
    )
    return workflow(f"{HEAD} lease L {{ {text} }}", fields=f"field state: State {known} {fields}")


def policy(text: str) -> str:
    """Entities that refer to each other, Part to Whole; `text` is Whole's policy."""
    return declare(
        f"entity Whole {{ key (w: uuid, v: uuid) {text} }}"
        " entity Part { key (w: uuid, p: uuid) field v: uuid field o: optional<u64>"
        " reference of (w, v) -> Whole (w, v)"
        " index good (w, v, p) index bad (w, p) index gaps (w, v) presence (o) }"
        " aggregate Wholes { root Whole partition_by w conflict_key (w) }"
        " aggregate Parts { root Part partition_by w conflict_key (w) }"
    )


HELD = (
    " entity Held { key (w: uuid, h: uuid) field v: uuid field state: State field o: optional<uuid>"
    " field x: optional<timestamp> field f: u64 reference of (w, v) -> Whole (w, v) index good (w, v) }"
    " aggregate Helds { root Held partition_by w conflict_key (w) }"
    f" workflow W {{ entity Held state state initial New {ALL} lease L {{ owner o expires_at x"
    f" fencing_token f"
    " duration_seconds (1, 2) } }"
)
LEAF = (
    " entity Leaf { key (w: uuid, p: uuid, l: uuid) reference of (w, p) -> Part (w, p) }"
    " aggregate Leaves { root Leaf partition_by w conflict_key (w) }"
)


def cascade(*relationships: str) -> str:
    return "delete_policy cascade { " + " ".join(f"relationship {each}" for each in relationships) + " }"


GOOD = "Part.of using Part.good maximum 4"

CASES = {
    # C033
    "no aggregate": workflow(f"entity «C033:Ticket» state state initial New {ALL}", aggregate=False),
    "second workflow on an entity": declare(
        f"workflow W {{ entity «C033:Task» state state initial New {ALL} }}"
    ),
    "state is a number": workflow(f"entity Ticket state «C033:s» initial New {ALL}", fields="field s: u64"),
    "state is optional": workflow(
        f"entity Ticket state «C033:s» initial New {ALL}", fields="field s: optional<State>"
    ),
    "state is a key": workflow(f"entity Ticket state «C033:k» initial New {ALL}"),
    # C034
    "unknown initial": workflow(f"entity Ticket state state initial «C034:Old» {ALL}"),
    "unknown source": workflow(
        "entity Ticket state state initial New transition A from (New, «C034:Old») to Busy"
        " transition B from (Busy) to Done"
    ),
    "unknown destination": workflow(
        "entity Ticket state state initial New transition A from (New) to «C034:Old»"
    ),
    "transition twice": workflow(f"{HEAD} transition «C034:A» from (Done) to New"),
    "edge twice": workflow(f"{HEAD} transition C from («C034:New») to Busy"),
    "edge twice in one": workflow(f"{HEAD} transition C from (Done, «C034:Done») to New"),
    "transition called tx": workflow(f"{HEAD} transition «C002:tx» from (Done) to New"),
    # W034
    "unreached states": workflow(
        "entity Ticket state state initial «W034:New» transition A from (Busy) to Done"
    ),
    "an unreached state without a warning": workflow(
        "entity Ticket state state transition A from (Busy) to Done"
    ),
    # C035
    "owner that is required": lease("owner «C035:f» expires_at x fencing_token n duration_seconds (1, 2)"),
    "owner that is missing": lease("owner «C004:z» expires_at x fencing_token f duration_seconds (1, 2)"),
    "expiry of another type": lease("owner o expires_at «C035:b» fencing_token f duration_seconds (1, 2)"),
    "fence of another type": lease(
        "owner o expires_at x fencing_token «C035:i» duration_seconds (1, 2)", "field i: i64"
    ),
    "attempts of another type": lease(
        "owner o expires_at x fencing_token f attempts «C035:i» duration_seconds (1, 2)", "field i: i64"
    ),
    "one field for two parts": lease(
        "owner o expires_at x fencing_token f attempts «C035:f» duration_seconds (1, 2)"
    ),
    "a key field": lease("owner «C035:t» expires_at x fencing_token f duration_seconds (1, 2)"),
    "no time at all": lease("owner o expires_at x fencing_token f duration_seconds («C035:0», 2)"),
    "more than a day": lease("owner o expires_at x fencing_token f duration_seconds (1, «C035:86401»)"),
    "a day, and no attempts": lease("owner o expires_at x fencing_token f duration_seconds (1, 86400)"),
    "bounds upside down": lease("owner o expires_at x fencing_token f duration_seconds («C035:9», 8)"),
    # C045
    "no_inbound with a reference": policy("«C045:delete_policy no_inbound»"),
    "no_inbound with a reference to itself": declare(
        "entity E { key (s: uuid, e: uuid) field up: uuid reference parent (s, up) -> E (s, e)"
        " «C045:delete_policy no_inbound» }"
    ),
    "restrict by an index of the reference": policy("delete_policy restrict Part.good"),
    "restrict by another index": policy("«C045:delete_policy restrict Part.bad»"),
    "restrict by an index that leaves rows out": policy("delete_policy restrict Part.«C045:gaps»"),
    "restrict by an unknown index": policy("delete_policy restrict Part.«C004:none»"),
    "restrict by an unknown entity": policy("delete_policy restrict «C004:Prt».good"),
    "restrict by an index of other types": declare(
        "entity E { key (s: uuid, n: u64) delete_policy restrict Item.«C045:by_shop» }"
    ),
    "restrict by an index of the key's types": declare(
        "entity E { key (s: uuid, n: uuid) delete_policy restrict Item.by_shop }"
    ),
    "restrict that leaves another reference": policy("«C045:delete_policy restrict Part.good»")[:-3]
    + HELD
    + "\n}\n",
    "restrict of a leased entity": BASE.replace(
        "delete_policy no_inbound\n  }\n  entity Count",
        "«C045:delete_policy restrict Item.by_shop»\n  }\n  entity Count",
    )
    + "}",
    "cascade": policy(cascade(GOOD)),
    "cascade of an unknown entity": policy(cascade(GOOD, "«C004:P».of using P.good maximum 1")),
    "cascade of an unknown reference": policy(cascade(GOOD, "Part.«C004:off» using Part.good maximum 1")),
    "cascade by an unknown index": policy(cascade("Part.of using Part.«C004:none» maximum 1")),
    "cascade by another entity's index": policy(cascade("Part.of using «C045:Item».by_shop maximum 1")),
    "cascade by another index": policy(cascade("Part.of using Part.«C045:bad» maximum 1")),
    "cascade by an index that leaves rows out": policy(cascade("Part.of using Part.«C045:gaps» maximum 1")),
    "cascade of one reference twice": policy(cascade(GOOD, "Part.«C045:of» using Part.good maximum 1")),
    "cascade of a reference to another entity": policy(
        cascade(GOOD, "Item.«C045:of_shop» using Item.by_shop maximum 1")
    ),
    "cascade that leaves a reference": policy("«C045:" + cascade(GOOD) + "»")[:-3] + HELD + "\n}\n",
    "cascade over a leased entity": policy(cascade(GOOD, "«C045:Held».of using Held.good maximum 1"))[:-3]
    + HELD
    + "\n}\n",
    "cascade of two hops": policy(cascade("«C045:Part».of using Part.good maximum 1"))[:-3] + LEAF + "\n}\n",
    "cascade of none": policy(cascade("Part.of using Part.good maximum «C020:0»")),
    "cascade of too many": policy(cascade("Part.of using Part.good maximum «C020:256»")),
}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES.keys())
def test_refused(text: str) -> None:
    verify(text)


def test_a_cascade_has_at_most_32_relationships() -> None:
    parts = "".join(
        f" entity P{n} {{ key (w: uuid, p: uuid) field v: uuid reference of (w, v) -> Whole (w, v) index"
        f" good (w, v) }}"
        f" aggregate A{n} {{ root P{n} partition_by w conflict_key (w) }}"
        for n in range(32)
    )
    each = [f"P{n}.of using P{n}.good maximum 1" for n in range(32)]
    verify(policy(cascade(GOOD, *each[:31]))[:-3].replace("index good (w, v, p)", "index good (w,"
    " v)") + parts.replace(
        "entity P31 { key (w: uuid, p: uuid) field v: uuid reference of (w, v) -> Whole (w, v) index good"
        " (w, v) }",
        "entity P31 { key (w: uuid) }",
    ) + "\n}\n")  # fmt: skip
    over = cascade(GOOD, *each[:31], f"«C020:relationship {each[31]}»").replace("relationship «", "«")
    verify(policy(over)[:-3] + parts + "\n}\n")
