"""The page on the state that a pruned log begins with lists every item, in order, and has vectors."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import struct
import zlib
from hashlib import blake2b
from pathlib import Path
from typing import Any

from tests.support.engines import SOURCE, create, open_on
from tests.support.pruning import fill
from treadle.database import Database
from treadle.engine import parts
from treadle.model.packing import pack
from treadle.store.memory import MemoryStore

PAGE = (Path(__file__).parents[3] / "docs" / "formats" / "snapshot.md").read_text(encoding="utf-8")
ITEMS = re.findall(r'^\| `\("([a-z]+)"([^`]*)\)` \|', PAGE, re.MULTILINE)
VECTORS = re.findall(r"^\| `([0-9a-f]{64})` \| (.*) \|$", PAGE, re.MULTILINE)
ROWS, GRAPH = b"treadle.snapshot/v1\n", b"treadle.snapshot.graph/v1\n"


def framed(*items: tuple[Any, ...]) -> bytes:
    return b"".join(struct.pack(">I", len(item)) + item for item in map(pack, items))


def kept(db: Database) -> tuple[dict[str, Any], list[bytes]]:
    """The setting, and the parts before compression, read as the page says."""
    with db._engine.store.read() as tx:
        said = json.loads(tx.setting("retained.log") or b"")
        found = tx.entries("snapshot", b"", None, 99)
    count = said["parts"] + said.get("graph_parts", 0)
    assert [key for key, _ in found] == [struct.pack(">QI", said["number"], part) for part in range(count)]
    return said, [zlib.decompress(data) for _, data in found]


def test_the_items_are_those_of_the_page_in_its_order(tmp_path: Path) -> None:
    db = open_on(MemoryStore())
    db.deploy(SOURCE)
    db.acting_as("tests").run(*create(1))
    fill(db, tmp_path)
    db.retention().log(through=db.head[0] - 1)
    said, data = kept(db)
    order = [kind for kind, _ in ITEMS]
    for domain, first, count, digest in (
        (ROWS, 0, said["parts"], said["digest"]),
        (GRAPH, said["parts"], said["graph_parts"], said["graph"]),
    ):
        section = data[first : first + count]
        assert hashlib.sha256(domain + b"".join(section)).hexdigest() == digest
        found = list(parts.items(section))
        places = [order.index(item[0]) for item in found if item[0] not in ("keys", "key")]
        assert places == sorted(places)
        for kind, *rest in found:
            members = re.findall(r"[a-z_]+", next(shown for name, shown in ITEMS if name == kind))
            repeated = next(shown for name, shown in ITEMS if name == kind).endswith("…")
            assert len(rest) >= len(members) - 1 if repeated else len(rest) == len(members), kind
    graph = {item[0] for item in parts.items(data[said["parts"] :])}
    assert graph == set(order[order.index("graph") :]) | {"keys"}
    body = list(db.log())[-1].body
    assert body == {
        "through": said["number"],
        "hash": said["hash"],
        "state": said["digest"],
        "graph": said["graph"],
    }


def test_the_vectors() -> None:
    (rows, first), (graph, second) = VECTORS
    assert hashlib.sha256(ROWS + framed(ast.literal_eval(first.strip("`")))).hexdigest() == rows
    header, statement = re.findall(r"`([^`]*)`", second)
    digest = blake2b("\n".join((*statement.split(), "")).encode(), digest_size=16).digest()
    items = ast.literal_eval(header.replace("false", "False")), ("statements", digest)
    assert hashlib.sha256(GRAPH + framed(*items)).hexdigest() == graph
    db = open_on(MemoryStore())
    db.graph.update(f"INSERT DATA {{ {statement} }}", principal="tests")
    db.graph.update("CREATE GRAPH <urn:g>", principal="tests")
    db.retention().log(through=1)
    said, _ = kept(db)
    assert (said["digest"], said["graph"]) == (rows, graph)


def test_without_a_graph_nothing_is_said_of_it() -> None:
    db = open_on(MemoryStore())
    for _ in range(2):
        db.deploy(SOURCE)
        db.acting_as("tests").run(*create(1))
    db.retention().log(through=1)
    assert set(kept(db)[0]) == {"number", "time", "hash", "digest", "parts", "contract"}
