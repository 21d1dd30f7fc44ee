"""Random datasets and random updates over a few terms, so that operations meet one another."""

from __future__ import annotations

from hypothesis import strategies as st

from treadle.graph.terms import IRI, XSD, BlankNode, Literal, Quad

EX = "http://example.org/"
GRAPHS = [EX + name for name in ("g", "h", "k")]
NODES = [EX + name for name in ("a", "b", "c")]
PREDICATES = [EX + name for name in ("p", "q")]
LITERALS = [
    "1",
    "01",
    '"x"',
    '"x"@en',
    "true",
    "2.50",
    f'"7"^^<{XSD}int>',
    f'"2020-01-01T00:00:00+00:00"^^<{XSD}dateTime>',
]

iris = st.sampled_from(NODES).map(lambda iri: f"<{iri}>")
predicates = st.sampled_from(PREDICATES).map(lambda iri: f"<{iri}>")
graphs = st.sampled_from(GRAPHS).map(lambda iri: f"<{iri}>")
variables = st.sampled_from(["?x", "?y", "?z"])
labels = st.sampled_from(["_:l", "_:m"])
literals = st.sampled_from(LITERALS)
fresh = st.sampled_from(["[]", f"[ <{PREDICATES[0]}> 1 ]", f"( 1 <{NODES[0]}> )", "( )"])


@st.composite
def quads(draw: st.DrawFn) -> list[Quad]:
    """A small dataset in canonical spelling, two blank nodes among its terms."""
    nodes = [*(IRI(node) for node in NODES), BlankNode("n1"), BlankNode("n2")]
    values = [*nodes, Literal("1", XSD + "integer"), Literal("x"), Literal("x", language="en")]
    quad = st.builds(
        Quad,
        st.sampled_from(nodes),
        st.sampled_from([IRI(predicate) for predicate in PREDICATES]),
        st.sampled_from(values),
        st.sampled_from([None, IRI(GRAPHS[0]), IRI(GRAPHS[1])]),
    )
    return draw(st.lists(quad, max_size=8, unique=True))


def triples(
    *nodes: st.SearchStrategy[str],
    values: st.SearchStrategy[str],
    verbs: st.SearchStrategy[str],
    most: int = 3,
) -> st.SearchStrategy[str]:
    """One to `most` triples joined by dots."""
    triple = st.tuples(st.one_of(*nodes), verbs, values).map(" ".join)
    return st.lists(triple, min_size=1, max_size=most).map(" . ".join)


def blocks(inner: st.SearchStrategy[str], names: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Triples in the default graph, in a named one, or in both."""
    named = st.tuples(names, inner).map(lambda pair: f"GRAPH {pair[0]} {{ {pair[1]} }}")
    both = st.tuples(inner, st.sampled_from([" . ", " . "]), named).map("".join)
    return st.one_of(inner, named, both, st.tuples(named, inner).map(" ".join))


data_values = st.one_of(iris, literals, labels, fresh)
insert_data = blocks(triples(iris, labels, values=data_values, verbs=predicates), graphs).map(
    lambda inner: f"INSERT DATA {{ {inner} }}"
)
delete_data = blocks(triples(iris, values=st.one_of(iris, literals), verbs=predicates), graphs).map(
    lambda inner: f"DELETE DATA {{ {inner} }}"
)
pattern_triples = triples(
    variables,
    variables,
    iris,
    values=st.one_of(variables, variables, iris, literals),
    verbs=st.one_of(predicates, st.just("?p")),
    most=2,
)
delete_templates = blocks(pattern_triples, st.one_of(graphs, st.just("?g")))
insert_templates = blocks(
    triples(
        iris,
        variables,
        labels,
        values=st.one_of(iris, variables, literals, labels, fresh),
        verbs=st.one_of(predicates, st.just("?p"), variables),
    ),
    st.one_of(graphs, st.just("?g")),
)
delete_where = delete_templates.map(lambda inner: f"DELETE WHERE {{ {inner} }}")


@st.composite
def patterns(draw: st.DrawFn) -> str:
    """A WHERE clause without its braces."""
    group = draw(blocks(pattern_triples, st.one_of(graphs, st.just("?g"))))
    more = draw(
        st.lists(
            st.one_of(
                pattern_triples.map(lambda inner: f"OPTIONAL {{ {inner} }}"),
                pattern_triples.map(lambda inner: f"MINUS {{ {inner} }}"),
                st.tuples(pattern_triples, pattern_triples).map(
                    lambda two: "{{ {} }} UNION {{ {} }}".format(*two)
                ),
                st.sampled_from(
                    [
                        "FILTER(isIRI(?x))",
                        "FILTER NOT EXISTS { ?x ?p 1 }",
                        "BIND(STR(?y) AS ?w)",
                        "{ SELECT ?x (COUNT(*) AS ?z) WHERE { ?x ?p ?o } GROUP BY ?x }",
                        'VALUES ?y { 1 "x" UNDEF }',
                        f"?x <{PREDICATES[0]}>/<{PREDICATES[1]}>? ?z",
                        "GRAPH ?g { ?z ?q ?y }",
                    ]
                ),
            ),
            max_size=2,
        )
    )
    return " . ".join([group]) + " " + " ".join(more)


@st.composite
def modify(draw: st.DrawFn) -> str:
    """DELETE/INSERT … WHERE with or without WITH and USING."""
    deletes = draw(st.none() | delete_templates | st.just(""))
    inserts = draw(insert_templates if deletes is None else st.none() | insert_templates)
    parts = [f"WITH {draw(graphs)}"] if draw(st.booleans()) else []
    if deletes is not None:
        parts.append(f"DELETE {{ {deletes} }}")
    if inserts is not None:
        parts.append(f"INSERT {{ {inserts} }}")
    for name in draw(st.lists(graphs, max_size=2)):
        parts.append(f"USING {'NAMED ' if draw(st.booleans()) else ''}{name}")
    parts.append(f"WHERE {{ {draw(patterns())} }}")
    return " ".join(parts)


@st.composite
def management(draw: st.DrawFn) -> str:
    """CLEAR, DROP, CREATE, ADD, MOVE, COPY."""
    silent = draw(st.sampled_from(["", "SILENT "]))
    one = graphs.map(lambda name: f"GRAPH {name}")
    verb = draw(st.sampled_from(["CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY"]))
    if verb == "CREATE":
        return f"{verb} {silent}{draw(one)}"
    if verb in ("CLEAR", "DROP"):
        return f"{verb} {silent}{draw(st.one_of(one, st.sampled_from(['DEFAULT', 'NAMED', 'ALL'])))}"
    end = st.one_of(one, graphs, st.just("DEFAULT"))
    return f"{verb} {silent}{draw(end)} TO {draw(end)}"


operations = st.one_of(insert_data, delete_data, delete_where, modify(), modify(), management())


@st.composite
def updates(draw: st.DrawFn, most: int = 4) -> str:
    """One to `most` operations; labels of one INSERT DATA are kept out of the others."""
    chosen = draw(st.lists(operations, min_size=1, max_size=most))
    return " ;\n".join(
        text.replace("_:l", f"_:l{number}").replace("_:m", f"_:m{number}")
        for number, text in enumerate(chosen)
    )
