"""What each command on a job answers and leaves. Written here a second time: no code is the engine's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID


class Job(NamedTuple):
    """A job that is there."""

    revision: int
    state: str = "Waiting"
    owner: UUID | None = None
    until: Any = None
    fence: int = 0


class Slot(NamedTuple):
    """The place of a job: what is there, and the last revision that anything here had."""

    job: Job | None = None
    last: int = 0


class Verdict(NamedTuple):
    """What a command answers, and what it leaves if it succeeds."""

    outcome: str
    after: Slot | None = None


SUCCESS: Final = {
    "Create": "Created",
    "Claim": "Claimed",
    "Renew": "Renewed",
    "Release": "Released",
    "Expire": "Cleared",
    "Start": "Started",
    "Finish": "Ended",
    "Remove": "Removed",
}


def decide(slot: Slot, command: str, body: Mapping[str, Any], now: datetime) -> Verdict:
    """What the rules say of a command at a time."""
    job = slot.job
    if command == "Create":
        return Verdict("Exists") if job else _leaves(command, Job(slot.last + 1))
    if job is None:
        return Verdict("Missing")
    if body["seen"] != job.revision:
        return Verdict("Stale")
    refused, changed = _DECIDE[command](job, body, now)
    if refused:
        return Verdict(refused)
    if command == "Remove":
        return Verdict(SUCCESS[command], Slot(None, job.revision))
    return _leaves(command, job._replace(revision=job.revision + 1, **changed))


def _leaves(command: str, job: Job) -> Verdict:
    return Verdict(SUCCESS[command], Slot(job, job.revision))


Decided = tuple[str, Mapping[str, Any]]
"""An outcome that refuses, empty where there is none, and the fields that change otherwise."""


def _live(job: Job, now: datetime) -> bool:
    return job.owner is not None and job.until > now


def _until(body: Mapping[str, Any], now: datetime) -> datetime:
    return now + timedelta(seconds=body["seconds"])


def _holds(job: Job, body: Mapping[str, Any], now: datetime) -> str:
    if job.owner is None or (job.owner, job.fence) != (body["worker"], body["token"]):
        return "Invalid"
    return "" if _live(job, now) else "Expired"


def _claim(job: Job, body: Mapping[str, Any], now: datetime) -> Decided:
    if _live(job, now):
        return "Taken", {}
    return "", {"owner": body["worker"], "until": _until(body, now), "fence": job.fence + 1}


def _renew(job: Job, body: Mapping[str, Any], now: datetime) -> Decided:
    return _holds(job, body, now), {"until": _until(body, now)}


def _release(job: Job, body: Mapping[str, Any], now: datetime) -> Decided:
    refused = _holds(job, body, now)
    return "" if refused == "Expired" else refused, {"owner": None, "until": None}


def _expire(job: Job, _: Mapping[str, Any], now: datetime) -> Decided:
    lapsed = job.owner is not None and not _live(job, now)
    return "" if lapsed else "Active", {"owner": None, "until": None}


def _start(job: Job, body: Mapping[str, Any], now: datetime) -> Decided:
    fit = job.state in ("Waiting", "Running")
    return _holds(job, body, now) or ("" if fit else "Illegal"), {"state": "Running"}


def _finish(job: Job, body: Mapping[str, Any], now: datetime) -> Decided:
    return _holds(job, body, now) or ("" if job.state == "Running" else "Illegal"), {"state": "Done"}


def _remove(job: Job, body: Mapping[str, Any], now: datetime) -> Decided:
    return _holds(job, body, now), {}


_DECIDE: Final[Mapping[str, Callable[[Job, Mapping[str, Any], datetime], Decided]]] = {
    "Claim": _claim,
    "Renew": _renew,
    "Release": _release,
    "Expire": _expire,
    "Start": _start,
    "Finish": _finish,
    "Remove": _remove,
}
