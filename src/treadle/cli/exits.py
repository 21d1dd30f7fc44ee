"""Exit codes, and which error ends in which."""

from __future__ import annotations

from typing import Final, NamedTuple

from treadle.errors import ConfigError, ContractError, OutcomeUnknown, Refused, RequestError, TreadleError


class Exit(NamedTuple):
    """An exit code and when it is returned."""

    code: int
    meaning: str


SUCCESS: Final = Exit(0, "success; for `run`, the command's success outcome")
FAILED: Final = Exit(
    1, "anything else: a check that found an error, a store that cannot be used, a terminal failure"
)
USAGE: Final = Exit(2, "the command line or a setting is wrong; nothing was tried")
OTHER_OUTCOME: Final = Exit(3, "another declared outcome of the command; it is recorded and changed nothing")
REFUSED: Final = Exit(4, "refused before evaluation: nothing was recorded and the key is free")
UNKNOWN: Final = Exit(5, "the outcome is unknown; repeat the same command with the same key to learn it")
INTERRUPTED: Final = Exit(130, "interrupted (Ctrl-C); nothing is half-done")

EXITS: Final = (SUCCESS, FAILED, USAGE, OTHER_OUTCOME, REFUSED, UNKNOWN, INTERRUPTED)


def of_error(error: TreadleError) -> Exit:
    """The exit code of an error that ends a verb."""
    match error:
        case OutcomeUnknown():
            return UNKNOWN
        case ConfigError():
            return USAGE
        case RequestError() | ContractError() | Refused():
            return REFUSED
        case _:
            return FAILED


_SEVERITY: Final = (SUCCESS, OTHER_OUTCOME, REFUSED, FAILED, UNKNOWN)


def worst(first: Exit, second: Exit) -> Exit:
    """Of two exit codes of one batch, the one that matters more."""
    return max(first, second, key=_SEVERITY.index)
