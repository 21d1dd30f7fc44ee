"""The JSON Schema of `treadle.toml`, for editors."""

from __future__ import annotations

from typing import Any

from treadle.config.settings import SETTINGS, Setting


def schema() -> dict[str, Any]:
    """The schema (draft 2020-12) of the file, made from the table of settings."""
    root = _table("Settings of a Treadle project.")
    root = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "treadle.toml", **root}
    for setting in SETTINGS.values():
        *sections, name = setting.key.split(".")
        table = root
        for section in sections:
            table = table["properties"].setdefault(section, _table())
        table["properties"][name] = _property(setting)
    graph = root["properties"]["graph"]
    root["properties"]["quipu"] = {
        **graph,
        "description": "Read as [graph]; one section under both is an error.",
    }
    return root


def _table(description: str = "") -> dict[str, Any]:
    table: dict[str, Any] = {"type": "object", "additionalProperties": False, "properties": {}}
    return {"description": description, **table} if description else table


def _property(setting: Setting) -> dict[str, Any]:
    described = {"description": setting.help, **setting.kind.schema}
    if setting.default is not None:
        described["default"] = (
            list(setting.default) if isinstance(setting.default, tuple) else setting.default
        )
    return described
