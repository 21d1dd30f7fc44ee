"""A typed client of contract Queue, version 1.

Written by `treadle generate python`; do not edit, generate it again.

Commands are values: `QueueClient(…).run(…)` runs one and returns one of its outcomes, to be told apart
by `match`; `typing.assert_never` at its end shows a type checker that none was forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass as _dataclass
from enum import StrEnum as _StrEnum
from typing import TypeAlias as _TypeAlias

from treadle.client import typed as _t

CONTRACT = "04344ef7dd727b9e9ef7f4a25913a243e3e6424cebac7d33b619791c26b32122"
"""The identity of the contract. Where another one is deployed, calls are refused as `contract_mismatch`."""


class JobState(_StrEnum):
    """Enum JobState."""

    Waiting = "Waiting"
    Printed = "Printed"


@_dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A row of entity Job; its key is (shop, number)."""

    shop: str  # string<40>
    number: int  # u64
    title: str  # string<120>
    state: JobState
    printer: _t.UUID | None = None  # optional<uuid>
    held_until: _t.datetime | None = None  # optional<timestamp>
    token: int  # u64
    attempts: int  # u64


@_dataclass(frozen=True, slots=True, kw_only=True)
class AddJob:
    """Command AddJob. The same `key` again gives the same answer and runs nothing."""

    key: str  # string<128>
    shop: str  # string<40>
    number: int  # u64
    title: str  # string<120>

    @_dataclass(frozen=True, slots=True, kw_only=True)
    class JobExists:
        """A failure: nothing was written."""

        receipt: _t.Receipt

    @_dataclass(frozen=True, slots=True, kw_only=True)
    class Added:
        """The success."""

        job: Job
        receipt: _t.Receipt

    def __treadle_call__(self) -> _t.Call:
        return _t.Call(
            "AddJob",
            {
                "key": self.key,
                "shop": self.shop,
                "number": self.number,
                "title": self.title,
            },
        )

    def __treadle_read__(self, receipt: _t.Receipt) -> AddJobOutcome:
        fields = receipt.fields
        match receipt.outcome:
            case "JobExists":
                return AddJob.JobExists(receipt=receipt)
            case "Added":
                return AddJob.Added(
                    job=_read_Job(fields["job"]),
                    receipt=receipt,
                )
            case _:
                raise _t.unknown(receipt)


AddJobOutcome: _TypeAlias = AddJob.JobExists | AddJob.Added


