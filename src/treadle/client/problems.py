"""From a problem document back to the exception that it stands for: what the embedded handle raises."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from treadle import errors
from treadle.errors import CODES, TreadleError

Problem = Mapping[str, Any]

_FURTHER: Final[dict[str, type[TreadleError]]] = {
    "internal": errors.Internal,
    "malformed": errors.Malformed,
    "unauthenticated": errors.Denied,
    "version_conflict": errors.ContractMismatch,
    "contract_incompatible": errors.ContractError,
    "cursor_invalid": errors.InvalidInput,
    "cursor_expired": errors.InvalidInput,
    "deadline": errors.Busy,
    "sparql_syntax": errors.SparqlSyntax,
    "unsupported_media_type": errors.RequestError,
    "not_acceptable": errors.RequestError,
    "method_not_allowed": errors.RequestError,
    "unique_conflict": errors.TerminalFailure,
    "invariant_violated": errors.TerminalFailure,
    "duplicate_target": errors.TerminalFailure,
    "row_too_large": errors.TerminalFailure,
    "revision_exhausted": errors.TerminalFailure,
    "enrollment_mismatch": errors.StoreError,
}
"""Codes that are not a class's own."""


def _classes(root: type[TreadleError]) -> Iterator[type[TreadleError]]:
    yield root
    for below in root.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from _classes(below)


def _by_code() -> dict[str, type[TreadleError]]:
    found: dict[str, type[TreadleError]] = {}
    for each in _classes(TreadleError):
        if "default" in vars(each):
            found.setdefault(each.default, each)
    found |= _FURTHER
    return {code: found.get(code, errors.RequestError) for code in CODES}


CLASSES: Final = _by_code()
"""The class of each stable code."""


def _text(problem: Problem, name: str) -> str | None:
    value = problem.get(name)
    return value if isinstance(value, str) and value else None


def _number(problem: Problem, name: str) -> int | None:
    value = problem.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _invalid(message: str, code: str, problem: Problem) -> TreadleError:
    error = errors.InvalidInput(message, code=code)
    error.path = _text(problem, "path") or ""  # the message begins with it already
    return error


def _terminal(message: str, code: str, problem: Problem) -> TreadleError:
    return errors.TerminalFailure(
        message,
        code=code,
        constraint=_text(problem, "constraint"),
        commit=_number(problem, "commit"),
        replayed=problem.get("replayed") is True,
    )


def _contract(message: str, code: str, problem: Problem) -> TreadleError:
    return errors.ContractError(message, diagnostics=tuple(problem.get("diagnostics") or ()), code=code)


def _refused(message: str, code: str, problem: Problem) -> TreadleError:
    return errors.Refused(
        message,
        reason=_text(problem, "reason") or "refused",
        entity=_text(problem, "entity"),
        field=_text(problem, "field"),
        graph=_text(problem, "graph"),
        remedy=_text(problem, "remedy") or "",
    )


def _syntax(message: str, code: str, problem: Problem) -> TreadleError:
    error = errors.SparqlSyntax(message)
    error.line, error.column = _number(problem, "line"), _number(problem, "column")
    return error


def _unexpected(message: str, code: str, problem: Problem) -> TreadleError:
    return errors.Internal(message)  # a server has no `Receipt.expect`


_MAKERS: Final[dict[type[TreadleError], Callable[[str, str, Problem], TreadleError]]] = {
    errors.InvalidInput: _invalid,
    errors.TerminalFailure: _terminal,
    errors.ContractError: _contract,
    errors.Refused: _refused,
    errors.SparqlSyntax: _syntax,
    errors.UnexpectedOutcome: _unexpected,
}


def error_of(problem: Problem) -> TreadleError:
    """The exception of a problem document, with `trace_id` among its details where the server gave one."""
    code = _text(problem, "code") or ""
    detail = _text(problem, "detail") or _text(problem, "title") or "the server refused the request"
    known = CLASSES.get(code)
    if known is None:
        unknown = f"{detail} (code {code[:64]!r}, which this release does not know)"
        error: TreadleError = errors.Internal(unknown)
    else:
        maker = _MAKERS.get(known)
        error = maker(detail, code, problem) if maker is not None else known(detail, code=code)
    trace = _text(problem, "trace_id")
    if trace is not None:
        error.details["trace_id"] = trace
    return error


def is_problem(document: object) -> bool:
    """Whether a JSON value is a problem document of a Treadle server, and not somebody else's error page."""
    return isinstance(document, Mapping) and isinstance(document.get("code"), str) and "detail" in document


__all__ = ["CLASSES", "CODES", "error_of", "is_problem"]
