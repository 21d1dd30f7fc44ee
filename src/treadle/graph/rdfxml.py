"""RDF/XML for clients that know nothing else: written by the store, and read back before it is given out.

RDF/XML cannot write every graph: a predicate must end in an XML name, and XML has no control characters. The
store's writer does not mind, so what it wrote is parsed again, and refused where it says something else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from xml.parsers import expat

import pyoxigraph as ox

from treadle.errors import SparqlError


def written(triples: Iterable[Any]) -> bytes:
    """Triples of the store as RDF/XML.

    Raises:
        SparqlError: code `not_acceptable`, RDF/XML cannot write them.
    """
    given = list(dict.fromkeys(triples))
    text = ox.serialize(given, format=ox.RdfFormat.RDF_XML) or b""
    try:
        expat.ParserCreate("utf-8", " ").Parse(text, True)  # the store's reader takes what is no XML, too
        same = _shape(given) == _shape([quad.triple for quad in ox.parse(text, ox.RdfFormat.RDF_XML)])
    except (expat.ExpatError, SyntaxError, ValueError):
        same = False
    if not same:
        raise SparqlError(
            "RDF/XML cannot write a predicate or a character of this answer; ask for text/turtle",
            code="not_acceptable",
        )
    return text


def _shape(triples: Sequence[Any]) -> set[str]:
    """The triples with blank nodes named by the shape of the data."""
    dataset = ox.Dataset(ox.Quad(*triple) for triple in triples)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
    return {str(quad) for quad in dataset}
