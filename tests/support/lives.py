"""The life of a contract: commands run, every outcome noted, the contract followed by its successors.

A `Life` has one or more databases on one contract (some outcomes need a row or a time of their own). What was
reached is compared with what is declared, and in the end every receipt is asked for again.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import pytest

import treadle
from treadle.access.caller import Caller
from treadle.engine.reimport import Chunk, ReimportJob
from treadle.errors import TerminalFailure
from treadle.model import contract as c
from treadle.ports.clock import Ids
from treadle.riff import compile_contract
from treadle.testing import ManualClock

START = datetime(2031, 6, 2, 8, tzinfo=UTC)
LAST_SECOND = datetime(9999, 12, 31, 23, 59, 58, tzinfo=UTC)

FOLDER = Path(__file__).parents[1] / "acceptance/contracts"


class Rest(NamedTuple):
    """In place of new text: what is removed goes on to the next `end`."""

    end: str


Edit = tuple[str, str | Rest]
Outcomes = set[tuple[str, str]]


class Place:
    """One database of a life."""

    def __init__(self, life: Life, url: str, time: datetime) -> None:
        self.life = life
        self.clock = ManualClock(time)
        self.db = treadle.open(url, clock=self.clock)
        self.db.deploy(life.source)
        self.answers: list[tuple[str, dict[str, Any], str, Mapping[str, Any] | None, treadle.Receipt]] = []
        life.places.append(self)

    def run(
        self,
        command: str,
        expect: str,
        *,
        by: Any = "tests",
        facts: Any = None,
        key: Any = None,
        **given: Any,
    ) -> treadle.Receipt:
        """Run a command with a fresh key (or `key`); the outcome `expect` must come, and is noted."""
        name = self.life.command(command).idempotency_key
        number = next(self.life.keys)
        fresh = UUID(int=number) if self.life.uuid_keys else f"key-{number}"
        keyed = {} if name is None else {name: key or fresh}
        body = {**keyed, **self.life.always, **given}
        body = {field: value for field, value in body.items() if field in self.life.inputs(command)}
        unknown = set(given) - set(body)
        assert not unknown, f"{command} has no input {unknown}"
        receipt = self.db.acting_as(by, facts=facts).run(command, body)
        assert receipt.outcome == expect, (receipt, receipt.fields)
        self.life.reached.add((command, receipt.outcome))
        if name is not None:
            self.answers.append((command, body, by, facts, receipt))
        return receipt

    def fails(self, command: str, code: str, constraint: Any = None, **given: Any) -> None:
        """Run a command that must end in a terminal failure."""
        with pytest.raises(TerminalFailure) as caught:
            self.run(command, "", **given)
        assert (caught.value.code, caught.value.constraint) == (code, constraint)

    def denied(self, command: str, **given: Any) -> None:
        """Run a command that a row policy denies."""
        with pytest.raises(treadle.Denied):
            self.run(command, "", **given)

    def same_ids(self, value: bytes) -> None:
        """From here on every uuid_v7 is this one: what would otherwise never meet a row that is there."""
        self.db._engine.ids = _SameIds(self.db._engine.ids, value)

    def row(self, entity: str, *key: Any) -> dict[str, Any] | None:
        """A row's fields, with its revision."""
        found = self.db.row(entity, key)
        return None if found is None else found.fields | {"revision": found.revision}

    @property
    def clock_time(self) -> datetime:
        """The time now."""
        return datetime.fromtimestamp(self.clock.now() / 1_000_000, UTC)

    def later(self, **passed: float) -> None:
        self.clock.advance(timedelta(**passed))

    def restore(self, command: str, expect: str, *records: tuple[Any, ...], revision: int = 1) -> None:
        """Run a reimport command as the operator's import does, with rows as cells."""
        contract = self.db._engine.refresh().require().identity_bytes
        revisions = [revision] * len(records)
        chunk = Chunk(command, "test", b"f" * 32, next(self.life.keys), records, revisions, contract)
        done = self.db._one(ReimportJob(Caller("owner"), chunk, 1024), None)
        assert done.outcome == expect, done
        self.life.reached.add((command, done.outcome))

    def check(self) -> None:
        """Every receipt replays as it was given, and the history agrees."""
        for command, body, by, facts, receipt in self.answers:
            known = {field: value for field, value in (facts or {}).items() if field in self.life.facts}
            again = self.db.acting_as(by, facts=known or None).run(command, body)
            assert again == receipt and again.replayed, command
        report = self.db.verify()
        assert report.ok, report.problems


