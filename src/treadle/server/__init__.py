"""The HTTP server: one Starlette application on uvicorn, over one open database.

Reading order: `options` (what may be set), `service` (what all routes share), `auth` (who sends a request),
`call` (one request), `answers`, `problems` and `sending` (what goes back), `endpoint` (a route with what it
needs and says of itself), then one module for each group of routes: `commands`, `lines`, `named`, `streams`,
`working`, `history`, `contract`, `interface`, `workflows`, `why`, `operations`, `documents`, and the package
`graph`.
`app` puts groups together, `gate` stands before all of them, `described`, `openapi` and `schemas` describe
them, `metrics` and `sampling` measure, `tracing` and `logs` tell, `protocol` and `lifecycle` run it.

A further group of routes is a module with a tuple `ENDPOINTS`; `app.GROUPS` lists the groups.
"""
