"""`treadle graph`: the RDF graph of a database, and signed workflows in it.

`common` (options, errors and exit codes), `data` (load, query, update, export), `runs` (define, start,
advance, resolve, status, history, verify), `keys`, `operate` (enroll, disenroll, doctor, migrate, rollback,
archive).
"""

from __future__ import annotations

from treadle.cli.graph import data, keys, operate, runs
from treadle.cli.verbs import verb_app

app = verb_app("The RDF graph, and signed workflows in it.", no_args_is_help=True)
for part in (data, runs, operate):
    part.register(app)
app.add_typer(keys.app, name="keys")
