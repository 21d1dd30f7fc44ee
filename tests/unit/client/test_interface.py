"""What a client is told of a contract: what its caller may use, the types that lead there, and no more."""

from __future__ import annotations

import msgspec
import pytest

from tests.support.clients import NAMES, interface
from treadle.client.interface import decode, encode
from treadle.riff import compile_contract


def test_without_a_limit_everything_is_there_but_how_it_works() -> None:
    found = interface().contract
    whole = compile_contract(NAMES).contract
    assert whole is not None and found.identity == whole.identity
    assert [one.name for one in found.commands] == [one.name for one in whole.commands]
    assert [(one.key, one.fields) for one in found.entities] == [
        (one.key, one.fields) for one in whole.entities
    ]
    assert not any(one.bindings or one.effects or one.requires or one.loop for one in found.commands)
    assert not any(one.indexes for one in found.entities) and not found.aggregates
    assert all(query.text == "" and not query.statements for query in interface().queries)


def test_types_come_along_where_something_leads_to_them() -> None:
    found = interface(commands=("run",), named=("Counted",), events=())
    assert [one.name for one in found.contract.commands] == ["run"]
    assert [one.name for one in found.queries] == ["Counted"]
    assert not found.contract.entities and not found.contract.enums and not found.contract.events
    found = interface(commands=("ReturnAll",), named=(), events=())
    assert [one.name for one in found.contract.entities] == ["Str"]
    assert {one.name for one in found.contract.enums} == {"class", "Colour"}, "through the entity's fields"
    assert {one.name for one in interface(commands=(), named=(), events=("import",)).contract.enums} == {
        "Colour"
    }


def test_it_is_written_and_read() -> None:
    assert decode(encode(interface())) == interface()
    assert encode(interface()) == encode(interface())
    with pytest.raises(msgspec.MsgspecError):
        decode(b'{"contract": {}}')
