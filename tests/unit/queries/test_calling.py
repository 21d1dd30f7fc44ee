"""A call from end to end: parameters, freshness, pages, who may ask, bounds."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from uuid import UUID

import pytest

import treadle
from tests.unit.queries.conftest import CONTRACT, OTHER, QUERIES, SHOP, START, World
from treadle import limits
from treadle.access.caller import Caller
from treadle.access.roles import Role
from treadle.engine.grants import authenticate
from treadle.engine.named import Queries, QueryProposal
from treadle.errors import (
    Busy,
    ContractError,
    ContractMismatch,
    Denied,
    HistoryChanged,
    InvalidInput,
    TooLarge,
    UnexpectedOutcome,
    UnknownName,
)
from treadle.queries import Call, calling, run
from treadle.queries.cursors import Binding, Place, write
from treadle.queries.prepared import prepare


def test_the_outcome_of_a_present_and_of_an_absent_row(world: World) -> None:
    commit = world.add(7)
    page = world.db.query("Job", {"shop": SHOP, "job": UUID(int=7)})
    assert page.outcome == "Found" and page.ok and page.commit == commit and page.next is None
    assert page.expect("Found")["job"] == {
        "shop": SHOP,
        "job": UUID(int=7),
        "state": "New",
        "size": 7,
        "owner": "ann",
        "note": None,
        "text": None,
        "made": START,
    }
    absent = world.db.query("Job", {"shop": str(OTHER), "job": str(UUID(int=7))})
    assert absent.outcome == "Missing" and not absent.ok and absent.fields == {}
    with pytest.raises(UnexpectedOutcome, match="answered Missing, not Found"):
        absent.expect("Found")
    with pytest.raises(ValueError, match="declares no outcome Fund; the nearest is Found"):
        absent.expect("Fund")


def test_a_row_that_may_be_absent(world: World) -> None:
    world.add(7)
    assert world.db.query("Sized", {"shop": SHOP, "size": 7}).fields == {"job": {"job": UUID(int=7)}}
    assert world.db.query("Sized", {"shop": SHOP, "size": 8}).fields == {"job": None}


def test_pages_go_on_where_the_last_one_ended(world: World) -> None:
    for number in range(1, 8):
        world.add(number)
    pages = list(world.db.pages("Jobs", {"shop": SHOP}))
    assert [[job["size"] for job in page.rows] for page in pages] == [[1, 2, 3], [4, 5, 6], [7]]
    assert [page.after_commit for page in pages] == [None, pages[0].commit, pages[1].commit]
    assert [job["revision"] for page in pages for job in page.rows] == [1] * 7


def test_a_full_last_page_has_no_next(world: World) -> None:
    for number in range(1, 4):
        world.add(number)
    assert world.db.query("Jobs", {"shop": SHOP}).next is None


def test_a_page_sees_what_was_committed_since_and_says_so(world: World) -> None:
    for number in (1, 2, 3, 5):
        world.add(number)
    first = world.db.query("Jobs", {"shop": SHOP})
    commit = world.add(4)
    second = world.db.query("Jobs", {"shop": SHOP}, after=first.next)
    assert [job["size"] for job in second.rows] == [4, 5]
    assert (second.after_commit, second.commit) == (first.commit, commit)


def test_a_page_is_one_snapshot(world: World) -> None:
    """While others write, what a page counts and what it lists agree."""
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set() and number < 500:
            number += 1
            world.add(number)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(50):
            fields = world.db.query("States", {"shop": SHOP}).fields
            listed = sum(state["n"] for state in fields["states"])
            assert listed == fields["n"] and fields["sum"] == fields["n"] * (fields["n"] + 1) // 2
    finally:
        stop.set()
        writer.join()


def test_groups_have_pages(world: World) -> None:
    for number in range(1, 4):
        world.add(number)
    world.db.run("Finish", {"key": "k", "shop": SHOP, "id": UUID(int=2)}, principal="shop")
    pages = list(world.db.pages("States", {"shop": SHOP}))
    assert [page.fields["states"] for page in pages] == [
        [{"state": "Done", "n": 1}],
        [{"state": "New", "n": 2}],
    ]
    assert all(page.fields["n"] == 3 and page.fields["sum"] == 6 for page in pages)


def test_an_optional_filter(world: World) -> None:
    world.add(1)
    assert len(world.db.query("Jobs", {"shop": SHOP, "state": "New"}).rows) == 1
    assert world.db.query("Jobs", {"shop": SHOP, "state": "Done"}).rows == []
    assert len(world.db.query("Jobs", {"shop": SHOP, "state": None}).rows) == 1


def test_the_time_of_the_snapshot(world: World) -> None:
    """The store's time, not the caller's: a row made now is not before now."""
    world.add(1)
    assert world.db.query("Made", {"shop": SHOP}).rows == []
    world.clock.advance(timedelta(seconds=1))
    assert len(world.db.query("Made", {"shop": SHOP}).rows) == 1
    world.clock.set(START - timedelta(days=1))
    assert world.db.query("Made", {"shop": SHOP}).rows == []


# Freshness.


def test_at_least_waits_for_the_commit(world: World) -> None:
    commit = world.add(1) + 1
    threading.Timer(0.05, lambda: world.add(2)).start()
    page = world.db.query("Jobs", {"shop": SHOP}, at_least=commit)
    assert page.commit >= commit and len(page.rows) == 2


def test_at_least_answers_clearly_when_the_commit_does_not_come(world: World) -> None:
    commit = world.add(1)
    began = time.monotonic()
    with pytest.raises(Busy, match=f"commit {commit + 5} is not here yet, the last one is {commit}"):
        world.db.query("Jobs", {"shop": SHOP}, at_least=commit + 5, timeout=0.05)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("wrong", [-1, True, "3", 1.5, 2**64])
def test_at_least_is_a_commit_number(world: World, wrong) -> None:
    with pytest.raises(InvalidInput, match="at_least: write a commit number"):
        world.db.query("Jobs", {"shop": SHOP}, at_least=wrong)


def test_a_history_that_was_ended(world: World) -> None:
    assert world.db.query("Jobs", {"shop": SHOP}, history=world.db.history).ok
    with pytest.raises(HistoryChanged):
        world.db.query("Jobs", {"shop": SHOP}, history="else.1")


# Parameters.


def test_parameters_are_checked_with_their_path(world: World) -> None:
    with pytest.raises(InvalidInput, match=r"parameters\.shop"):
        world.db.query("Jobs", {"shop": "no uuid"})
    with pytest.raises(InvalidInput, match="shop"):
        world.db.query("Jobs", {})
    with pytest.raises(InvalidInput, match="stat"):
        world.db.query("Jobs", {"shop": SHOP, "stat": "New"})
    with pytest.raises(InvalidInput, match=r"parameters\.size"):
        world.db.query("Sized", {"shop": SHOP, "size": True})


def test_an_unknown_query_is_named_with_its_nearest(world: World) -> None:
    with pytest.raises(UnknownName, match="no query Jbs is deployed; the nearest is Jobs"):
        world.db.query("Jbs", {})


# Cursors.


def test_the_cursor_may_stand_among_the_parameters(world: World) -> None:
    for number in range(1, 6):
        world.add(number)
    first = world.db.query("Jobs", {"shop": SHOP})
    by_name = world.db.query("Jobs", {"shop": SHOP, "next": first.next})
    assert [job["size"] for job in by_name.rows] == [4, 5]
    assert by_name == world.db.query("Jobs", {"shop": SHOP, "next": None}, after=first.next)
    with pytest.raises(InvalidInput, match="given twice"):
        world.db.query("Jobs", {"shop": SHOP, "next": "x"}, after=first.next)


def test_a_query_without_pages_takes_no_cursor(world: World) -> None:
    with pytest.raises(InvalidInput, match="query Made has no pages"):
        world.db.query("Made", {"shop": SHOP}, after="x")


# Who may ask.


def test_a_role_names_the_queries_it_allows(world: World) -> None:
    world.db.deploy(CONTRACT, roles=[Role("reader", queries=("Jobs",), row_policies=False)])
    assert world.db.query("Jobs", {"shop": SHOP}, role="reader").ok
    with pytest.raises(Denied, match="role reader does not allow query Made"):
        world.db.query("Made", {"shop": SHOP}, role="reader")
    with pytest.raises(Denied, match="does not allow query Nothing"):
        world.db.query("Nothing", {}, role="reader")
    with pytest.raises(Denied, match="no role wrong"):
        world.db.query("Jobs", {"shop": SHOP}, role="wrong")


def test_a_row_that_policy_hides_looks_absent(world: World) -> None:
    for number, owner in enumerate(["ann", "bob", "ann", "bob", "ann", "ann"], start=1):
        world.add(number, owner=owner)
    ann = world.db.acting_as("ann", facts={"name": "ann"})
    pages = list(ann.pages("Jobs", {"shop": SHOP}))
    assert [[job["size"] for job in page.rows] for page in pages] == [[1, 3, 5], [6]]
    assert ann.query("Job", {"shop": SHOP, "job": UUID(int=2)}).outcome == "Missing"
    assert ann.query("Job", {"shop": SHOP, "job": UUID(int=3)}).outcome == "Found"
    assert ann.query("Sized", {"shop": SHOP, "size": 2}).fields == {"job": None}
    assert ann.query("States", {"shop": SHOP}).fields == {
        "states": [{"state": "New", "n": 4}],
        "n": 4,
        "sum": 15,
    }
    assert world.db.acting_as("eve", facts={"name": "eve"}).query("Jobs", {"shop": SHOP}).rows == []


def test_a_caller_of_a_tenant_sees_its_rows_only(world: World) -> None:
    world.add(1)
    world.add(2, shop=OTHER)
    mine = world.db.acting_as("ann", tenant=str(SHOP))
    assert [job["size"] for job in mine.query("Jobs", {"shop": SHOP}).rows] == [1]
    assert mine.query("Jobs", {"shop": OTHER}).rows == []
    assert [job["size"] for job in mine.query("Owned", {"owner": "ann"}).rows] == [1]
    assert mine.query("States", {"shop": OTHER}).fields == {"states": [], "n": 0, "sum": 0}
    assert mine.query("Job", {"shop": OTHER, "job": UUID(int=2)}).outcome == "Missing"


# Bounds.


def test_a_page_ends_before_it_is_too_large(world: World) -> None:
    """A list with pages ends early; each row still comes exactly once."""
    for number in range(300):
        world.add(number, text=f"{number:03}" + "x" * 59_000)
    pages = list(world.db.pages("Texts", {"shop": SHOP}))
    assert len(pages) == 2 and sum(len(page.rows) for page in pages) == 300
    texts = [job["text"] for page in pages for job in page.rows]
    assert texts == sorted(texts, reverse=True)
    assert all(sum(len(job["text"]) for job in page.rows) <= limits.QUERY_BYTES for page in pages)


def test_a_page_ends_early_where_nothing_passes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "QUERY_EXAMINED", 4)
    for number in range(1, 11):
        world.add(number)
    for number in (5, 10):
        world.db.run("Finish", {"key": str(number), "shop": SHOP, "id": UUID(int=number)}, principal="shop")
    pages = list(world.db.pages("Jobs", {"shop": SHOP, "state": "Done"}))
    assert [job["size"] for page in pages for job in page.rows] == [5, 10]
    assert [len(page.rows) for page in pages] == [0, 1, 1]


def test_an_aggregate_reads_so_many_rows(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "QUERY_AGGREGATED", 2)
    world.add(1)
    world.add(2)
    assert world.db.query("States", {"shop": SHOP}).fields["n"] == 2
    world.add(3)
    with pytest.raises(TooLarge, match="an aggregate reads at most 2 rows"):
        world.db.query("States", {"shop": SHOP})


def test_a_query_ends_in_its_time(world: World) -> None:
    world.add(1)
    with pytest.raises(Busy, match="did not end in its time") as caught:
        world.db.query("Jobs", {"shop": SHOP}, timeout=0.0)
    assert caught.value.code == "deadline"


def test_a_sum_that_leaves_its_type(world: World) -> None:
    world.add(2**63)
    world.add(2**63 - 1)
    assert world.db.query("States", {"shop": SHOP}).fields["sum"] == 2**64 - 1
    world.add(1)
    with pytest.raises(TooLarge, match="a sum over Job leaves the range of u64"):
        world.db.query("States", {"shop": SHOP})


# Deployment.


def test_queries_are_part_of_the_deployment(world: World) -> None:
    kinds = [(entry.kind, entry.body) for entry in world.db.log()]
    assert [kind for kind, _ in kinds] == ["deploy", "queries"]
    listed = kinds[1][1]["queries"]
    assert [each["name"] for each in listed] == ["Job", "Jobs", "Made", "Owned", "Sized", "States", "Texts"]
    query = world.db._engine.state.queries.get("Jobs")
    assert listed[1]["identity"] == query.identity and listed[1]["text"] == query.text
    assert world.db.verify().ok


def test_deploying_the_same_queries_is_a_no_op(world: World) -> None:
    head = world.db.head
    world.db.deploy(CONTRACT, queries=[QUERIES])
    world.db.deploy(CONTRACT)
    assert world.db.head == head


def test_queries_stay_when_the_contract_changes_and_are_checked_again(world: World) -> None:
    world.add(1)
    wider = CONTRACT.replace("version 1", "version 2").replace(
        "    field made: timestamp\n", "    field made: timestamp\n    field more: optional<u64>\n"
    )
    world.db.deploy(wider)
    assert "more" in world.db.query("Job", {"shop": SHOP, "job": UUID(int=1)}).fields["job"]
    without = wider.replace("version 2", "version 3").replace("    index by_size (shop, size)\n", "")
    with pytest.raises(ContractError, match="Q007"):
        world.db.deploy(without)
    assert world.db.version == 2


def test_deploying_other_queries_replaces_them(world: World) -> None:
    world.db.deploy(CONTRACT, queries=[QUERIES.split("query Job(")[0]])
    with pytest.raises(UnknownName):
        world.db.query("States", {"shop": SHOP})
    world.db.deploy(CONTRACT, queries=[])
    with pytest.raises(UnknownName, match="no query Jobs is deployed"):
        world.db.query("Jobs", {"shop": SHOP})


def test_queries_come_from_files(world: World, tmp_path) -> None:
    file = tmp_path / "all.riffq"
    file.write_text(QUERIES)
    world.db.deploy(CONTRACT, queries=[file])
    file.write_text("query Broken {")
    with pytest.raises(ContractError, match=r"all\.riffq:1:15"):
        world.db.deploy(CONTRACT, queries=file)


def test_a_query_declared_in_two_files(world: World) -> None:
    with pytest.raises(ContractError, match="query Jobs is declared twice"):
        world.db.deploy(CONTRACT, queries=[QUERIES, QUERIES.split("query Job(")[0]])


def test_a_lost_race_of_deployments_is_refused(world: World) -> None:
    """What stays was read before: if it is not there any more, the deployment has to look again."""
    proposal = QueryProposal((), {"Jobs": "old"})
    with pytest.raises(ContractMismatch) as caught:
        proposal.check(Queries({}))
    assert caught.value.code == "version_conflict"


# Several handles.


def test_another_handles_deployment_is_followed_once(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A handle that only reads sees a new deployment, and makes its queries ready once, not at every call."""
    url = str(tmp_path / "work.db")
    first = World(url)
    second = treadle.open(url, clock=first.clock)
    assert second.query("Jobs", {"shop": SHOP}).ok
    first.db.deploy(CONTRACT, queries=QUERIES.replace("take 3", "take 1"))
    first.add(1)
    first.add(2)
    made: list[str] = []

    def noted(query, deployed):
        made.append(query.name)
        return prepare(query, deployed)

    monkeypatch.setattr(calling, "prepare", noted)
    for _ in range(3):
        assert len(second.query("Jobs", {"shop": SHOP}).rows) == 1
    assert made == ["Jobs"]
    second.close()
    first.db.close()


