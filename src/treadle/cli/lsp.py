"""`treadle lsp`: the language server, for an editor to start."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from treadle.cli import exits, options
from treadle.cli.verbs import examples, verb_app
from treadle.errors import ConfigError
from treadle.registry import load

app = verb_app()


@app.command(epilog=examples("treadle lsp"))
def lsp(
    stdio: Annotated[
        bool, typer.Option("--stdio", help="Speak over standard input and output, as it always does.")
    ] = True,
    debug: options.Debug = False,
) -> None:
    """Speak the Language Server Protocol over standard input and output.

    An editor starts it for `.riff` and `.riffq` files: it shows findings while one writes, types and rules
    under the pointer, declarations, what can be written next, and lays files out. Log lines go to standard
    error. docs/howto/editor.md shows how to set editors up.
    """
    if sys.stdin.isatty():
        raise typer.BadParameter(
            "an editor starts this and speaks its protocol; docs/howto/editor.md shows how"
        )
    try:
        serve = load("lsp").serve
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("pygls", "lsprotocol", "cattrs"):
            raise
        raise ConfigError("the language server is not installed: pip install 'treadle[lsp]'") from error
    raise typer.Exit(exits.SUCCESS.code if serve() else exits.FAILED.code)
