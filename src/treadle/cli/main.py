"""From arguments to an exit code: errors in one line with the next step, no traceback without --debug."""

from __future__ import annotations

import logging
import os
import sys
import traceback
from collections.abc import Sequence
from types import TracebackType
from typing import Annotated, Final

import typer
from typer.main import get_command

from treadle.cli import exits, screen
from treadle.cli.verbs import Verbs, examples
from treadle.errors import Internal, StoreError, TreadleError
from treadle.version import __version__

NAME: Final = "treadle"


def _version(wanted: bool) -> None:
    if wanted:
        screen.out(f"treadle {__version__}")
        raise typer.Exit


app = typer.Typer(
    name=NAME,
    cls=Verbs,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(
    epilog=examples(
        "treadle new shop && cd shop",
        "treadle deploy",
        "treadle run Claim shop_id=… job_id=… --as printer-service --key auto",
        "treadle log",
    )
)
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """A workflow database: one worker holds a job, it can prove it, and nothing can write around it."""


def main(arguments: Sequence[str] | None = None) -> None:
    """The program `treadle`: runs a verb and ends the process with its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if "--debug" not in words:
        sys.excepthook = _unexpected
    code = run(words)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = _quiet()
    sys.exit(code)


def run(words: list[str]) -> int:
    """Run a verb; returns its exit code. Everything that goes wrong is told here, once."""
    options = words[: words.index("--")] if "--" in words else words
    debug, json = "--debug" in options, "--json" in options
    logging.getLogger(NAME).addHandler(logging.NullHandler())
    try:
        code = get_command(app).main(words, prog_name=NAME, standalone_mode=False)
        return code if isinstance(code, int) else exits.SUCCESS.code
    except TreadleError as error:
        return _failed(error, exits.of_error(error), json, debug)
    except typer.TyperException as error:
        return _misused(error, json)
    except (typer.Abort, KeyboardInterrupt):
        return exits.INTERRUPTED.code
    except BrokenPipeError:
        return _quiet()
    except OSError as error:
        return _unreadable(error, json, debug)


def _failed(error: TreadleError, code: exits.Exit, json: bool, debug: bool) -> int:
    if debug:
        traceback.print_exception(error)
    if json:
        screen.out_json(screen.error_json(error))
    else:
        screen.note(screen.error_text(error))
    return code.code


def _misused(error: typer.TyperException, json: bool) -> int:
    """A usage error in one line, with the place to read on. No arguments at all shows the help."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        screen.out(error.format_message())
        return exits.USAGE.code
    ours = type(error) is typer.BadParameter and error.param is None
    message = error.message if ours else error.format_message().rstrip(".")
    path = context.command_path if context is not None else NAME
    return _told(message, f"; see {path} --help", json)


def _told(message: str, hint: str, json: bool) -> int:
    if json:
        body = {"code": "usage", "message": message, "recovery": "correct_request"}
        screen.out_json({"error": body})
    else:
        screen.note(f"{screen.paint('error', 'bad', sys.stderr)}: {message}{hint}")
    return exits.USAGE.code


def _unreadable(error: OSError, json: bool, debug: bool) -> int:
    """A file that the command line names and that cannot be read, or output that cannot be written."""
    what = error.strerror or type(error).__name__
    if error.filename is not None:
        if debug:
            traceback.print_exception(error)
        return _told(f"{screen.plain(str(error.filename))}: {what}", "", json)
    wrapped = StoreError(what)
    wrapped.__cause__ = error
    return _failed(wrapped, exits.FAILED, json, debug)


def _unexpected(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """An error of ours that nothing else caught: one line, and exit code 1, which Python gives by itself."""
    name = kind.__name__
    screen.note(
        screen.error_text(Internal(f"an unexpected {name}; please report it, with what --debug shows"))
    )


def _quiet() -> int:
    """The reader of our output went away: say nothing, and keep Python from saying it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return exits.FAILED.code
