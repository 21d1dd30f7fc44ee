"""Claim and finish beside what most applications do on PostgreSQL, in one run on one machine, all durable.

Two peers do the same checks, the same idempotency and a log record of the same length, without a hash chain:
PL/pgSQL functions called by pgbench with prepared statements from 32 clients, and the same work statement by
statement through psycopg from 8 connections. PostgreSQL runs on loopback with its defaults and flushes before
it answers. Figures are commands a second, the median of three rounds that take turns.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import psycopg

from bench.work_queue import engine_rate, in_batches, in_threads
from tests.support import postgres

ROUNDS: Final = 3
CLIENTS: Final = 32
CONNECTIONS: Final = 8
EACH: Final = 100
"""Jobs of each pgbench client in a round; claimed and finished."""
STATEMENTS: Final = 1_000
"""Jobs of all psycopg connections in a round."""
RECORD: Final = 987
"""Bytes of a claim's record in Treadle's log."""

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS job (
  shop text, number bigint, title text, state text, printer uuid, held_until timestamptz, token bigint,
  attempts bigint, revision bigint, PRIMARY KEY (shop, number));
CREATE TABLE IF NOT EXISTS receipt (identity bytea PRIMARY KEY, input bytea, outcome text, number bigint);
CREATE TABLE IF NOT EXISTS log (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, data bytea, hash bytea);
TRUNCATE job, receipt, log;
INSERT INTO job SELECT 'main', n, 'a poster', 'Waiting', NULL, NULL, 0, 0, 1
  FROM generate_series(1, {jobs}) n;

CREATE OR REPLACE FUNCTION recorded(id bytea, body bytea, outcome text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE data bytea := body || convert_to(rpad(outcome, {record}), 'UTF8'); made bigint;
BEGIN
  INSERT INTO log (data, hash) VALUES (data, sha256(data)) RETURNING number INTO made;
  INSERT INTO receipt VALUES (id, sha256(body), outcome, made);
  RETURN outcome;
END $$;

CREATE OR REPLACE FUNCTION claim(
  key text, in_shop text, in_number bigint, who uuid, seconds int, expected bigint)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  id bytea := sha256(convert_to('claim/' || key, 'UTF8'));
  body bytea := convert_to(concat_ws('/', in_shop, in_number, who, seconds, expected), 'UTF8');
  old receipt; it job;
BEGIN
  SELECT * INTO old FROM receipt WHERE identity = id;
  IF FOUND THEN
    IF old.input <> sha256(body) THEN RAISE EXCEPTION 'idempotency_key_reused'; END IF;
    RETURN old.outcome;
  END IF;
  SELECT * INTO it FROM job WHERE shop = in_shop AND number = in_number FOR UPDATE;
  IF NOT FOUND THEN RETURN recorded(id, body, 'JobMissing'); END IF;
  IF it.state <> 'Waiting' THEN RETURN recorded(id, body, 'AlreadyPrinted'); END IF;
  IF seconds NOT BETWEEN 5 AND 900 THEN RETURN recorded(id, body, 'BadDuration'); END IF;
  IF it.revision <> expected THEN RETURN recorded(id, body, 'Stale'); END IF;
  IF it.printer IS NOT NULL AND it.held_until > now() THEN RETURN recorded(id, body, 'Taken'); END IF;
  UPDATE job SET printer = who, held_until = now() + seconds * interval '1 second', token = it.token + 1,
    attempts = it.attempts + 1, revision = it.revision + 1 WHERE shop = in_shop AND number = in_number;
  RETURN recorded(id, body, 'Claimed');
END $$;

CREATE OR REPLACE FUNCTION finish(
  key text, in_shop text, in_number bigint, who uuid, evidence bigint, expected bigint)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  id bytea := sha256(convert_to('finish/' || key, 'UTF8'));
  body bytea := convert_to(concat_ws('/', in_shop, in_number, who, evidence, expected), 'UTF8');
  old receipt; it job;
BEGIN
  SELECT * INTO old FROM receipt WHERE identity = id;
  IF FOUND THEN
    IF old.input <> sha256(body) THEN RAISE EXCEPTION 'idempotency_key_reused'; END IF;
    RETURN old.outcome;
  END IF;
  SELECT * INTO it FROM job WHERE shop = in_shop AND number = in_number FOR UPDATE;
  IF NOT FOUND THEN RETURN recorded(id, body, 'JobMissing'); END IF;
  IF it.revision <> expected THEN RETURN recorded(id, body, 'Stale'); END IF;
  IF it.printer IS DISTINCT FROM who OR it.token <> evidence THEN
    RETURN recorded(id, body, 'NotHolder');
  END IF;
  IF it.held_until <= now() THEN RETURN recorded(id, body, 'Lapsed'); END IF;
  IF it.state <> 'Waiting' THEN RETURN recorded(id, body, 'AlreadyPrinted'); END IF;
  UPDATE job SET state = 'Printed', printer = NULL, held_until = NULL, revision = it.revision + 1
    WHERE shop = in_shop AND number = in_number;
  RETURN recorded(id, body, 'Finished');
END $$;
"""

