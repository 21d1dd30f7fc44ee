"""The two client classes of a Python module: one method for each command and query, sync and async alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from treadle.bindings.names import Name
from treadle.bindings.python_names import Names, PythonNames
from treadle.bindings.python_types import annotation
from treadle.client.interface import Interface
from treadle.model import contract as c
from treadle.model import query as q
from treadle.model import types as t


def clients(interface: Interface, names: PythonNames) -> Iterator[str]:
    """The class that blocks, and the one that awaits."""
    for awaits in (False, True):
        lines = [
            f"class {'Async' if awaits else ''}{names.client}(_t.{'Async' if awaits else ''}Client):",
            f'    """{_says(interface, awaits=awaits)}"""',
            "",
            "    CONTRACT = CONTRACT",
        ]
        for command in interface.contract.commands:
            lines += ["", *_command(command, names, awaits=awaits)]
        for query in interface.queries:
            lines += ["", *_query(query, names, awaits=awaits)]
            if query.cursor is not None:
                lines += ["", *_pages(query, names, awaits=awaits)]
        yield "\n".join(lines)


def _says(interface: Interface, *, awaits: bool) -> str:
    how = "`treadle.open_async(…)` or `treadle.connect_async(…)`" if awaits else "`treadle.connect(…)`"
    acting = "" if awaits else "`db.acting_as(…)` or "
    return f"Contract {interface.contract.name} over {acting}{how}."


def _method(
    head: str, name: Name, parameters: Iterable[str], result: str, says: str, returned: Iterable[str]
) -> list[str]:
    note = f"  # {name.note}" if name.note else ""
    lines = [f"    {head} {name.shown}({note}", "        self,", "        *,"]
    lines += [f"        {one}," for one in parameters]
    lines += [f"    ) -> {result}:", f'        """{says}"""', *returned]
    return lines


def _parameters(fields: Iterable[c.Field], shown: Names, names: PythonNames) -> list[str]:
    return [
        f"{shown[field.name].shown}: {annotation(field.type, names)}"
        + (" = None" if isinstance(field.type, t.Optional) else "")
        for field in fields
    ]


def _value(type_: str, fields: Iterable[c.Field], shown: Names) -> list[str]:
    given = [f"                {shown[field.name].shown}={shown[field.name].shown}," for field in fields]
    return [f"            {type_}(", *given, "            ),"] if given else [f"            {type_}(),"]


def _command(command: c.Command, names: PythonNames, *, awaits: bool) -> list[str]:
    mine = names.commands[command.name]
    parameters = [*_parameters(command.inputs, mine.inputs, names), "timeout: float | None = None"]
    returned = [
        f"        return {'await ' if awaits else ''}self.run(",
        *_value(mine.type.shown, command.inputs, mine.inputs),
        "            timeout=timeout,",
        "        )",
    ]
    outcomes = ", ".join(mine.outcomes[one.name].shown for one in reversed(command.outcomes))
    says = f"Run {command.name}; returns {outcomes}."
    head = "async def" if awaits else "def"
    return _method(head, mine.method, parameters, mine.outcome.shown, _folded(says), returned)


def _folded(says: str) -> str:
    """A docstring's text, over several lines where it is long."""
    lines, line = [], ""
    for word in says.split(" "):
        if line and len(line) + len(word) > 92:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return "\n        ".join([*lines, line]) + ("\n        " if lines else "")


def _query(query: q.Query, names: PythonNames, *, awaits: bool) -> list[str]:
    mine = names.queries[query.name]
    parameters = _parameters(query.parameters, mine.parameters, names)
    after = ["after: str | None = None"] if query.cursor is not None else []
    parameters += [*after, "at_least: int | None = None", "timeout: float | None = None"]
    returned = [
        f"        return {'await ' if awaits else ''}self.query(",
        *_value(mine.type.shown, query.parameters, mine.parameters),
        *(["            after=after,"] if after else []),
        "            at_least=at_least,",
        "            timeout=timeout,",
        "        )",
    ]
    outcomes = ", ".join(mine.outcomes[one].shown for one in query.outcomes)
    says = f"Ask {query.name}; returns {outcomes}."
    head = "async def" if awaits else "def"
    return _method(head, mine.method, parameters, mine.outcome.shown, _folded(says), returned)


def _pages(query: q.Query, names: PythonNames, *, awaits: bool) -> list[str]:
    mine = names.queries[query.name]
    parameters = _parameters(query.parameters, mine.parameters, names) + ["at_least: int | None = None"]
    returned = [
        "        return self.pages(",
        *_value(mine.type.shown, query.parameters, mine.parameters),
        "            at_least=at_least,",
        "        )",
    ]
    result = f"_t.{'Async' if awaits else ''}Iterator[{mine.outcome.shown}]"
    says = f"The pages of {query.name}, one after another."
    return _method("def", mine.pages, parameters, result, says, returned)
