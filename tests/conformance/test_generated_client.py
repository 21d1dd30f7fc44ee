"""One generated client on three transports: a database in memory, one in a file, and one behind HTTP.

The contract has a value of each type and names that no language likes. The same calls get equal answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import treadle
from tests.support.clients import NAMES, NAMES_QUERIES, SCOPE, interface, loaded, names_module, python_text
from tests.support.serving import serving
from treadle.access.roles import Role
from treadle.errors import ContractMismatch, HistoryChanged, InvalidInput, TreadleError
from treadle.testing import ManualClock

START = datetime(2030, 1, 1, 9, 30, 15, 250_000, tzinfo=UTC)
ALL = Role(
    "all",
    commands=("return_all", "ReturnAll", "run", "Bulk", "Copy"),
    queries=("class", "Counted"),
    operations=("admin",),
)
g = names_module()


class World:
    """A database, and clients of it for one principal. `embedded` is always in process."""

    def __init__(self, kind: str, folder: Path, stack: ExitStack) -> None:
        url = ":memory:" if kind == "memory" else str(folder / "names.db")
        self.db = stack.enter_context(treadle.open(url, clock=ManualClock(START)))
        self.db.deploy(NAMES, queries=NAMES_QUERIES, roles=[ALL])
        token = self.db.tokens.create("tester", role="all").text
        self.acting: Any = self.db.acting_as("tester", role="all")
        self.embedded = g.Names_of_allClient(self.acting)
        self.transport: Any = self.acting
        self.address = ""
        self.token = token
        if kind == "http":
            self.address = stack.enter_context(serving(self.db))
            self.transport = stack.enter_context(treadle.connect(self.address, token=token))
        self.client = g.Names_of_allClient(self.transport)


@pytest.fixture(params=["memory", "sqlite", "http"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    with ExitStack() as stack:
        yield World(request.param, tmp_path, stack)


def made(number: int, **other: Any) -> Any:
    """A command with a value of each type."""
    given: dict[str, Any] = {
        "from_": f"key-{number}",
        "str_": SCOPE,
        "id": number,
        "int_": -(2**63),
        "class___": g.class_.None_,
        "lambda_": g.class_.while_,
        "Lambda": "λ\u2028",
        "timeout_": START,
        "day": date(2030, 2, 28),
        "amount": Decimal("-1234567890123456.7890"),
        "price": Decimal("0.10"),
        "blob": bytes(range(40)),
        "flag": True,
        "tags": ["a", "é"],
        "many": (g.Colour.Red, g.Colour.Green),
        "colours": None,
        "private_": 2**64 - 1,
        "mangled_": "",
    }
    return g.return_all(**(given | other))


def row(number: int, **other: Any) -> Any:
    """A row as a command's input."""
    given = {
        "str_": SCOPE,
        "id": number,
        "int_": 7,
        "class___": g.class_.Title,
        "Lambda": "x",
        "day": date(2030, 1, 1),
        "amount": Decimal(1),
        "price": Decimal("1.5"),
        "blob": b"",
        "flag": False,
        "tags": (),
        "private_": 3,
    }
    return g.Str(**(given | other))


def calls() -> list[Any]:
    """Commands that reach every outcome."""
    return [
        made(1),
        made(1),
        made(1, from_="other"),
        made(2, colours=[g.Colour.Green], lambda_=None, timeout_=None, private_=None, mangled_=None),
        made(3, tags=()),
        g.ReturnAll(str_=SCOPE, id=1),
        g.ReturnAll(str_=SCOPE, id=9),
        g.run(key="r1", str_=SCOPE, id=1, by=999),
        g.run(key="r2", str_=SCOPE, id=1, by=1_000),
        g.run(key="r3", str_=SCOPE, id=9, by=1),
        g.run(key="r4", str_=SCOPE, id=1, by=-(2**62)),
        g.Bulk(key="b1", str_=SCOPE, ids=[1, 2]),
        g.Bulk(key="b2", str_=SCOPE, ids=[1, 9]),
        g.Copy(key="c1", str_=SCOPE, rows=[row(1), row(2, class___=g.class_.while_, private_=None)]),
        g.Copy(key="c2", str_=SCOPE, rows=(row(9),)),
    ]


def answered(client: Any, command: Any) -> Any:
    """An outcome, or an error as what can be compared."""
    try:
        return client.run(command)
    except TreadleError as error:
        return type(error), error.code, str(error), getattr(error, "commit", None)


