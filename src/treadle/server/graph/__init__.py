"""The graph over HTTP: the SPARQL 1.1 Protocol, the Graph Store Protocol, and a few routes beside them.

In reading order: `parameters` (what comes in), `negotiation` (what may go out), `carrying` (changes from the
loop), `queries`, `updates`, `graph_store`, `knots`, `description` (what a SPARQL service says of itself),
`about` (OpenAPI), `routes`.
"""
