"""Calling the application's handler, plain or async, and telling its failures from the database's."""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import threading
from collections.abc import Callable, Mapping
from typing import Any

from treadle.errors import InvalidInput, LeaseLost, TreadleError
from treadle.workers.turn import Turn

Handler = Callable[[Mapping[str, Any], Turn], Any]


class HandlerFailed(Exception):
    """A handler raised; `error` is what."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error

    @property
    def reason(self) -> str:
        """The failure in one line, for the dead letter."""
        text = f"{type(self.error).__name__}: {self.error}".replace("\0", "")
        return text[:1_000].encode("utf-8", "replace").decode()[:1_000]


def _attempted(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:  # the application's own code: whatever it raises is its failure
        raise HandlerFailed(error) from error


def given(function: Callable[..., Any], *args: Any, path: str) -> Any:
    """What a function of the application returns, such as a worker's parameters.

    Raises `InvalidInput` that names the function's place and what it raised; an error of Treadle as it is.
    """
    try:
        return _attempted(lambda: function(*args))
    except HandlerFailed as failed:
        if isinstance(failed.error, TreadleError):
            raise failed.error from None
        raise InvalidInput(f"the function given for it raised {failed.reason}", path=path) from failed.error


class Caller:
    """Calls a handler in the calling thread, or, where it is async, on an event loop of its own."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._loop: asyncio.AbstractEventLoop | None = None
        if inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(type(handler).__call__):
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(
                target=self._loop.run_forever, name="treadle-handlers", daemon=True
            )
            self._thread.start()

    def call(self, turn: Turn) -> Mapping[str, Any]:
        """The handler's result, as inputs for the command that concludes the attempt.

        An async handler is cancelled when the lease is lost. Raises `LeaseLost` or `HandlerFailed`.
        """
        try:
            result = _attempted(lambda: self._called(turn))
        except HandlerFailed as failed:
            if isinstance(failed.error, LeaseLost):
                raise failed.error from None
            if isinstance(failed.error, concurrent.futures.CancelledError):
                turn.check()
            raise
        if result is None:
            return {}
        if not isinstance(result, Mapping):
            wrong = InvalidInput("a handler returns nothing, or a mapping of the inputs that are its to give")
            raise HandlerFailed(wrong)
        return result

    def _called(self, turn: Turn) -> Any:
        return self._handler(turn.row, turn) if self._loop is None else self._awaited(turn, self._loop)

    def _awaited(self, turn: Turn, loop: asyncio.AbstractEventLoop) -> Any:
        future = asyncio.run_coroutine_threadsafe(self._handler(turn.row, turn), loop)
        turn.when_lost(future.cancel)
        return future.result()

    def end(self) -> None:
        """Stop the event loop; nothing is running on it any more."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