def shown(answer: Any) -> Any:
    """An answer without what differs from database to database."""
    if isinstance(answer, tuple):
        return answer
    fields = {name: getattr(answer, name) for name in answer.__slots__ if name != "receipt"}
    return type(answer), fields, answer.receipt.to_json() | {"history": ""}


def test_the_same_commands_get_the_same_answers_on_every_transport(tmp_path: Path) -> None:
    found = []
    for kind in ("memory", "sqlite", "http"):
        with ExitStack() as stack:
            client = World(
                kind, tmp_path / kind if kind == "memory" else _made(tmp_path / kind), stack
            ).client
            found.append([shown(answered(client, command)) for command in calls()])
    assert found[0] == found[1] == found[2]
    assert len({str(answer[0]) for answer in found[0]}) == 12, "every outcome, and a terminal failure"


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_a_replay_is_equal_whichever_way_it_comes(world: World) -> None:
    for command in calls():
        first, again = answered(world.client, command), answered(world.embedded, command)
        assert type(first) is type(again)
        if not isinstance(first, tuple) and command not in calls()[5:7]:  # those two have no key
            assert first == again and first.receipt == again.receipt and again.receipt.replayed


def test_values_come_back_in_their_python_types(world: World) -> None:
    answer = world.client.run(made(1))
    assert isinstance(answer, g.return_all.class__)
    row = answer.made
    assert row == g.Str(
        str_=SCOPE,
        id=1,
        int_=-(2**63),
        class___=g.class_.None_,
        lambda_=g.class_.while_,
        Lambda="λ\u2028",
        when_=START,
        day=date(2030, 2, 28),
        amount=Decimal("-1234567890123456.7890"),
        price=Decimal("0.10"),
        blob=bytes(range(40)),
        flag=True,
        tags=("a", "é"),
        colours=None,
        self=None,
        private_=2**64 - 1,
        mangled_="",
    )
    assert type(row.class___) is g.class_ and type(row.when_) is datetime and type(row.price) is Decimal
    assert answer.receipt_ == 1 and answer.import__ is g.class_.None_


def test_methods_are_the_commands_with_named_parameters(world: World) -> None:
    world.client.run(made(1))
    added = world.client.run_(key="m", str_=SCOPE, id=1, by=5)
    assert added == world.client.run(g.run(key="m", str_=SCOPE, id=1, by=5))
    assert isinstance(world.client.return_all_(str_=SCOPE, id=1), g.ReturnAll.Shown)
    with pytest.raises(TypeError):
        world.client.run_(key="m", str_=SCOPE, id=1)
    with pytest.raises(InvalidInput, match="by"):
        world.client.run_(key="n", str_=SCOPE, id=1, by="no number")


def test_queries_are_typed_and_turn_pages(world: World) -> None:
    for number in range(1, 6):
        world.client.run(made(number))
    page = world.client.class_(str_=SCOPE, self_=1)
    assert isinstance(page, g.class__.None_)
    assert [row.id for row in page.page_] == [1, 2] and page.page_[0].class___ is g.class_.None_
    assert page.it is not None and page.it.amount == Decimal("-1234567890123456.7890")
    pages = list(world.client.class_pages(str_=SCOPE, self_=99, at_least_=2))
    assert [[row.id for row in one.page_] for one in pages] == [[2, 3], [4, 5]] and pages[0].it is None
    assert pages[1] == world.embedded.class_(str_=SCOPE, self_=99, at_least_=2, after=pages[0].page.next)
    counted = world.client.counted(str_=SCOPE, at_least=world.db.head[0])
    assert (counted.count, counted.sum) == (5, 15)
    assert world.client.counted(str_=UUID(int=1)).most is None


def test_a_batch_has_an_outcome_or_an_error_for_each_command(world: World) -> None:
    told: list[tuple[int, int]] = []
    commands = [made(number) for number in range(1_200)] + [made(5, from_="again"), made(6, from_="")]
    answers = world.client.run_many(commands, progress=lambda done, all_: told.append((done, all_)))
    assert [type(answer) for answer in answers[:1_200]] == [g.return_all.class__] * 1_200
    assert isinstance(answers[1_200], g.return_all.Exists)
    assert isinstance(answers[1_201], TreadleError) and answers[1_201].code == "malformed"
    assert told == [(1_000, 1_202), (1_202, 1_202)]
    assert world.client.run_many([]) == []


