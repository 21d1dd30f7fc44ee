"""An update text into operations, and the errors of its outer grammar."""

from __future__ import annotations

import pytest

from treadle.errors import Malformed, SparqlSyntax
from treadle.graph.sparql.split import Operation, split

P = "PREFIX e: <http://e/> "


def one(text: str, base: str | None = None) -> Operation:
    [operation] = split(text, base=base).operations
    return operation


@pytest.mark.parametrize(
    "text, kind, silent, graphs",
    [
        ("INSERT DATA { }", "insert_data", False, ()),
        ("delete data{}", "delete_data", False, ()),
        ("DELETE WHERE { }", "delete_where", False, ()),
        ("DELETE { } WHERE { }", "modify", False, ()),
        ("CLEAR DEFAULT", "clear", False, ("DEFAULT",)),
        ("CLEAR SILENT NAMED", "clear", True, ("NAMED",)),
        ("DROP ALL", "drop", False, ("ALL",)),
        (P + "DROP SILENT GRAPH e:g", "drop", True, ("http://e/g",)),
        (P + "CREATE GRAPH e:g", "create", False, ("http://e/g",)),
        (P + "COPY e:g TO DEFAULT", "copy", False, ("http://e/g", None)),
        (P + "MOVE SILENT GRAPH e:g TO GRAPH e:h", "move", True, ("http://e/g", "http://e/h")),
        ("ADD DEFAULT TO DEFAULT", "add", False, (None, None)),
        ("LOAD SILENT <a:a> INTO GRAPH <a:b>", "load", True, ()),
    ],
)
def test_operations(text: str, kind: str, silent: bool, graphs: tuple[str | None, ...]) -> None:
    found = one(text)
    assert (found.kind, found.silent, found.graphs) == (kind, silent, graphs)


def test_with_and_using() -> None:
    found = one(
        P + "WITH e:w DELETE { ?s ?p ?o } INSERT { } USING e:a USING NAMED e:b USING e:c WHERE { ?s ?p ?o }"
    )
    assert (found.with_graph, found.using, found.using_named) == (
        "http://e/w",
        ("http://e/a", "http://e/c"),
        ("http://e/b",),
    )
    assert found.has_using and found.delete and found.insert and found.where
    assert not one("DELETE WHERE { }").has_using


def test_the_prologue_accumulates() -> None:
    text = """
    PREFIX a: <http://a/> CLEAR GRAPH a:g ;
    PREFIX b: <http://b/> CLEAR GRAPH b:g ;
    PREFIX a: <http://c/> DROP GRAPH a:g ;
    BASE <http://d/e/f> DROP GRAPH <../g> ;
    BASE <h/> DROP GRAPH <i> ;
    PREFIX a: <x#>
    """
    names = [operation.graphs[0] for operation in split(text).operations]
    assert names == ["http://a/g", "http://b/g", "http://c/g", "http://d/g", "http://d/e/h/i"]


@pytest.mark.parametrize("text", ["", " # nothing\n", "PREFIX a: <b:c>", "INSERT DATA { } ;", "BASE <a:b>"])
def test_what_ends_early(text: str) -> None:
    assert len(split(text).operations) == text.count("INSERT")


def test_names() -> None:
    assert one("CLEAR GRAPH <x>", base="http://e/d/").graphs == ("http://e/d/x",)
    assert one("CLEAR GRAPH <>", base="http://e/d?q#f").graphs == ("http://e/d?q",)
    assert one("PREFIX : <http://e/> CLEAR GRAPH :a\\,b%20\\-").graphs == ("http://e/a,b%20-",)
    assert one("PREFIX é: <http://e/ü> CLEAR GRAPH é:x").graphs == ("http://e/üx",)
    with pytest.raises(Malformed, match="not an absolute IRI"):
        split("", base="nowhere")


@pytest.mark.parametrize(
    "text, line, column, message",
    [
        ("INSERT", 1, 7, "expected '{', but the text ends here"),
        ("INSERT DATA", 1, 12, "expected '{'"),
        ("INSERT DATA {", 1, 13, "'{' is never closed"),
        ("INSERT DATA { ( }", 1, 17, "'}' closes nothing"),
        ("INSERT DATA { } }", 1, 17, "closes nothing"),
        (
            "INSERT DATA { }\nINSERT DATA { }",
            2,
            1,
            "expected ';' or the end after an operation, found 'INSERT'",
        ),
        ("; INSERT DATA { }", 1, 1, "expected an update operation"),
        ("SELECT * { }", 1, 1, "expected an update operation, found 'SELECT'"),
        ("INSERT { } USING <a:b>", 1, 23, "expected WHERE"),
        ("DELETE { } INSERT WHERE { }", 1, 19, "expected '{'"),
        ("WITH <a:b> CLEAR ALL", 1, 12, "expected DELETE or INSERT"),
        ("CLEAR GRAPH e:g", 1, 13, "prefix 'e:' is not declared"),
        ("CLEAR GRAPH <g>", 1, 13, "relative and there is no base"),
        ("CLEAR GRAPH <a:b%zz>", 1, 13, "not an IRI"),
        ("CLEAR GRAPH ?g", 1, 13, "expected an IRI, found '?g'"),
        ("CLEAR", 1, 6, "expected GRAPH or DEFAULT or NAMED or ALL"),
        ("COPY <a:b> <a:c>", 1, 12, "expected TO"),
        ("CREATE <a:b>", 1, 8, "expected GRAPH"),
        ("PREFIX e <a:b>", 1, 8, "is no SPARQL 1.1 keyword"),
        ("PREFIX e:x <a:b>", 1, 8, "expected a prefix"),
        ("PREFIX e: e:x", 1, 11, "expected an IRI between < and >"),
        ("BASE <x>", 1, 6, "relative and there is no base"),
        ("INSERT DATA { _:a <a:b> 1 } ;\n INSERT DATA { _:a <a:b> 1 }", 2, 16, "two INSERT DATA operations"),
    ],
)
def test_errors(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(SparqlSyntax, match=message.replace("?", r"\?")) as refused:
        split(text)
    assert (refused.value.line, refused.value.column) == (line, column)


def test_a_label_may_stand_in_a_template_and_in_data() -> None:
    text = "INSERT DATA { _:a <a:b> 1 . _:a <a:b> 2 }" + " ; INSERT { _:a <a:b> 1 } WHERE { }" * 2
    assert len(split(text).operations) == 3
