"""The graph of an open database: its index follows the log, and every change goes through the batch.

In reading order: `stored` (statements and switches as the store keeps
them), `rules` (what holds in a transaction), `gate` (answers wait for the disk), `following` (the index and
its turn in a batch), `changes` (what a change answers), `committing` (guard, record, index), `refusals`,
`jobs`, `attempts` (an update tried outside and carried out inside), `registered` and `acts` (what an operator
does), `bringing` (signed history), `audit` (what a verification asks), `exporting`, `core` and `surface`
(`db.graph`).
"""
