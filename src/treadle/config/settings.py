"""The table of all settings. A key's environment variable and flag follow from its name.

`database.url` is `TREADLE_DATABASE_URL` in the environment and `--database-url` on the command line, for
verbs that use it; `--set database.url=…` works with every verb.
"""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

import msgspec

from treadle import limits
from treadle.access.roles import Role
from treadle.config.kinds import Address, Flag, Integer, Kind, Tables, Text, Texts

PREFIX: Final = "TREADLE_"


class Setting(NamedTuple):
    """One key. `default` None means: absent; `default_text` says then what happens."""

    key: str
    kind: Kind
    default: Any
    help: str
    default_text: str = ""

    @property
    def variable(self) -> str:
        """The name of its environment variable."""
        return PREFIX + self.key.upper().replace(".", "_")

    @property
    def flag(self) -> str:
        """The name of its flag."""
        return "--" + self.key.replace(".", "-").replace("_", "-")


def _role_schema() -> dict[str, Any]:
    """The schema of one `[[roles]]` table, from the type that reads it."""
    _, components = msgspec.json.schema_components([Role], ref_template="#/$defs/{name}")
    role: dict[str, Any] = json.loads(json.dumps(components["Role"]))  # its tuples become lists
    role["description"] = (
        "What a caller of this role may do; `treadle deploy` writes roles into the database."
    )
    return role


_SETTINGS: Final = (
    Setting(
        "database.url",
        Text("sqlite:///work.db"),
        "sqlite:///treadle.db",
        "The database: sqlite:///FILE, relative to the folder of this settings file, or "
        "postgresql://USER@HOST/DATABASE?schema=NAME.",
    ),
    Setting(
        "database.max_clock_jump",
        Integer(0, 10 * 366 * limits.CLOCK_JUMP_SECONDS),
        limits.CLOCK_JUMP_SECONDS,
        "Seconds that the wall clock may be ahead of the last commit before commands are refused as "
        "clock_jumped; 0 for no bound.",
    ),
    Setting(
        "contract.source",
        Text("work.riff"),
        None,
        "The contract's file, relative to this file's folder: what check and deploy take when none is named.",
        "none: name the file",
    ),
    Setting(
        "contract.queries",
        Texts("queries/*.riffq"),
        (),
        "Files with named queries, as patterns relative to this file's folder.",
        "none",
    ),
    Setting(
        "server.bind",
        Address(),
        "127.0.0.1:7480",
        "Where the server listens, host:port. Anything but this machine itself needs tokens.",
    ),
    Setting(
        "server.hosts",
        Texts("treadle.example.org"),
        (),
        "Further names that a request's Host may have, such as the one of a proxy before the server.",
        "on loopback its own names, else any",
    ),
    Setting(
        "server.origins",
        Texts("https://ops.example.org"),
        (),
        "Origins of web pages that may call the server, besides its own pages.",
        "none",
    ),
    Setting(
        "server.max_body_bytes",
        Integer(limits.KIB, limits.HTTP_HELD_BYTES),
        limits.HTTP_BODY_BYTES,
        "The largest body of a request; of JSON Lines, the largest line.",
    ),
    Setting(
        "server.max_connections",
        Integer(1, 100_000),
        limits.HTTP_CONNECTIONS,
        "The most connections at once; one more is answered with 503.",
    ),
    Setting(
        "server.request_seconds",
        Integer(1, 3_600),
        limits.HTTP_REQUEST_SECONDS,
        "The longest that a command or a query may wait for its answer.",
    ),
    Setting(
        "server.idle_seconds",
        Integer(1, 3_600),
        limits.HTTP_IDLE_SECONDS,
        "How long a client that should send, or should read, may do neither.",
    ),
    Setting(
        "server.drain_seconds",
        Integer(1, 3_600),
        limits.HTTP_DRAIN_SECONDS,
        "How long a stopping server lets requests end.",
    ),
    Setting(
        "server.log_requests",
        Flag(),
        False,
        "Whether the log has a line for each request, and not only for those that the server failed.",
    ),
    Setting(
        "retention.receipts_days",
        Integer(1, 36_500),
        None,
        "How many days receipts are kept, for `treadle prune windows`: older ones become stubs, which refuse "
        "their keys.",
        "for ever",
    ),
    Setting(
        "retention.log_days",
        Integer(1, 36_500),
        None,
        "How many days the log is kept, for `treadle prune windows`: of older records the state they led to "
        "stays.",
        "for ever",
    ),
    Setting(
        "roles",
        Tables(_role_schema()),
        None,
        "Roles, each a table [[roles]]: what a caller may do. They are state of the database, which "
        "treadle deploy writes.",
        "the database's roles stay as they are",
    ),
    Setting(
        "graph.base_ns",
        Text("http://aegis.gastown.local/ontology/"),
        "http://aegis.gastown.local/ontology/",
        "The base IRI of the workflow vocabulary in the graph.",
    ),
    Setting(
        "graph.governance.enforce_workflows",
        Flag(),
        None,
        "Whether the graph's guard is on. true enrolls the database, or follows it; false on an enrolled "
        "database is an error.",
        "follow the database; a new one is not enrolled",
    ),
    Setting(
        "graph.governance.verify_transitions",
        Flag(),
        None,
        "Whether the first version's transition signatures are checked in a database that is not enrolled.",
        "follow the database",
    ),
    Setting(
        "graph.governance.identity_graphs",
        Texts("urn:keys"),
        None,
        "IRIs of the graphs whose key registrations count.",
        "every graph",
    ),
    Setting(
        "graph.server.update_full_copy_max_facts",
        Integer(0, 10**12),
        limits.UPDATE_COPY_QUADS,
        "The most statements that one SPARQL update may touch on the path that copies them.",
    ),
)

SETTINGS: Final[dict[str, Setting]] = {setting.key: setting for setting in _SETTINGS}
"""Every setting by its key, in the order of the reference."""
