"""A receipt for a person."""

from __future__ import annotations

from typing import Any

from treadle import Receipt
from treadle.cli import screen
from treadle.model.showing import shown_json


def print_receipt(receipt: Receipt) -> None:
    """The outcome and its commit, then the fields and new revisions."""
    answer = receipt.to_json()
    again = ", stored by an earlier call" if receipt.replayed else ""
    outcome = screen.strong(screen.paint(receipt.outcome, "good" if receipt.ok else "mild"))
    screen.out(f"{outcome}  commit {receipt.commit}, {answer['time']}{again}")
    screen.indented(fields_of(answer["fields"]))
    for item in answer["workflow_revisions"]:
        element = f"[{item['element']}]" if "element" in item else ""
        screen.out(f"  {item['binding']}{element} is now at revision {item['revision']}")


def fields_of(fields: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """JSON fields as (dotted name, text), records taken apart."""
    rows: list[tuple[str, str]] = []
    for name, value in fields.items():
        if isinstance(value, dict):
            rows += fields_of(value, f"{prefix}{name}.")
        else:
            rows.append((prefix + name, shown_json(value)))
    return rows