@_dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Command Claim. The same `key` again gives the same answer and runs nothing."""

    key: str  # string<128>
    shop: str  # string<40>
    number: int  # u64
    printer: _t.UUID  # uuid
    seconds: int  # u64
    expected_revision: int  # u64

    @_dataclass(frozen=True, slots=True, kw_only=True)
    class JobMissing:
        """A failure: nothing was written."""

        receipt: _t.Receipt

    @_dataclass(frozen=True, slots=True, kw_only=True)
    class AlreadyPrinted:
        """A failure: nothing was written."""

        receipt: _t.Receipt

    @_dataclass(frozen=True, slots=True, kw_only=True)
    class Stale:
        """A failure: nothing was written."""

        receipt: _t.Receipt

    @_dataclass(frozen=True, slots=True, kw_only=True)
    class Taken:
        """A failure: nothing was written."""

        receipt: _t.Receipt

    @_dataclass(frozen=True, slots=True, kw_only=True)
    class BadDuration:
        """A failure: nothing was written."""

        receipt: _t.Receipt

    @_dataclass(frozen=True, slots=True, kw_only=True)
    class Exhausted:
        """A failure: nothing was written."""

        receipt: _t.Receipt

    @_dataclass(frozen=True, slots=True, kw_only=True)
    class Claimed:
        """The success."""

        job: Job
        receipt: _t.Receipt

    def __treadle_call__(self) -> _t.Call:
        return _t.Call(
            "Claim",
            {
                "key": self.key,
                "shop": self.shop,
                "number": self.number,
                "printer": self.printer,
                "seconds": self.seconds,
                "expected_revision": self.expected_revision,
            },
        )

    def __treadle_read__(self, receipt: _t.Receipt) -> ClaimOutcome:
        fields = receipt.fields
        match receipt.outcome:
            case "JobMissing":
                return Claim.JobMissing(receipt=receipt)
            case "AlreadyPrinted":
                return Claim.AlreadyPrinted(receipt=receipt)
            case "Stale":
                return Claim.Stale(receipt=receipt)
            case "Taken":
                return Claim.Taken(receipt=receipt)
            case "BadDuration":
                return Claim.BadDuration(receipt=receipt)
            case "Exhausted":
                return Claim.Exhausted(receipt=receipt)
            case "Claimed":
                return Claim.Claimed(
                    job=_read_Job(fields["job"]),
                    receipt=receipt,
                )
            case _:
                raise _t.unknown(receipt)


ClaimOutcome: _TypeAlias = (
    Claim.JobMissing
    | Claim.AlreadyPrinted
    | Claim.Stale
    | Claim.Taken
    | Claim.BadDuration
    | Claim.Exhausted
    | Claim.Claimed
)


@_dataclass(frozen=True, slots=True, kw_only=True)
class Renew:
    """Command Renew. The same `key` again gives the same answer and runs nothing."""

    key: str  # string<128>
    shop: str  # string<40>
    number: int  # u64
    printer: _t.UUID  # uuid
    token: int  # u64
    seconds: int  # u64
    expected_revision: int  # u64

    @_dataclass(frozen=True, slots=True, kw_only=True)
    class JobMissing:
        """A failure: nothing was written."""

        receipt: _t.Receipt

    @_dataclass(frozen=True, slots=True, kw_only=True)
    class Stale:
        """A failure: nothing was written."""

        receipt: _t.Receipt

    @_dataclass(frozen=True, slots=True, kw_only=True)
    class NotHolder:
        """A failure: nothing was written."""

        receipt: _t.Receipt

    @_dataclass(frozen=True, slots=True, kw_only=True)
    class Lapsed:
        """A failure: nothing was written."""

        receipt: _t.Receipt

    @_dataclass(frozen=True, slots=True, kw_only=True)
    class Exhausted:
        """A failure: nothing was written."""

        receipt: _t.Receipt

    @_dataclass(frozen=True, slots=True, kw_only=True)
    class Renewed:
        """The success."""

        job: Job
        receipt: _t.Receipt

    def __treadle_call__(self) -> _t.Call:
        return _t.Call(
            "Renew",
            {
                "key": self.key,
                "shop": self.shop,
                "number": self.number,
                "printer": self.printer,
                "token": self.token,
                "seconds": self.seconds,
                "expected_revision": self.expected_revision,
            },
        )

    def __treadle_read__(self, receipt: _t.Receipt) -> RenewOutcome:
        fields = receipt.fields
        match receipt.outcome:
            case "JobMissing":
                return Renew.JobMissing(receipt=receipt)
            case "Stale":
                return Renew.Stale(receipt=receipt)
            case "NotHolder":
                return Renew.NotHolder(receipt=receipt)
            case "Lapsed":
                return Renew.Lapsed(receipt=receipt)
            case "Exhausted":
                return Renew.Exhausted(receipt=receipt)
            case "Renewed":
                return Renew.Renewed(
                    job=_read_Job(fields["job"]),
                    receipt=receipt,
                )
            case _:
                raise _t.unknown(receipt)


RenewOutcome: _TypeAlias = (
    Renew.JobMissing | Renew.Stale | Renew.NotHolder | Renew.Lapsed | Renew.Exhausted | Renew.Renewed
)


@_dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Command Release. The same `key` again gives the same answer and runs nothing."""

    key: str  # string<128>
    shop: str  # string<40>
    number: int  # u64
    printer: _t.UUID  # uuid
    token: int  # u64
    expected_revision: int  # u64

    @_dataclass(frozen=True, slots=True, kw_only=True)
    class JobMissing:
        """A failure: nothing was written."""

        receipt: _t.Receipt

    @_dataclass(frozen=True, slots=True, kw_only=True)
    class Stale:
        """A failure: nothing was written."""

        receipt: _t.Receipt

    @_dataclass(frozen=True, slots=True, kw_only=True)
    class NotHolder:
        """A failure: nothing was written."""

        receipt: _t.Receipt

    @_dataclass(frozen=True, slots=True, kw_only=True)
    class Released:
        """The success."""

        job: Job
        receipt: _t.Receipt

    def __treadle_call__(self) -> _t.Call:
        return _t.Call(
            "Release",
            {
                "key": self.key,
                "shop": self.shop,
                "number": self.number,
                "printer": self.printer,
                "token": self.token,
                "expected_revision": self.expected_revision,
            },
        )

    def __treadle_read__(self, receipt: _t.Receipt) -> ReleaseOutcome:
        fields = receipt.fields
        match receipt.outcome:
            case "JobMissing":
                return Release.JobMissing(receipt=receipt)
            case "Stale":
                return Release.Stale(receipt=receipt)
            case "NotHolder":
                return Release.NotHolder(receipt=receipt)
            case "Released":
                return Release.Released(
                    job=_read_Job(fields["job"]),
                    receipt=receipt,
                )
            case _:
                raise _t.unknown(receipt)


