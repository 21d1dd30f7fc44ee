"""What `why` answers of a row, and of a signed run."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from treadle.model.showing import plain_json


class Held(NamedTuple):
    """A row's lease. `holder` is nobody, you or another; `you` is whoever claimed it as the same principal.

    `expired` is true while an owner stands in the row whose time is over: it holds nothing. `seconds` is
    what is left, in the store's time. `owner` and `token` are `•••` unless revealed to an admin, and
    `principal` and `instance` of another for whoever is no admin.
    """

    name: str
    holder: str
    expired: bool
    expires_at: datetime | None
    seconds: float
    owner: Any
    token: Any
    attempts: int | None
    principal: str | None
    instance: str | None
    since: datetime | None


class Expected(NamedTuple):
    """What a command would answer now to a caller whose evidence is right.

    `certain` is false where more than the row decides. `until` is when the answer changes by itself. `needs`
    are the inputs that have to match the row; `remedy` is what would change the answer.
    """

    command: str
    binding: str
    outcome: str
    success: bool
    certain: bool
    until: datetime | None
    needs: tuple[str, ...]
    reason: str
    remedy: str


class Recent(NamedTuple):
    """A command that wrote the row or asked for it. `revision` is the row's afterwards, None if unchanged."""

    commit: int
    time: datetime
    command: str
    outcome: str
    success: bool
    revision: int | None
    you: bool
    principal: str
    instance: str | None


class Reason(NamedTuple):
    """Why the row is as it is, or waits: a stable `code`, a sentence, and when it ends by itself."""

    code: str
    text: str
    until: datetime | None = None


class Why(NamedTuple):
    """The answer for one row, as of commit `commit` and the store's time `now`."""

    entity: str
    key: tuple[Any, ...]
    now: datetime
    commit: int
    exists: bool
    revision: int
    state: str | None
    lease: Held | None
    commands: tuple[Expected, ...]
    reasons: tuple[Reason, ...]
    recent: tuple[Recent, ...]

    def to_json(self) -> dict[str, Any]:
        """The answer as JSON-ready values."""
        shown: dict[str, Any] = plain_json(self._asdict())
        for name in ("commands", "reasons", "recent"):
            shown[name] = [plain_json(one._asdict()) for one in getattr(self, name)]
        shown["lease"] = None if self.lease is None else plain_json(self.lease._asdict())
        return shown


class LegalStep(NamedTuple):
    """A step that may be taken now."""

    step: str
    name: str
    from_state: str
    to_state: str


class Signer(NamedTuple):
    """Who is registered to sign for the run's plan; `iri` is None where any agent may use the name."""

    agent: str
    iri: str | None
    public_key: str
    registration: str


class Signed(NamedTuple):
    """An event of the run, as it is committed."""

    event: str
    step: str
    from_state: str
    to_state: str
    revision: str | None
    at: str
    agent: str


class Refused(NamedTuple):
    """A request that the guard refused: about this run (`about_run`), or in its graph and about no run."""

    commit: int
    time: datetime
    reason: str
    entity: str
    field: str | None
    about_run: bool
    principal: str


class WhyRun(NamedTuple):
    """The answer for one run. `state` and `revision` are None where the run has not exactly one of each.

    `enforced` tells whether the database enforces workflow processing; `finished` whether the state is a
    terminal one. `events` and `refusals` are the newest, newest first.
    """

    run: str
    graph: str | None
    enforced: bool
    plan: str
    state: str | None
    revision: str | None
    finished: bool
    legal: tuple[LegalStep, ...]
    signers: tuple[Signer, ...]
    events: tuple[Signed, ...]
    refusals: tuple[Refused, ...]

    def to_json(self) -> dict[str, Any]:
        """The answer as JSON-ready values."""
        shown: dict[str, Any] = plain_json(self._asdict())
        for name in ("legal", "signers", "events", "refusals"):
            shown[name] = [plain_json(one._asdict()) for one in getattr(self, name)]
        return shown