def test_a_token_is_looked_up_in_the_snapshot(world: World) -> None:
    """A revoked token loses at once, and the facts that policies ask are the token's."""
    world.add(1, owner="ann")
    world.add(2, owner="bob")
    world.db.deploy(CONTRACT, roles=[Role("reader", queries=("Jobs",))])
    granted = world.db.tokens.create("ann", role="reader", facts={"name": "ann"})
    with world.db._engine.store.read() as tx:
        caller = authenticate(tx, world.db._engine.state, granted.text, "")
    asked = Call("Jobs", {"shop": SHOP}, caller)
    assert [job["size"] for job in run(world.db._engine, asked).rows] == [1]
    world.db.tokens.revoke(granted.token.id)
    with pytest.raises(Denied) as caught:
        run(world.db._engine, asked)
    assert caught.value.code == "unauthenticated"


def test_a_contract_does_not_change_under_queries_that_its_deployer_has_not_seen(tmp_path) -> None:
    """Another handle has deployed queries since: the contract alone would leave them unchecked."""
    url = str(tmp_path / "work.db")
    first = treadle.open(url)
    first.deploy(CONTRACT)
    second = treadle.open(url)
    first.deploy(CONTRACT, queries=QUERIES)
    wider = CONTRACT.replace("version 1", "version 2").replace(
        "    field made: timestamp\n", "    field made: timestamp\n    field more: optional<u64>\n"
    )
    log = first.head
    with pytest.raises(ContractMismatch, match="other queries were deployed meanwhile") as caught:
        second.deploy(wider)
    assert caught.value.code == "version_conflict" and first.head == log and first.version == 1
    assert second.deploy(wider) == 2  # now it has seen them
    assert second.query("Jobs", {"shop": SHOP}).ok
    second.close()
    first.close()


def test_a_page_is_never_before_the_page_before(world: World) -> None:
    """A snapshot that does not see the cursor's commit, as a replica's, is not used."""
    for number in range(1, 6):
        world.add(number)
    engine = world.db._engine
    first = world.db.query("Jobs", {"shop": SHOP})
    binding = Binding(first.query.module_hash, parameters_of(world, {"shop": SHOP}), Caller("owner"))
    later = write(Place(first.commit + 1, (UUID(int=1).bytes,) * 3), binding, engine.state)
    with pytest.raises(Busy, match=f"the page before saw commit {first.commit + 1}"):
        world.db.query("Jobs", {"shop": SHOP}, after=later)


def parameters_of(world: World, values: dict) -> bytes:
    """The canonical bytes of parameters of Jobs."""
    deployed = world.db._engine.state.require()
    query = world.db._engine.state.queries.get("Jobs")
    cells = deployed.codec.fields_reader("", query.parameters)(values, "")
    return deployed.codec.fields_encoder(query.parameters)(cells)