def test_a_stale_client_is_refused(world: World) -> None:
    world.client.run(made(1))
    world.db.deploy(NAMES.replace("version 3", "version 4"), queries=NAMES_QUERIES)
    for call in (
        lambda: world.client.run(made(2)),
        lambda: world.client.counted(str_=SCOPE),
    ):
        with pytest.raises(ContractMismatch):
            call()
    assert world.client.run(made(1)).receipt.replayed, "what was answered stays answered"
    assert isinstance(world.client.run_many([made(3)])[0], ContractMismatch)


def test_a_query_that_was_changed_is_refused(world: World) -> None:
    world.client.counted(str_=SCOPE)
    world.db.deploy(NAMES, queries=NAMES_QUERIES.replace("sum(it.id)", "min(it.id)"))
    with pytest.raises(ContractMismatch):
        world.client.counted(str_=SCOPE)


def test_a_client_relies_on_the_history_that_it_has_seen(world: World) -> None:
    assert world.client.history is None
    world.client.run(made(1))
    assert world.client.history == world.db.history
    world.client.history = "restored.2"
    for call in (lambda: world.client.run(made(2)), lambda: world.client.counted(str_=SCOPE)):
        with pytest.raises(HistoryChanged):
            call()
    world.client.history = None
    assert world.client.run(made(2)).receipt.ok


def test_a_database_needs_somebody_who_acts(world: World) -> None:
    with pytest.raises(InvalidInput, match="who acts"):
        g.Names_of_allClient(world.db)
    with pytest.raises(InvalidInput, match="principal"):
        g.Names_of_allClient(world.transport, principal="somebody")
    client = g.Names_of_allClient(world.db, principal="tester", role="all")
    assert client.run(made(1)) == world.embedded.run(made(1))


def test_the_input_class_is_taken_in_place_of_the_mapping(world: World) -> None:
    receipt = world.transport.run("return_all", made(1))
    assert receipt == world.client.run(made(1)).receipt


def test_a_receipt_of_an_older_contract_is_read_by_a_newer_client(world: World, tmp_path: Path) -> None:
    first = world.client.run(made(1))
    wider = NAMES.replace("version 3", "version 4").replace(
        "    field secret token", "    field extra: optional<u64>\n    field secret token"
    )
    world.db.deploy(wider, queries=NAMES_QUERIES)
    newer = loaded(python_text(interface(wider)), "generated_newer_client", tmp_path)
    client = newer.Names_of_allClient(world.transport)
    same = newer.return_all(**{name: getattr(made(1), name) for name in made(1).__slots__})
    again = client.run(same)
    assert again.receipt.replayed and again.receipt.commit == first.receipt.commit
    assert again.made.extra is None and again.made.amount == first.made.amount


def test_the_async_client_is_the_same(world: World) -> None:
    async def work(client: Any) -> list[Any]:
        found = [shown(await _awaited(client, command)) for command in calls()]
        assert (await client.counted(str_=SCOPE)).count == 3
        pages = [page async for page in client.class_pages(str_=SCOPE, self_=1)]
        assert [len(page.page_) for page in pages] == [2, 1]
        answers = await client.run_many([made(50), made(51, from_="")], progress=lambda done, all_: None)
        assert [answer.receipt.ok if hasattr(answer, "receipt") else False for answer in answers] == [
            True,
            False,
        ]
        await client.run_(key="m", str_=SCOPE, id=1, by=5)
        return found

    async def over(world: World) -> list[Any]:
        if world.address:
            async with treadle.connect_async(world.address, token=world.token) as remote:
                return await work(g.AsyncNames_of_allClient(remote))
        opened = treadle.AsyncDatabase(world.db)
        try:
            return await work(g.AsyncNames_of_allClient(opened, principal="tester", role="all"))
        finally:
            await opened.release()

    found = asyncio.run(over(world))
    again = [shown(answered(world.client, command)) for command in calls()]
    for first, second, command in zip(found, again, calls(), strict=True):
        assert first[0] == second[0]
        if command not in calls()[5:7] and len(first) == 3:
            assert first[1] == second[1] and first[2] | {"replayed": True} == second[2]


async def _awaited(client: Any, command: Any) -> Any:
    try:
        return await client.run(command)
    except TreadleError as error:
        return type(error), error.code, str(error), getattr(error, "commit", None)
