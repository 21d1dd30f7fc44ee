"""The pages of docs/reference that follow from the code: error codes, settings, the command line.

`tools/generated.py` lists them; `make docs` writes them and a test keeps them up to date.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from treadle import config, errors
from treadle.cli import exits
from treadle.cli import main as command_line
from treadle.cli.verbs import VERBS
from treadle.config.settings import Setting
from treadle.engine.command import FAILURES

MADE = "<!-- Made by tools/reference.py; run `make docs` after a change. -->\n"

MEANING = {
    "contract_refused": "The contract's text has errors; each diagnostic says where, and what to write.",
    "contract_incompatible": "The contract cannot follow the one that is deployed; the message lists why.",
    "unauthenticated": "No token, or one that is unknown, expired or revoked.",
    "version_conflict": "Another contract version is active than the one that the deployment expected.",
    "cursor_expired": "Events after the cursor have left their stream; start from the oldest that is kept.",
    "cursor_invalid": "The cursor belongs to another query, caller or history, or to other parameters.",
    "unsupported_media_type": "The body is of a type that the route does not read.",
    "not_acceptable": "None of the types in Accept can be given; the answer lists those that can.",
    "method_not_allowed": "The route exists, but not for this method; Allow lists those that work.",
    "arithmetic": "A result is out of its type's range, or a division is by zero. Nothing was changed.",
    "unique_conflict": "Another row holds the unique value, and the command declares no `conflict` outcome.",
    "invariant_violated": "An invariant does not hold for the result, and no `violates` outcome is declared.",
    "duplicate_target": "Two bindings of the command name the same row.",
    "row_too_large": "A row would pass one mebibyte.",
    "revision_exhausted": "A row's revision is at its end, 2⁶⁴−1, and fails closed instead of wrapping.",
    "unreachable": "The server does not answer; nothing is known to have happened.",
    "precondition_failed": "The graph is not at the version that If-Match or If-None-Match asks for.",
    "deadline": "A query or an update took longer than it may; nothing was changed.",
    "enrollment_mismatch": "This process's graph settings are not those that the database was enrolled with.",
    "database_missing": "There is no database, and it was not to be created.",
    "database_newer": "The database was written by a newer release; upgrade Treadle.",
    "database_corrupt": "What is stored contradicts itself; restore a backup, keep the file for a report.",
    "disk_full": "There is no room. Nothing is half-written, and service resumes when there is room again.",
    "read_only": "The file or its folder cannot be written.",
    "closed": "The handle was closed; open the database again.",
    "forked": "The handle was opened before a fork; the child opens its own.",
    "clock_jumped": "The clock is further ahead of the last commit than `database.max_clock_jump` allows.",
    "internal": "An unexpected error of ours: nothing was recorded, the key is free. Please report it.",
}
"""What a code means, where the docstring of its exception does not say it."""

RECOVERY = {
    errors.CORRECT: "change the request; repeating it as it is cannot succeed",
    errors.RETRY: "try again a little later; nothing happened",
    errors.REPEAT: "repeat the same request with the same idempotency key: it tells the outcome",
    errors.PERMISSION: "obtain a permission or a credential",
    errors.REFRESH: "read the contract again, it has changed",
    errors.OPERATOR: "call the operator: the database or its machine needs a hand",
}

ERRORS_INTRO = """\
A declared outcome of a command is no error: it comes back in the receipt. Everything else has one of the
codes below, which stay the same from release to release. Python raises an exception with `.code`,
`.recovery` and `.status`; HTTP answers with a problem document; the command line prints the code and a
sentence that says what to do, or with `--json` the object `{"error": {…}}`. Messages never hold values,
keys, tokens or lease evidence.
"""

SETTINGS_INTRO = """\
The settings file is `treadle.toml`: the nearest one in the current folder or above, or the one that
`--config` or the environment variable `TREADLE_CONFIG` names. Each key may also come from an environment
variable, or from a flag: `--set KEY=VALUE` with every verb, and `--database-url` for the most used one.
A flag goes before the environment, the environment before the file, the file before the default.
`treadle config show --origin` prints every setting and where it comes from.

An unknown key is an error that names the nearest one. Paths in the file start from the file's folder,
those in a variable or a flag from the current one. In a variable or a flag a list is written with commas
between its items or as JSON, and `roles` as a JSON list of objects. An empty variable counts as not set.

The token of a verb with `--url` is no setting, and no flag, since lists of processes show those: it is
read from `TREADLE_TOKEN`, or from the file that `TREADLE_TOKEN_FILE` names.
"""

ROLES_INTRO = """\
Each `[[roles]]` table is one role. `treadle deploy` writes them into the database, which holds every
caller to them from then on; a process with another file follows the database.
"""

COMMANDS_INTRO = """\
`treadle VERB --help` says the same as this page. What a program should read comes as JSON with `--json`,
errors too; a person gets text, coloured only on a terminal and never under `NO_COLOR`. Progress and
notes go to standard error. An error is one line with its code and the next step; `--debug` adds the
traceback. `-` reads standard input. `treadle --install-completion` teaches the shell to complete verbs,
options and the names of the deployed contract.
"""


def cell(text: str) -> str:
    """Text for one cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def rows(header: str, lines: Iterator[str]) -> str:
    count = header.count("|") + 1
    return "\n".join([f"| {header} |", "|" + "---|" * count, *(f"| {line} |" for line in lines)])


# Errors.


def classes() -> dict[str, type[errors.TreadleError]]:
    """The exception that carries a code by default."""
    found: dict[str, type[errors.TreadleError]] = {}
    for one in vars(errors).values():
        if inspect.isclass(one) and issubclass(one, errors.TreadleError) and "default" in vars(one):
            found.setdefault(one.default, one)
    return found


