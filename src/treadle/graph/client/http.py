"""The workflow client's transport over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import httpx2

from treadle.errors import Busy, Denied, Malformed, OverCapacity, Refused, SparqlError, TooLarge, TreadleError
from treadle.graph.client.transport import Applied, NoAnswer, Unreachable

_REFUSALS: Final[dict[int, type[TreadleError]]] = {
    400: SparqlError,
    401: Denied,
    403: Denied,
    408: Busy,
    413: TooLarge,
    429: OverCapacity,
}
_NOTHING_SENT: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_NO_URL: Final = (httpx2.UnsupportedProtocol, httpx2.InvalidURL, httpx2.LocalProtocolError)


class HttpTransport:
    """A dataset behind HTTP: `/query`, `/update` and `/workflow/capabilities` below a base URL.

    Args:
        url: the server, such as `http://127.0.0.1:7480`; a path is kept.
        token: the bearer token, when the server asks for one.
        timeout: seconds until an answer counts as lost.
        client: an `httpx2.Client` to use in place of a new one, with its own base URL and headers.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout: float = 30.0,
        client: httpx2.Client | None = None,
    ) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
        self._client = client or httpx2.Client(
            base_url=url.rstrip("/") + "/", headers=headers, timeout=timeout, follow_redirects=False
        )

    def query(self, text: str) -> Mapping[str, Any]:
        """See `Transport.query`."""
        headers = {
            "Content-Type": "application/sparql-query",
            "Accept": "application/sparql-results+json",
        }
        return _object(self._post("query", text, headers))

    def update(self, text: str) -> Applied:
        """See `Transport.update`."""
        headers = {"Content-Type": "application/sparql-update", "Accept": "application/json"}
        answer = _object(self._post("update", text, headers))
        try:
            tx = answer.get("tx")
            return Applied(None if tx is None else int(tx), int(answer["asserted"]), int(answer["retracted"]))
        except (KeyError, TypeError, ValueError) as error:
            raise NoAnswer("the server's answer to the update cannot be read") from error

    def capabilities(self) -> Mapping[str, Any] | None:
        """See `Transport.capabilities`."""
        headers = {"Accept": "application/json"}
        response = _sent(lambda: self._client.get("workflow/capabilities", headers=headers))
        return None if response.status_code == 404 else _object(_checked(response))

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _post(self, route: str, text: str, headers: Mapping[str, str]) -> httpx2.Response:
        return _checked(_sent(lambda: self._client.post(route, content=text.encode(), headers=headers)))


def _sent(request: Callable[[], httpx2.Response]) -> httpx2.Response:
    try:
        return request()
    except _NOTHING_SENT as error:
        raise Unreachable("the server cannot be reached; check its address and that it runs") from error
    except _NO_URL as error:
        raise Unreachable("the server's address is no http or https URL") from error
    except httpx2.HTTPError as error:
        raise NoAnswer("the connection ended before an answer came") from error


def _checked(response: httpx2.Response) -> httpx2.Response:
    """The response when it is a success, else the error that it stands for."""
    if response.is_success:
        return response
    problem = _problem(response)
    detail = (
        _text(problem, "detail") or _text(problem, "title") or f"the server answered {response.status_code}"
    )
    if response.is_server_error or not response.is_client_error:
        raise NoAnswer(detail)
    reason = _text(problem, "reason")
    if reason is not None:
        raise Refused(
            detail,
            reason=reason,
            entity=_text(problem, "entity"),
            field=_text(problem, "field"),
            graph=_text(problem, "graph"),
            remedy=_text(problem, "remedy") or "",
        )
    raise _REFUSALS.get(response.status_code, Malformed)(detail)


def _object(response: httpx2.Response) -> Mapping[str, Any]:
    try:
        answer = response.json()
    except ValueError as error:
        raise NoAnswer("the server's answer is no JSON") from error
    if not isinstance(answer, dict):
        raise NoAnswer("the server's answer is no JSON object")
    return answer


def _problem(response: httpx2.Response) -> Mapping[str, Any]:
    try:
        problem = response.json()
    except ValueError:
        return {}
    return problem if isinstance(problem, dict) else {}


def _text(problem: Mapping[str, Any], name: str) -> str | None:
    value = problem.get(name)
    return value if isinstance(value, str) else None