WHO: Final = "00000000-0000-0000-0000-000000000007"
SCRIPT: Final = f"""\\set i :i + 1
\\set n :client_id * {EACH} + :i
SELECT claim('c' || :n, 'main', :n, '{WHO}', 300, 1);
SELECT finish('f' || :n, 'main', :n, '{WHO}', 1, 2);
"""


def prepare(server: Any, jobs: int) -> None:
    """The tables with jobs that wait, and the functions."""
    server.ask(SCHEMA.format(jobs=jobs, record=RECORD - 60))


def functions(server: Any) -> float:
    """PL/pgSQL functions, called by pgbench."""
    prepare(server, CLIENTS * EACH)
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write(SCRIPT)
        script.flush()
        pgbench = Path(postgres.binaries() or "") / "pgbench"
        words = ["-n", "-M", "prepared", "-c", str(CLIENTS), "-j", "2", "-t", str(EACH), "-D", "i=0"]
        where = ["-h", "127.0.0.1", "-p", str(server.port), "-U", "treadle", "postgres"]
        program = str(pgbench) if pgbench.exists() else "pgbench"
        done = subprocess.run(
            [program, *words, "-f", script.name, *where], check=True, capture_output=True, text=True
        )
    found = re.search(r"tps = ([0-9.]+) \(without", done.stdout) or re.search(r"tps = ([0-9.]+)", done.stdout)
    assert found is not None, done.stdout
    counted = server.ask("SELECT count(*) FROM job WHERE state = 'Printed'")
    assert counted == [(CLIENTS * EACH,)], counted
    return 2 * float(found[1])


def statements(server: Any) -> float:
    """The same statement by statement, as most applications do it."""
    prepare(server, STATEMENTS)

    def worker(first: int) -> None:
        with psycopg.connect(server.url(None)) as connection:
            for number in range(first, STATEMENTS + 1, CONNECTIONS):
                _command(connection, "claim", number)
                _command(connection, "finish", number)

    threads = [threading.Thread(target=worker, args=(first,)) for first in range(1, CONNECTIONS + 1)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - started
    assert server.ask("SELECT count(*) FROM job WHERE state = 'Printed'") == [(STATEMENTS,)]
    return 2 * STATEMENTS / seconds


CLAIM: Final = """UPDATE job SET printer = %s, held_until = now() + interval '300 seconds', token = token + 1,
attempts = attempts + 1, revision = revision + 1 WHERE shop = 'main' AND number = %s"""
LOG: Final = "INSERT INTO log (data, hash) VALUES (%s, sha256(%s)) RETURNING number"
FINISH: Final = """UPDATE job SET state = 'Printed', printer = NULL, held_until = NULL,
revision = revision + 1 WHERE shop = 'main' AND number = %s"""


def _command(connection: Any, what: str, number: int) -> None:
    identity = f"{what}/{number}".encode()
    with connection.transaction():
        ask = connection.execute
        assert ask("SELECT outcome FROM receipt WHERE identity = %s", (identity,)).fetchone() is None
        row = ask("SELECT * FROM job WHERE shop = 'main' AND number = %s FOR UPDATE", (number,)).fetchone()
        assert row is not None and row[3] == "Waiting" and row[8] == (1 if what == "claim" else 2)
        if what == "claim":
            ask(CLAIM, (WHO, number))
        else:
            ask(FINISH, (number,))
        data = os.urandom(RECORD)
        made = ask(LOG, (data, data)).fetchone()
        assert made is not None
        ask("INSERT INTO receipt VALUES (%s, %s, %s, %s)", (identity, identity, what, made[0]))


def main() -> None:
    """Measure and print."""
    if postgres.binaries() is None:
        print("PostgreSQL is not installed (initdb, postgres, pgbench): nothing to compare with")
        return
    server = postgres.made(durable=True)
    try:
        sides: dict[str, Callable[[], float]] = {
            "Treadle on SQLite, batches of 100": lambda: engine_rate(in_batches(100)),
            "Treadle on SQLite, 32 threads, one command each": lambda: engine_rate(in_threads),
            "PL/pgSQL functions, pgbench, 32 clients": lambda: functions(server),
            "statement by statement, psycopg, 8 connections": lambda: statements(server),
        }
        rates: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(ROUNDS):
            for name, side in sides.items():
                rates[name].append(side())
    finally:
        postgres.removed(server)
    medians = {name: statistics.median(found) for name, found in rates.items()}
    for name, rate in medians.items():
        print(f"{name:<50} {rate:>8,.0f} commands/s")
    ours, threads, peer, plain = medians.values()
    print(f"batches against functions {ours / peer:.2f}, threads against functions {threads / peer:.2f}")
    print(f"batches against statements {ours / plain:.2f}, threads against statements {threads / plain:.2f}")


if __name__ == "__main__":
    main()
