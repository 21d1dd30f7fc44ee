"""Clients of a database behind HTTP, and what generated clients run on.

Reading order: `interface` (what a client knows of a contract), `wire` (values to JSON and back), `problems`
(problem documents to exceptions), `exchange` (attempts and doubt, without I/O), `batches` and `calls` (each
call as steps of an exchange), `http` (who carries the steps out), `remote` (`connect` and what it returns).
`transport` and `typed` are what modules written by `treadle generate python` import.
"""
