"""Texts that kill or hang the SPARQL store: the process lives, and what is let through is planned in time.

Each runs in a process of its own, since the point is that the process might die.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.hostile import DEADLY, FORMS
from tests.support.shared import ROOT

SECONDS = 25
"""Far more than any text within the bounds takes, on a busy machine too."""

PROGRAM = """
import sys
from tests.support.hostile import BOUNDS, DEADLY, FORMS
from tests.support.sparql import index_of
from treadle.errors import SparqlError, SparqlLimit
from treadle.graph.evaluation import Evaluator
from treadle.graph.load import load_delta
from treadle.graph.query import Query
from treadle.graph.sparql.update import compute_delta
from treadle.graph.terms import IRI, Literal, Quad

P = IRI("http://e/p")
index = index_of([Quad(P, P, P), Quad(P, P, Literal("x"))])
evaluator = Evaluator()

def ask(text):
    return evaluator.run(lambda stopped: Query.read(text, now=0).run(index, most=1_000), timeout=20)

def write(text, path=None):
    work = lambda stopped: compute_delta(index, text, now=0, labels="x", most=1_000, path=path)
    return evaluator.run(work, timeout=20)

def load(document, format):
    work = lambda stopped: load_delta(index, document, format, labels="x", most=1_000)
    return evaluator.run(work, timeout=20)

def attempt(work, *arguments):
    try:
        work(*arguments)
        return "answered"
    except SparqlLimit:
        return "limit"
    except SparqlError as refused:
        return refused.code

{body}
print("alive")
"""


def run(body: str) -> list[str]:
    """What a process prints, line by line; it must end by itself, and well."""
    program = PROGRAM.replace("{body}", body)
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert ended.returncode == 0, f"the process died with {ended.returncode}: {ended.stderr[-500:]}"
    *lines, last = ended.stdout.split()
    assert last == "alive"
    return lines


def test_what_the_bounds_let_through_is_planned_in_time() -> None:
    lines = run(
        """
for name in FORMS:
    text = FORMS[name](BOUNDS[name][0])
    print(name, attempt(ask, text))
"""
    )
    answers = dict(zip(lines[::2], lines[1::2], strict=True))
    assert set(answers) == set(FORMS)
    assert set(answers.values()) <= {"answered", "limit"}, answers  # limit: an answer of too many rows


def test_the_worst_that_may_be_joined() -> None:
    """The largest star, each statement with a path, in as many union arms as the tokens allow."""
    assert run(
        """
star = " . ".join(f"?s <http://e/p{n}> ?v{n}" for n in range(64))
arms = " UNION ".join(["{ " + star + " }"] * 15)
print(attempt(ask, "SELECT * { " + arms + " }"))
print(attempt(ask, "SELECT * { " + star + " . ?s " + "/".join(["<http://e/p>"] * 51) + " ?o }"))
"""
    ) == ["answered", "limit"]


def test_what_would_kill_the_store_is_refused() -> None:
    lines = run(
        """
for name, size in DEADLY.items():
    text = FORMS[name](size)
    pattern = "{ " + text + " }"
    for path in ("direct", "sequence"):
        print(attempt(write, "INSERT { <a:a> <a:a> 1 } WHERE " + pattern, path))
    print(attempt(ask, text))
"""
    )
    assert lines == ["limit"] * 3 * len(DEADLY)


@pytest.mark.parametrize("name", ["groups-nested", "calls-nested", "concat-doubling"])
def test_they_do_kill_the_store_alone(name: str) -> None:
    """Without this the test above would say nothing."""
    program = f"""
import threading, resource
import pyoxigraph as ox
from tests.support.hostile import FORMS, DEADLY
resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
store = ox.Store()
store.update('INSERT DATA {{ <a:a> <a:a> "x" }}')
threading.stack_size(64 << 20)
thread = threading.Thread(target=lambda: list(store.query(FORMS[{name!r}](DEADLY[{name!r}]))))
thread.start()
thread.join()
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, timeout=SECONDS, check=False
    )
    assert ended.returncode < 0, "the store now survives this: the bound may be lifted"


def test_documents_that_would_kill_or_hang_a_parser() -> None:
    answers = run(
        """
MANY = 100_000
RDF = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/"'
entities = '<!ENTITY l0 "lolololol">'
for n in range(1, 10):
    entities += f'<!ENTITY l{n} "{("&l%d;" % (n - 1)) * 10}">'
body = '<e:D><e:p>&l9;</e:p></e:D>'
star = '<<( <a:a> <a:a> ' * MANY + '1' + ')>>' * MANY + '.'
documents = [
    ("rdfxml", f'<!DOCTYPE r [{entities}]><rdf:RDF {RDF}>{body}</rdf:RDF>'),
    ("rdfxml", f'<!-- x --><!DOCTYPE r SYSTEM "file:///etc/hostname"><rdf:RDF {RDF}/>'),
    ("rdfxml", f'<rdf:RDF {RDF}>' + '<e:D><e:p>' * MANY + '</e:p></e:D>' * MANY + '</rdf:RDF>'),
    ("turtle", '<a:a> <a:a> ' + star),
    ("turtle", 'PREFIX e: <a:> e:a\\\\#b e:a ' + star),
    ("turtle", '<a:a> <a:a> ' + '[ <a:a> ' * MANY + '1' + ']' * MANY + '.'),
    ("turtle", '<a:a> <a:a> ' + '(' * MANY + ')' * MANY + '.'),
    ("jsonld", '{"http://e/p":' * MANY + '1' + '}' * MANY),
    ("jsonld", '[' * MANY + ']' * MANY),
]
for format, document in documents:
    print(attempt(load, document, format))
"""
    )
    syntax, limit = "sparql_syntax", "limit"
    assert answers == [syntax, syntax, limit, syntax, syntax, limit, limit, syntax, syntax]