def meaning(code: str) -> str:
    if code in MEANING:
        return MEANING[code]
    one = classes().get(code)
    if one is None or one.__doc__ is None:
        raise ValueError(f"tools/reference.py: MEANING says nothing about {code}")
    return one.__doc__.split("\n\n")[0]


def exception(code: str) -> str:
    """The name of the exception that carries a code; terminal failures share one."""
    one = classes().get(code)
    return f"`{one.__name__}`" if one else "`TerminalFailure`" if code in FAILURES else "-"


def error_page() -> dict[str, str]:
    """docs/reference/errors.md, from `treadle.errors.CODES`."""
    unknown = set(MEANING) - set(errors.CODES)
    if unknown:
        raise ValueError(f"tools/reference.py: MEANING explains codes that do not exist: {sorted(unknown)}")
    codes = (
        f"`{code}` | {exception(code)} | {kind.status} | `{kind.recovery}` | {cell(meaning(code))}"
        for code, kind in sorted(errors.CODES.items())
    )
    tree = (errors.__doc__ or "").split("\n\n")[1]
    page = [
        "# Errors\n",
        MADE,
        ERRORS_INTRO,
        "## Codes\n",
        rows("code | raised as | HTTP | recovery | means", codes) + "\n",
        "## Recovery\n",
        rows("recovery | what to do", (f"`{name}` | {text}" for name, text in RECOVERY.items())) + "\n",
        "## The tree of exceptions\n",
        f"```text\n{inspect.cleandoc(tree)}\n```",
    ]
    return {"docs/reference/errors.md": "\n".join(page) + "\n"}


# Settings.


def default(setting: Setting) -> str:
    if setting.default_text:
        return setting.default_text
    return f"`{json.dumps(setting.default, ensure_ascii=False)}`"


def setting_pages() -> dict[str, str]:
    """docs/reference/config.md and the JSON Schema, from the table of settings."""
    table = (
        f"`{setting.key}` | `{setting.variable}` | {cell(setting.help)} | {cell(default(setting))}"
        for setting in config.SETTINGS.values()
    )
    roles = config.schema()["properties"]["roles"]["items"]["properties"]
    permissions = [f"`{one}`" for one in sorted(roles["graph"]["items"]["enum"])]
    page = [
        "# Settings\n",
        MADE,
        SETTINGS_INTRO,
        "## Keys\n",
        rows("key | environment | what it is | default", table) + "\n",
        "`[quipu]` and what is below it are read as `[graph]`; one section under both names is an error.\n",
        "## Roles\n",
        ROLES_INTRO,
        rows("key | what it is", (f"`{name}` | {ROLE_KEYS[name]}" for name in roles)) + "\n",
        f"Permissions are {', '.join(permissions)}.\n",
        "## For an editor\n",
        "The file's JSON Schema is [treadle.schema.json](treadle.schema.json).",
    ]
    schema = json.dumps(config.schema(), indent=2, ensure_ascii=False)
    return {
        "docs/reference/config.md": "\n".join(page) + "\n",
        "docs/reference/treadle.schema.json": schema + "\n",
    }


ROLE_KEYS = {
    "name": "its name, by which callers and tokens state it",
    "commands": "the commands it may run, each by its exact name",
    "queries": "the named queries it may read",
    "streams": "the event streams it may consume",
    "graph": "its permissions on the graph",
    "operations": "its permissions on the database: `audit` reads the log and the metrics, `restore`, and "
    "`admin`, which includes `audit`",
    "tenant": "whether a token of this role must name a tenant",
    "row_policies": "whether the contract's row policies apply to it",
}


# The command line.


def help_of(command: Any) -> str:
    return inspect.cleandoc(command.help or "")


def example_lines(command: Any) -> str:
    lines = [line.strip() for line in (command.epilog or "").replace("\b", "").splitlines()]
    return "\n".join(f"$ {line}" for line in lines if line.startswith("treadle"))


def parameter(one: Any) -> str:
    """One row: how an argument or option is written, and what it is."""
    names = ", ".join(f"`{name}`" for name in one.opts) if one.param_type_name == "option" else ""
    value = f"`{one.metavar}`" if one.metavar and not getattr(one, "is_flag", False) else ""
    return f"{' '.join(part for part in (names, value) if part)} | {cell(one.help or '')}"


def verb_section(path: str, command: Any, level: str) -> Iterator[str]:
    yield f"{level} treadle {path}\n"
    yield help_of(command) + "\n"
    children = getattr(command, "commands", None)
    if children is not None:
        for name, child in children.items():
            yield from verb_section(f"{path} {name}", child, level + "#")
        return
    if examples := example_lines(command):
        yield f"```console\n{examples}\n```\n"
    shown = [one for one in command.params if not getattr(one, "hidden", False)]
    yield rows("option or argument | what it is", map(parameter, shown)) + "\n"


def command_page() -> dict[str, str]:
    """docs/reference/cli.md, from the verbs themselves."""
    root: Any = get_command(command_line.app)
    page = [
        "# The command line\n",
        MADE,
        COMMANDS_INTRO,
        "## Exit codes\n",
        rows("code | when", (f"{one.code} | {cell(one.meaning)}" for one in exits.EXITS)) + "\n",
    ]
    for verb in VERBS:
        page += verb_section(verb.name, root.get_command(None, verb.name), "##")
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(page)).rstrip() + "\n"
    return {"docs/reference/cli.md": text}