ReleaseOutcome: _TypeAlias = Release.JobMissing | Release.Stale | Release.NotHolder | Release.Released


@_dataclass(frozen=True, slots=True, kw_only=True)
class Expire:
    """Command Expire. The same `key` again gives the same answer and runs nothing."""

    key: str  # string<128>
    shop: str  # string<40>
    number: int  # u64
    expected_revision: int  # u64

    @_dataclass(frozen=True, slots=True, kw_only=True)
    class JobMissing:
        """A failure: nothing was written."""

        receipt: _t.Receipt

    @_dataclass(frozen=True, slots=True, kw_only=True)
    class Stale:
        """A failure: nothing was written."""

        receipt: _t.Receipt

    @_dataclass(frozen=True, slots=True, kw_only=True)
    class StillHeld:
        """A failure: nothing was written."""

        receipt: _t.Receipt

    @_dataclass(frozen=True, slots=True, kw_only=True)
    class Expired:
        """The success."""

        job: Job
        receipt: _t.Receipt

    def __treadle_call__(self) -> _t.Call:
        return _t.Call(
            "Expire",
            {
                "key": self.key,
                "shop": self.shop,
                "number": self.number,
                "expected_revision": self.expected_revision,
            },
        )

    def __treadle_read__(self, receipt: _t.Receipt) -> ExpireOutcome:
        fields = receipt.fields
        match receipt.outcome:
            case "JobMissing":
                return Expire.JobMissing(receipt=receipt)
            case "Stale":
                return Expire.Stale(receipt=receipt)
            case "StillHeld":
                return Expire.StillHeld(receipt=receipt)
            case "Expired":
                return Expire.Expired(
                    job=_read_Job(fields["job"]),
                    receipt=receipt,
                )
            case _:
                raise _t.unknown(receipt)


ExpireOutcome: _TypeAlias = Expire.JobMissing | Expire.Stale | Expire.StillHeld | Expire.Expired


@_dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """Command Finish. The same `key` again gives the same answer and runs nothing."""

    key: str  # string<128>
    shop: str  # string<40>
    number: int  # u64
    printer: _t.UUID  # uuid
    token: int  # u64
    expected_revision: int  # u64

    @_dataclass(frozen=True, slots=True, kw_only=True)
    class JobMissing:
        """A failure: nothing was written."""

        receipt: _t.Receipt

    @_dataclass(frozen=True, slots=True, kw_only=True)
    class Stale:
        """A failure: nothing was written."""

        receipt: _t.Receipt

    @_dataclass(frozen=True, slots=True, kw_only=True)
    class NotHolder:
        """A failure: nothing was written."""

        receipt: _t.Receipt

    @_dataclass(frozen=True, slots=True, kw_only=True)
    class Lapsed:
        """A failure: nothing was written."""

        receipt: _t.Receipt

    @_dataclass(frozen=True, slots=True, kw_only=True)
    class AlreadyPrinted:
        """A failure: nothing was written."""

        receipt: _t.Receipt

    @_dataclass(frozen=True, slots=True, kw_only=True)
    class Finished:
        """The success."""

        job: Job
        receipt: _t.Receipt

    def __treadle_call__(self) -> _t.Call:
        return _t.Call(
            "Finish",
            {
                "key": self.key,
                "shop": self.shop,
                "number": self.number,
                "printer": self.printer,
                "token": self.token,
                "expected_revision": self.expected_revision,
            },
        )

    def __treadle_read__(self, receipt: _t.Receipt) -> FinishOutcome:
        fields = receipt.fields
        match receipt.outcome:
            case "JobMissing":
                return Finish.JobMissing(receipt=receipt)
            case "Stale":
                return Finish.Stale(receipt=receipt)
            case "NotHolder":
                return Finish.NotHolder(receipt=receipt)
            case "Lapsed":
                return Finish.Lapsed(receipt=receipt)
            case "AlreadyPrinted":
                return Finish.AlreadyPrinted(receipt=receipt)
            case "Finished":
                return Finish.Finished(
                    job=_read_Job(fields["job"]),
                    receipt=receipt,
                )
            case _:
                raise _t.unknown(receipt)


FinishOutcome: _TypeAlias = (
    Finish.JobMissing
    | Finish.Stale
    | Finish.NotHolder
    | Finish.Lapsed
    | Finish.AlreadyPrinted
    | Finish.Finished
)