class _SameIds:
    def __init__(self, ids: Ids, value: bytes) -> None:
        self._ids = ids
        self._value = value

    def uuid7(self, now: int) -> bytes:
        return self._value

    def token(self, size: int) -> bytes:
        return self._ids.token(size)


class Life:
    """The life of contract `name`, or of `source`. `always` are inputs of every command that has them."""

    def __init__(self, url: str, name: str, source: str | None = None, **always: Any) -> None:
        self.source = text_of(name) if source is None else source
        self.versions = versions_of(name)
        self.always = always
        self.keys = count(1)
        self.uuid_keys = False
        self.reached: Outcomes = set()
        self.places: list[Place] = []
        self.contract = compiled(self.source)
        self.kept = self.source, self.contract
        self.place = Place(self, url, START)
        self.run, self.fails, self.row = self.place.run, self.place.fails, self.place.row

    def another(self, time: datetime = START) -> Place:
        """Another database on the same contract, in memory."""
        return Place(self, ":memory:", time)

    def command(self, name: str) -> c.Command:
        return next(command for command in self.contract.commands if command.name == name)

    def inputs(self, name: str) -> set[str]:
        return {field.name for field in self.command(name).inputs}

    @property
    def facts(self) -> set[str]:
        return {fact.name for fact in self.contract.principal_facts}

    def declared(self) -> Outcomes:
        """Every outcome of every command, reimport commands too."""
        commands: tuple[c.Command | c.Reimport, ...] = (*self.contract.commands, *self.contract.reimports)
        return {(command.name, outcome.name) for command in commands for outcome in command.outcomes}

    def check_reached(self) -> None:
        """What was reached is what is declared, no more and no less."""
        declared = self.declared()
        assert declared - self.reached == set(), "declared, and never reached"
        assert self.reached - declared == set(), "reached, and not declared any more"

    def follow(self, *, migration: str | None = None) -> None:
        """Deploy the next version that the contract's list of versions has, in every database.

        `migration` stands for the one in the list.
        """
        before = self.contract.version
        version = next(one for one in self.versions if one["number"] == before + 1)
        self.kept = self.source, self.contract
        text = self._next(*map(edit_of, version["edit"]))
        self.source, self.contract = text, compiled(text)
        given = version.get("migration") if migration is None else migration
        words = None if given is None else f"migrate {before} to {before + 1} {{ {given} }}"
        for place in self.places:
            assert place.db.deploy(text, migration=words) == before + 1

    def back(self) -> None:
        """The version before, after the last could not follow: its migration is given up."""
        assert self.place.db.abandon_migration() == self.contract.version
        self.source, self.contract = self.kept

    def _next(self, *edits: Edit) -> str:
        version = self.contract.version
        text = self.source.replace(f"version {version} {{", f"version {version + 1} {{", 1)
        for old, new in edits:
            if isinstance(new, Rest):
                old, new = text[text.index(old) : text.index(new.end, text.index(old)) + len(new.end)], ""
            assert old in text, old
            text = text.replace(old, new)
        return text

    def refuses(self, *edits: Edit, says: str) -> None:
        """A successor that cannot follow, and what the refusal says."""
        text = self._next(*edits)
        compiled(text)
        with pytest.raises(treadle.ContractError, match=says) as caught:
            self.place.db.deploy(text)
        assert caught.value.code == "contract_incompatible"

    def check(self) -> None:
        for place in self.places:
            place.check()

    def close(self) -> None:
        for place in self.places:
            place.db.close()


def compiled(source: str) -> c.Contract:
    found = compile_contract(source)
    assert found.contract is not None, found.render()
    return found.contract


def text_of(name: str) -> str:
    """The contract `name` beside the tests of contracts."""
    return (FOLDER / f"{name}.riff").read_text(encoding="utf-8")


def versions_of(name: str) -> list[dict[str, Any]]:
    """The versions after the first of contract `name`: edits and migrations."""
    found: list[dict[str, Any]] = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))[
        "version"
    ]
    return found


def edit_of(entry: dict[str, str]) -> Edit:
    return (entry["from"], Rest(entry["to"])) if "from" in entry else (entry["old"], entry["new"])
