"""`treadle config`: the settings in force."""

from __future__ import annotations

import json as json_
from typing import Annotated, Any

import typer

from treadle.cli import options, screen, session
from treadle.cli.verbs import examples, verb_app
from treadle.config import Config
from treadle.config import schema as schema_of
from treadle.registry import load

app = verb_app("Show the settings, and where each comes from.", no_args_is_help=True)


@app.callback()
def config_() -> None:
    """Show the settings, and where each comes from."""


@app.command(
    epilog=examples("treadle config show", "treadle config show --origin", "treadle config show --json")
)
def show(
    origin: Annotated[bool, typer.Option("--origin", help="Also say where each value comes from.")] = False,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Show every setting with its value.

    A flag goes before an environment variable, that before treadle.toml, that before the default.
    """
    wanted = session.settings(config, database, set_)
    if json:
        screen.out_json(
            {
                "file": None if wanted.file is None else str(wanted.file),
                "settings": {
                    key: {"value": _shown(wanted, key), "origin": wanted.value(key).origin} for key in wanted
                },
            }
        )
        return
    rows = [(key, _text(_shown(wanted, key)), wanted.value(key).origin) for key in wanted]
    screen.table(row if origin else row[:2] for row in rows)


@app.command(epilog=examples("treadle config schema > treadle.schema.json"))
def schema(debug: options.Debug = False) -> None:
    """Print the JSON Schema of treadle.toml, for an editor."""
    screen.out(json_.dumps(schema_of(), indent=2))


def _shown(wanted: Config, key: str) -> Any:
    value = wanted[key]
    return str(load("store").shown_url(value)) if key == "database.url" else value


def _text(value: Any) -> str:
    return (
        "-" if value is None else value if isinstance(value, str) else json_.dumps(value, ensure_ascii=False)
    )
