"""The calls of a remote client, from what the caller gives to what it gets, as steps of an exchange."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlencode

import msgspec

from treadle.client.batches import Batch, Command, Progress
from treadle.client.exchange import Attempts, Policy, Steps, read, write
from treadle.client.interface import Interface
from treadle.client.wire import Face, encoded, entry
from treadle.engine.receipt import Receipt
from treadle.errors import ContractMismatch, InvalidInput, Malformed, RequestError, TreadleError
from treadle.history import Entry
from treadle.queries.page import Page
from treadle.registry import load

if TYPE_CHECKING:
    from treadle.why import Why, WhyRun


class Reliance(NamedTuple):
    """What a request relies on, None for nothing: the history incarnation, the identity of the contract that
    the caller was made for, and of the query."""

    history: str | None = None
    contract: str | None = None
    query: str | None = None


class Ask(NamedTuple):
    """A call of a named query, as the caller makes it."""

    name: str
    parameters: Any = None
    after: str | None = None
    at_least: int | None = None


class Records(NamedTuple):
    """A page of the log, and the number to go on from."""

    entries: list[Entry]
    next: int | None


class Calls:
    """What a remote client can do. It keeps the interface of the contract that it was last told of."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._face: Face | None = None

    def _attempts(self, seconds: float | None) -> Attempts:
        return Attempts(self.policy, seconds)

    # The contract.

    def contract(self) -> Steps[dict[str, Any]]:
        """Name, version, identity, history, and what the caller may use."""
        document = yield from read(self._attempts(None), "GET", "v1/contract")
        if not isinstance(document, dict):
            raise Malformed("the server's answer is no description of a contract")
        return document

    def interface(self) -> Steps[Interface]:
        """What the caller may use, asked for anew."""
        return (yield from self._refreshed(self._attempts(None))).interface

    def face(self, attempts: Attempts, contract: str | None, knows: Callable[[Face], bool]) -> Steps[Face]:
        """The interface of the deployed contract.

        It is asked for once, and again where the caller was made for another contract, or where it does not
        know what the caller wants.
        """
        found = self._face
        if found is not None and contract in (None, found.identity) and knows(found):
            return found
        return (yield from self._refreshed(attempts))

    def _refreshed(self, attempts: Attempts) -> Steps[Face]:
        path = "v1/contract/interface"
        document = yield from read(self._attempts(attempts.deadline.left()), "GET", path)
        try:
            found = self._face = Face(msgspec.convert(document, Interface))
        except msgspec.ValidationError as error:
            raise ContractMismatch(
                "the server describes its contract in a way that this release cannot read"
            ) from error
        return found

    # Commands.

    def run(self, command: str, given: Any, timeout: float | None, on: Reliance) -> Steps[Receipt]:
        """Run one command."""
        attempts = self._attempts(timeout)
        face = yield from self.face(attempts, on.contract, lambda face: command in face.commands)
        while True:
            try:
                line = face.line(command, given, history=on.history, contract=on.contract)
            except RequestError as error:  # it may be that only the contract that is known does not know it
                face = yield from self._newer(attempts, face, on, error)
                continue
            body, path = encoded(line.body), f"v1/commands/{quote(command, safe='')}"
            try:
                document = yield from write(attempts, path, body, keyed=line.keyed)
            except ContractMismatch as error:
                face = yield from self._newer(attempts, face, on, error)
            else:
                return face.receipt(command, document)

    def _newer(self, attempts: Attempts, face: Face, on: Reliance, error: RequestError) -> Steps[Face]:
        """The interface of a contract that was deployed since; raises `error` where none was."""
        if on.contract is None:
            found = yield from self._refreshed(attempts)
            if found.interface != face.interface:
                return found
        raise error

    def run_many(
        self,
        commands: Sequence[Command],
        timeout: float | None,
        on: Reliance,
        progress: Progress | None,
    ) -> Steps[list[Receipt | TreadleError]]:
        """Run many commands; for each, in order, its receipt or its error."""
        names = {command for command, _ in commands}
        whole = self._attempts(timeout)
        try:
            face = yield from self.face(whole, on.contract, lambda face: names <= face.commands.keys())
        except TreadleError as error:
            return [error] * len(commands)
        batch = Batch(commands, face, progress)
        limit = None if timeout is None else whole.deadline
        if not batch.write(history=on.history, contract=on.contract) and on.contract is None:
            yield from self._rewritten(batch, whole, on)
        yield from batch.send(self.policy, limit)
        if batch.mismatched and on.contract is None and (yield from self._rewritten(batch, whole, on)):
            yield from batch.send(self.policy, limit)
        return batch.answers

    def _rewritten(self, batch: Batch, attempts: Attempts, on: Reliance) -> Steps[bool]:
        """Write a batch again for the contract that is deployed now; false where that is the same one."""
        before = batch.face.interface
        try:
            batch.face = yield from self._refreshed(attempts)
        except TreadleError:
            return False  # each command has its own error already
        if batch.face.interface == before:
            return False
        batch.write(history=on.history, contract=None)
        return True

    # Reads.

    def query(self, ask: Ask, timeout: float | None, on: Reliance) -> Steps[Page]:
        """A page of a named query."""
        attempts = self._attempts(timeout)
        face = yield from self.face(attempts, on.contract, lambda face: ask.name in face.queries)
        while True:
            query = face.queries.get(ask.name)
            body: dict[str, Any] = {"after": ask.after, "at_least": ask.at_least, "history": on.history}
            body["contract"] = face.identity if on.contract is None else on.contract
            path = f"v1/queries/{quote(ask.name, safe='')}"
            try:
                if query is not None:
                    body["parameters"] = face.parameters(query, ask.parameters, on.contract)
                    body["query"] = query.identity if on.query is None else on.query
                document = yield from read(attempts, "POST", path, encoded(body))
                if query is not None:
                    return face.page(query, document)
                raise ContractMismatch("the query was deployed a moment ago; ask again")
            except (ContractMismatch, InvalidInput) as error:
                face = yield from self._newer(attempts, face, on, error)

    def why(self, entity: str, key: Sequence[Any], words: Sequence[str], unmasked: bool) -> Steps[Why]:
        """What stands in a row's way."""
        attempts, reasons = self._attempts(None), load("client.reasons")
        face = yield from self.face(attempts, None, lambda face: True)
        document = yield from read(attempts, "GET", reasons.row_path(entity, words, unmasked=unmasked))
        found: Why = reasons.why_of(document, face, entity, key)
        return found

    def why_run(self, run: str, graph: str | None) -> Steps[WhyRun]:
        """Where a signed run stands."""
        reasons = load("client.reasons")
        document = yield from read(self._attempts(None), "GET", reasons.run_path(run, graph))
        found: WhyRun = reasons.run_of(document)
        return found

    def log(self, first: int, last: int | None, of: tuple[str, Sequence[str]] | None) -> Steps[Records]:
        """A page of the log."""
        asked: list[tuple[str, str]] = [("from", str(first))]
        if last is not None:
            asked.append(("to", str(last)))
        if of is not None:
            asked += [("of", of[0]), *(("key", word) for word in of[1])]
        document = yield from read(self._attempts(None), "GET", f"v1/log?{urlencode(asked)}")
        if not isinstance(document, dict) or not isinstance(document.get("records"), list):
            raise Malformed("the server's answer is no page of the log")
        return Records([entry(one) for one in document["records"]], document.get("next"))
