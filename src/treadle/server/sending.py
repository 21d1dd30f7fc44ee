"""How an answer goes out."""

from __future__ import annotations

from treadle.server.answers import COMMON, Answer
from treadle.server.call import Call


async def write(call: Call, answer: Answer) -> None:
    """Send an answer with the common headers and the trace id."""
    call.status = answer.status
    send, body = call.send, answer.body
    headers = [
        (b"content-type", answer.media.encode("latin-1")),
        (b"trace-id", call.trace.hex().encode()),
        *COMMON,
        *call.cross_origin,
        *answer.headers,
    ]
    if isinstance(body, bytes):
        headers.append((b"content-length", b"%d" % len(body)))
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})
        return
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    async for part in body:
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
