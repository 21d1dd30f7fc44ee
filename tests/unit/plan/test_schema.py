"""Tables: names that every store can have, stable once given."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.contracts import work_contract
from treadle.model import contract as c
from treadle.model import types as t
from treadle.plan.schema import NAME_BYTES, RESERVED, assign_names, fixed_names, tables

CONTRACT = work_contract()


def test_a_table_describes_its_entity() -> None:
    (table,) = tables(CONTRACT)
    assert (table.entity, table.name, table.key_count, table.tombstones) == ("WorkItem", "WorkItem", 2, True)
    assert [column.field for column in table.columns][:3] == ["organization_id", "work_id", "state"]
    assert [column.name for column in table.columns] == [column.field for column in table.columns]
    assert table.columns[6].type == t.U64_


def test_an_entity_without_a_workflow_keeps_no_tombstones() -> None:
    (table,) = tables(msgspec.structs.replace(CONTRACT, workflows=()))
    assert not table.tombstones


def test_an_index_is_positions() -> None:
    (entity,) = CONTRACT.entities
    index = c.Index("held", ("organization_id", "lease_owner"), presence=("lease_owner",))
    indexed = msgspec.structs.replace(entity, indexes=(index,))
    (table,) = tables(msgspec.structs.replace(CONTRACT, entities=(indexed,)))
    assert table.indexes[0].positions == (0, 3)
    assert table.indexes[0].presence == (3,)


@pytest.mark.parametrize(
    "wanted, given",
    [
        (["Job", "job", "JOB"], ["Job", "job_2", "JOB_3"]),
        (["job_2", "job", "Job"], ["job_2", "job", "Job_3"]),
        (["a" * 60], ["a" * 60]),
        (["a" * 61, "a" * 62], ["a" * 58 + "_2", "a" * 58 + "_3"]),
        (["sqlite_master", "PG_class", "Treadle_log"], ["_sqlite_master", "_PG_class", "_Treadle_log"]),
        (["_pg_x", "pg_x"], ["_pg_x", "_pg_x_2"]),
    ],
)
def test_names_are_made_usable(wanted: list[str], given: list[str]) -> None:
    assert list(assign_names(wanted, {}).values()) == given


def test_fixed_names_stay_and_are_kept_clear_of() -> None:
    assert assign_names(["Job", "gone"], {"Job": "job_old", "Gone": "gone"}) == {
        "Job": "job_old",
        "gone": "gone_2",
    }


NAMES = st.lists(
    st.from_regex(r"\A(sqlite_|pg_|TREADLE_|_)?[aAbB_2]{1,4}\Z")
    | st.sampled_from(["x" * 60, "x" * 61, "x" * 256]),
    unique=True,
    max_size=12,
)


@given(NAMES, st.integers(0, 12))
def test_names_are_short_distinct_unreserved_and_stable(names: list[str], cut: int) -> None:
    given = assign_names(names, {})
    folded = [name.casefold() for name in given.values()]
    assert len(set(folded)) == len(names)
    assert all(len(name) <= NAME_BYTES and not name.startswith(RESERVED) for name in folded)
    earlier = assign_names(names[:cut], {})
    assert {name: given[name] for name in names[:cut]} == earlier
    assert assign_names(names, earlier) == given


def test_what_was_fixed_comes_back() -> None:
    (entity,) = CONTRACT.entities
    odd = msgspec.structs.replace(entity, name="pg_item", fields=(c.Field("sqlite_x", t.BOOL),))
    contract = msgspec.structs.replace(CONTRACT, entities=(odd,), workflows=())
    made = tables(contract)
    names = fixed_names(made)
    assert names == {"pg_item": "_pg_item", "pg_item.sqlite_x": "_sqlite_x"}
    assert tables(contract, names) == made
