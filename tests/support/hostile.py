"""Texts that hurt the store's parser, planner or evaluator as they grow, and how far each may grow.

`FORMS` maps a name to a function from a size to a query.  `BOUNDS` gives the largest size that is let through
and the next one that is refused, and `DEADLY` a size at which the store alone dies or takes minutes.
"""

from __future__ import annotations

from collections.abc import Callable

P = "<http://e/p>"


def times(piece: str, count: int, glue: str = " ") -> str:
    return glue.join([piece] * count)


def numbered(piece: str, count: int, glue: str = " ") -> str:
    """`piece` with # replaced by 0, 1, …, and ## by the next number."""
    return glue.join(piece.replace("##", str(at + 1)).replace("#", str(at)) for at in range(count))


def filtered(expression: str) -> str:
    return f"SELECT * {{ ?s ?p ?o FILTER({expression}) }}"


def where(pattern: str) -> str:
    return f"SELECT * {{ {pattern} }}"


FORMS: dict[str, Callable[[int], str]] = {
    "parentheses": lambda n: filtered("(" * n + "1" + ")" * n),
    "groups-nested": lambda n: where("{" * n + "?s ?p ?o" + "}" * n),
    "graphs-nested": lambda n: where("GRAPH ?g {" * n + "?s ?p ?o" + "}" * n),
    "exists-nested": lambda n: where("?s ?p ?o " + "FILTER EXISTS { ?s ?p ?o " * n + "}" * n),
    "subselects-nested": lambda n: where("{ SELECT * {" * n + "?s ?p ?o" + "}}" * n),
    "calls-nested": lambda n: filtered("STR(" * n + "1" + ")" * n),
    "if-nested": lambda n: filtered("IF(?o, 1, " * n + "1" + ")" * n),
    "or": lambda n: filtered(times("?o", n + 1, " || ")),
    "and": lambda n: filtered(times("?o", n + 1, " && ")),
    "plus": lambda n: filtered(times("?o", n + 1, " + ")),
    "signed-numbers": lambda n: filtered("?o " + times("+1", n)),
    "not": lambda n: filtered("!" * n + "?o"),
    "union": lambda n: where(times("{ ?s ?p ?o }", n + 1, " UNION ")),
    "minus": lambda n: where("?s ?p ?o " + times("MINUS { ?s ?p ?o }", n)),
    "filters": lambda n: where("?s ?p ?o " + times("FILTER(?o)", n)),
    "binds": lambda n: where(numbered("BIND(1 AS ?x#)", n)),
    "binds-chained": lambda n: where("BIND(1 AS ?x0) " + numbered("BIND(?x# + ?x# AS ?x##)", n)),
    "columns": lambda n: f"SELECT {numbered('(1 AS ?x#)', n)} {{ ?s ?p ?o }}",
    "optional": lambda n: where("?s ?p ?o " + times("OPTIONAL { ?s ?p ?o }", n)),
    "optional-nested": lambda n: where("OPTIONAL { ?s ?p ?o " * n + "}" * n),
    "path-steps": lambda n: where(f"?s {times(P, n + 1, '/')} ?o"),
    "path-alternatives": lambda n: where(f"?s {times(P, n + 1, '|')} ?o"),
    "path-stars-nested": lambda n: where("?s " + "(" * n + P + ")*" * n + " ?o"),
    "chain": lambda n: where(numbered(f"?v# {P} ?v## .", n)),
    "star": lambda n: where(numbered("?s <http://e/p#> ?v# .", n)),
    "semicolons": lambda n: where("?s " + numbered("<http://e/p#> ?v#", n, " ; ")),
    "commas": lambda n: where("?s <http://e/p> " + numbered("?v#", n, " , ")),
    "brackets": lambda n: where(numbered("[ <http://e/p> ?v# ] .", n)),
    "brackets-nested": lambda n: where(
        "?s <http://e/p> " + "[ <http://e/p> " * (n - 1) + "?o" + " ]" * (n - 1)
    ),
    "collection": lambda n: where(f"?s {P} ( {numbered('?v#', n)} )"),
    "groups": lambda n: where(numbered(f"{{ ?v# {P} ?v## }}", n)),
    "graphs": lambda n: where(numbered(f"GRAPH <http://e/g> {{ ?v# {P} ?v## }}", n)),
    "joined-unions": lambda n: where(times("{ ?s ?p ?o } UNION { ?o ?p ?s }", n)),
    "constant-subjects": lambda n: where(numbered(f"<http://e/s#> {P} ?v# .", n)),
    "tokens": lambda n: filtered(f"?o IN ({times('?o', n, ',')})"),
    "concat-doubling": lambda n: where("?s ?p ?x0 " + numbered("BIND(CONCAT(?x#, ?x#) AS ?x##)", n)),
    "concat-wide": lambda n: where(
        "?s ?p ?x0 " + numbered("BIND(CONCAT(" + times("?x#", 100, ",") + ") AS ?x##)", n)
    ),
    "replace": lambda n: where(
        "BIND('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS ?x0) "
        + numbered("BIND(REPLACE(?x#, '.', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa') AS ?x##)", n)
    ),
}
BOUNDS: dict[str, tuple[int, int]] = {
    "parentheses": (98, 99), "groups-nested": (99, 100), "graphs-nested": (99, 100), "exists-nested":
    (99, 100), "subselects-nested": (49, 50), "calls-nested": (98, 99), "if-nested": (98, 99), "or":
    (500, 501), "and": (500, 501), "plus": (500, 501), "signed-numbers": (500, 501), "not": (500,
    501), "union": (500, 501), "minus": (500, 501), "filters": (500, 501), "binds": (500, 501),
    "binds-chained": (499, 500), "columns": (500, 501), "optional": (50, 51), "optional-nested": (50,
    51), "path-steps": (50, 51), "path-alternatives": (500, 501), "path-stars-nested": (99, 100),
    "chain": (64, 65), "star": (64, 65), "semicolons": (64, 65), "commas": (64, 65), "brackets": (32,
    33), "brackets-nested": (64, 65), "collection": (31, 32), "groups": (64, 65), "graphs": (64, 65),
    "joined-unions": (64, 65), "constant-subjects": (256, 257), "tokens": (2040, 2050),
    "concat-doubling": (12, 13), "concat-wide": (1, 2), "replace": (2, 3),
}  # fmt: skip
DEADLY = {
    "groups-nested": 20_000, "exists-nested": 20_000, "subselects-nested": 20_000, "calls-nested": 20_000,
    "if-nested": 20_000, "or": 20_000, "union": 20_000, "binds": 20_000, "optional": 500, "columns": 20_000,
    "path-steps": 2_000, "path-stars-nested": 20_000, "chain": 2_000, "star": 500, "collection": 500,
    "groups": 2_000, "graphs": 2_000, "brackets-nested": 2_000, "constant-subjects": 2_000,
    "concat-doubling": 60, "replace": 30,
}  # fmt: skip
