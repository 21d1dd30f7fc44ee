"""JSON text that the command line was given: read as strictly as everywhere, named in messages."""

from __future__ import annotations

from typing import Any

from treadle.errors import Malformed
from treadle.limits import COMMAND_BYTES
from treadle.model.json_text import scan_json


def parse_json(text: str | bytes, name: str) -> Any:
    """The value of a JSON text; `name` says in messages what was read.

    Raises `Malformed` for what `scan_json` refuses, and for more bytes than a command may have. The byte
    order mark that some editors write at the start of a file is skipped.
    """
    if len(text) > COMMAND_BYTES:
        raise Malformed(f"{name}: more than {COMMAND_BYTES >> 20} MiB; send it in parts")
    if isinstance(text, bytes):
        text = text.removeprefix(b"\xef\xbb\xbf")
    try:
        return scan_json(text)
    except Malformed as error:
        raise Malformed(f"{name}: {error.message}") from None
