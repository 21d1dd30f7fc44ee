"""From a request to a durable receipt.

Reading order: `job` and `ticket` (a request and how its caller waits), `coordinator` (who leads a
batch), `state` (what is deployed), `overlay` (rows as the batch sees them), `batch` (one transaction),
`command` (a command's turn in it), `deployment`, `receipt`, `database` (all of it behind one handle).
"""
