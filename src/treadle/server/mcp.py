"""`POST /mcp`: the Model Context Protocol over streamable HTTP, tools for what the caller may use.

Every request stands alone, without session or stream, so a token that was revoked is refused at once.
"""

from __future__ import annotations

from typing import Final

from treadle.errors import UnknownName
from treadle.model.json_text import scan_json
from treadle.registry import load
from treadle.server.answers import Answer
from treadle.server.call import LARGE, Call
from treadle.server.endpoint import Endpoint

BODY_BYTES: Final = 4 * 1024 * 1024


async def mcp(call: Call) -> Answer | None:
    """Answer one message of the protocol."""
    try:
        http = load("server.mcp_http")
    except ImportError:
        raise UnknownName(
            "this server has not what the Model Context Protocol needs: pip install 'treadle[mcp]'"
        ) from None
    await call.read(lambda state: None)  # the token is looked at again, whatever the message asks for
    body = await call.body(min(BODY_BYTES, call.service.options.max_body))
    # The protocol's own reader lets the last of two equal names win; here they are refused.
    await call.service.thread(scan_json, body) if len(body) >= LARGE else scan_json(body)
    await http.answer(call, body)
    return None


ENDPOINTS = (Endpoint("POST", "/mcp", mcp, "The Model Context Protocol.", writes=True, produces=""),)
