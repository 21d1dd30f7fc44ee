"""What a SPARQL service says of itself where no query is asked (SPARQL 1.1 Service Description)."""

from __future__ import annotations

from typing import Any, Final

import pyoxigraph as ox

from treadle.graph.load import FORMATS
from treadle.server.answers import Answer
from treadle.server.call import Call
from treadle.server.graph import parameters
from treadle.server.graph.negotiation import GRAPHS, VARY, chosen

SD: Final = "http://www.w3.org/ns/sparql-service-description#"
FORMAT: Final = "http://www.w3.org/ns/formats/"
RESULTS: Final = (
    "SPARQL_Results_JSON", "SPARQL_Results_XML", "SPARQL_Results_CSV", "SPARQL_Results_TSV", "Turtle",
    "N-Triples", "JSON-LD", "RDF_XML",
)  # fmt: skip
DOCUMENT: Final = f"""
@prefix sd: <{SD}> .
[] a sd:Service ;
  sd:endpoint <> ;
  sd:supportedLanguage sd:SPARQL11Query , sd:SPARQL11Update ;
  sd:resultFormat {" , ".join(f"<{FORMAT}{name}>" for name in RESULTS)} ;
  sd:inputFormat <{FORMAT}Turtle> , <{FORMAT}N-Triples> ;
  sd:defaultDataset [ a sd:Dataset ; sd:defaultGraph [ a sd:Graph ] ] .
"""


async def describe(call: Call) -> Answer:
    """The description, in the form that the client accepts."""
    offer = chosen(call, GRAPHS)
    triples: Any = [
        quad.triple for quad in ox.parse(DOCUMENT, FORMATS["turtle"], base_iri=parameters.base_of(call))
    ]
    body = ox.serialize(triples, format=FORMATS[offer.format], prefixes={"sd": SD}) or b""
    return Answer(200, body, offer.header, VARY)