@_dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Query Waiting."""

    shop: str  # string<40>

    @_dataclass(frozen=True, slots=True, kw_only=True)
    class JobsRow:
        """A record of `jobs`."""

        number: int  # u64
        title: str  # string<120>
        revision: int  # u64

    @_dataclass(frozen=True, slots=True, kw_only=True)
    class Found:
        """The answer."""

        jobs: tuple[Waiting.JobsRow, ...]
        page: _t.Page

    def __treadle_call__(self) -> _t.Asked:
        return _t.Asked(
            "Waiting",
            "1a861cb265de6999bae4f21d4cfe556609eb672775d349a07c7568ffc26a3c86",
            {
                "shop": self.shop,
            },
        )

    def __treadle_read__(self, page: _t.Page) -> WaitingOutcome:
        fields = page.fields
        match page.outcome:
            case "Found":
                return Waiting.Found(
                    jobs=tuple(map(_read_Waiting_JobsRow, fields["jobs"])),
                    page=page,
                )
            case _:
                raise _t.unknown(page)


WaitingOutcome: _TypeAlias = Waiting.Found


def _read_Waiting_JobsRow(row: _t.Fields) -> Waiting.JobsRow:
    return Waiting.JobsRow(
        number=row["number"],
        title=row["title"],
        revision=row["revision"],
    )


def _read_Job(row: _t.Fields) -> Job:
    return Job(
        shop=row["shop"],
        number=row["number"],
        title=row["title"],
        state=JobState(row["state"]),
        printer=row.get("printer"),
        held_until=row.get("held_until"),
        token=row["token"],
        attempts=row["attempts"],
    )


class QueueClient(_t.Client):
    """Contract Queue over `db.acting_as(…)` or `treadle.connect(…)`."""

    CONTRACT = CONTRACT

    def add_job(
        self,
        *,
        key: str,
        shop: str,
        number: int,
        title: str,
        timeout: float | None = None,
    ) -> AddJobOutcome:
        """Run AddJob; returns Added, JobExists."""
        return self.run(
            AddJob(
                key=key,
                shop=shop,
                number=number,
                title=title,
            ),
            timeout=timeout,
        )

    def claim(
        self,
        *,
        key: str,
        shop: str,
        number: int,
        printer: _t.UUID,
        seconds: int,
        expected_revision: int,
        timeout: float | None = None,
    ) -> ClaimOutcome:
        """Run Claim; returns Claimed, Exhausted, BadDuration, Taken, Stale, AlreadyPrinted, JobMissing."""
        return self.run(
            Claim(
                key=key,
                shop=shop,
                number=number,
                printer=printer,
                seconds=seconds,
                expected_revision=expected_revision,
            ),
            timeout=timeout,
        )

    def renew(
        self,
        *,
        key: str,
        shop: str,
        number: int,
        printer: _t.UUID,
        token: int,
        seconds: int,
        expected_revision: int,
        timeout: float | None = None,
    ) -> RenewOutcome:
        """Run Renew; returns Renewed, Exhausted, Lapsed, NotHolder, Stale, JobMissing."""
        return self.run(
            Renew(
                key=key,
                shop=shop,
                number=number,
                printer=printer,
                token=token,
                seconds=seconds,
                expected_revision=expected_revision,
            ),
            timeout=timeout,
        )

    def release(
        self,
        *,
        key: str,
        shop: str,
        number: int,
        printer: _t.UUID,
        token: int,
        expected_revision: int,
        timeout: float | None = None,
    ) -> ReleaseOutcome:
        """Run Release; returns Released, NotHolder, Stale, JobMissing."""
        return self.run(
            Release(
                key=key,
                shop=shop,
                number=number,
                printer=printer,
                token=token,
                expected_revision=expected_revision,
            ),
            timeout=timeout,
        )

    def expire(
        self,
        *,
        key: str,
        shop: str,
        number: int,
        expected_revision: int,
        timeout: float | None = None,
    ) -> ExpireOutcome:
        """Run Expire; returns Expired, StillHeld, Stale, JobMissing."""
        return self.run(
            Expire(
                key=key,
                shop=shop,
                number=number,
                expected_revision=expected_revision,
            ),
            timeout=timeout,
        )

    def finish(
        self,
        *,
        key: str,
        shop: str,
        number: int,
        printer: _t.UUID,
        token: int,
        expected_revision: int,
        timeout: float | None = None,
    ) -> FinishOutcome:
        """Run Finish; returns Finished, AlreadyPrinted, Lapsed, NotHolder, Stale, JobMissing."""
        return self.run(
            Finish(
                key=key,
                shop=shop,
                number=number,
                printer=printer,
                token=token,
                expected_revision=expected_revision,
            ),
            timeout=timeout,
        )

    def waiting(
        self,
        *,
        shop: str,
        after: str | None = None,
        at_least: int | None = None,
        timeout: float | None = None,
    ) -> WaitingOutcome:
        """Ask Waiting; returns Found."""
        return self.query(
            Waiting(
                shop=shop,
            ),
            after=after,
            at_least=at_least,
            timeout=timeout,
        )

    def waiting_pages(
        self,
        *,
        shop: str,
        at_least: int | None = None,
    ) -> _t.Iterator[WaitingOutcome]:
        """The pages of Waiting, one after another."""
        return self.pages(
            Waiting(
                shop=shop,
            ),
            at_least=at_least,
        )


class AsyncQueueClient(_t.AsyncClient):
    """Contract Queue over `treadle.open_async(…)` or `treadle.connect_async(…)`."""

    CONTRACT = CONTRACT

    async def add_job(
        self,
        *,
        key: str,
        shop: str,
        number: int,
        title: str,
        timeout: float | None = None,
    ) -> AddJobOutcome:
        """Run AddJob; returns Added, JobExists."""
        return await self.run(
            AddJob(
                key=key,
                shop=shop,
                number=number,
                title=title,
            ),
            timeout=timeout,
        )

    async def claim(
        self,
        *,
        key: str,
        shop: str,
        number: int,
        printer: _t.UUID,
        seconds: int,
        expected_revision: int,
        timeout: float | None = None,
    ) -> ClaimOutcome:
        """Run Claim; returns Claimed, Exhausted, BadDuration, Taken, Stale, AlreadyPrinted, JobMissing."""
        return await self.run(
            Claim(
                key=key,
                shop=shop,
                number=number,
                printer=printer,
                seconds=seconds,
                expected_revision=expected_revision,
            ),
            timeout=timeout,
        )

    async def renew(
        self,
        *,
        key: str,
        shop: str,
        number: int,
        printer: _t.UUID,
        token: int,
        seconds: int,
        expected_revision: int,
        timeout: float | None = None,
    ) -> RenewOutcome:
        """Run Renew; returns Renewed, Exhausted, Lapsed, NotHolder, Stale, JobMissing."""
        return await self.run(
            Renew(
                key=key,
                shop=shop,
                number=number,
                printer=printer,
                token=token,
                seconds=seconds,
                expected_revision=expected_revision,
            ),
            timeout=timeout,
        )

    async def release(
        self,
        *,
        key: str,
        shop: str,
        number: int,
        printer: _t.UUID,
        token: int,
        expected_revision: int,
        timeout: float | None = None,
    ) -> ReleaseOutcome:
        """Run Release; returns Released, NotHolder, Stale, JobMissing."""
        return await self.run(
            Release(
                key=key,
                shop=shop,
                number=number,
                printer=printer,
                token=token,
                expected_revision=expected_revision,
            ),
            timeout=timeout,
        )

    async def expire(
        self,
        *,
        key: str,
        shop: str,
        number: int,
        expected_revision: int,
        timeout: float | None = None,
    ) -> ExpireOutcome:
        """Run Expire; returns Expired, StillHeld, Stale, JobMissing."""
        return await self.run(
            Expire(
                key=key,
                shop=shop,
                number=number,
                expected_revision=expected_revision,
            ),
            timeout=timeout,
        )

    async def finish(
        self,
        *,
        key: str,
        shop: str,
        number: int,
        printer: _t.UUID,
        token: int,
        expected_revision: int,
        timeout: float | None = None,
    ) -> FinishOutcome:
        """Run Finish; returns Finished, AlreadyPrinted, Lapsed, NotHolder, Stale, JobMissing."""
        return await self.run(
            Finish(
                key=key,
                shop=shop,
                number=number,
                printer=printer,
                token=token,
                expected_revision=expected_revision,
            ),
            timeout=timeout,
        )

    async def waiting(
        self,
        *,
        shop: str,
        after: str | None = None,
        at_least: int | None = None,
        timeout: float | None = None,
    ) -> WaitingOutcome:
        """Ask Waiting; returns Found."""
        return await self.query(
            Waiting(
                shop=shop,
            ),
            after=after,
            at_least=at_least,
            timeout=timeout,
        )

    def waiting_pages(
        self,
        *,
        shop: str,
        at_least: int | None = None,
    ) -> _t.AsyncIterator[WaitingOutcome]:
        """The pages of Waiting, one after another."""
        return self.pages(
            Waiting(
                shop=shop,
            ),
            at_least=at_least,
        )
