"""PostgreSQL's errors as ours; what they say holds no value."""

from __future__ import annotations

import psycopg
import pytest

from treadle import errors
from treadle.ports.store import GaveWay
from treadle.store.postgres.failures import Lost, translated


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("08006", Lost),
        ("22021", errors.InvalidInput),
        ("23505", errors.InvariantBroken),
        ("25006", errors.ReadOnly),
        ("25P03", Lost),
        ("40001", GaveWay),
        ("40P01", GaveWay),
        ("42501", errors.ReadOnly),
        ("42601", errors.InvariantBroken),
        ("42P01", errors.DatabaseCorrupt),
        ("53100", errors.DiskFull),
        ("53300", errors.Busy),
        ("54000", errors.TooLarge),
        ("54011", errors.TooLarge),
        ("55P03", errors.Busy),
        ("57014", errors.Busy),
        ("57P01", Lost),
        ("58030", errors.StoreError),
        ("XX001", errors.DatabaseCorrupt),
    ],
)
def test_each_state_is_an_error_of_ours(state: str, expected: type[errors.TreadleError]) -> None:
    error = psycopg.errors.lookup(state)("Key (name)=(s3cret) already exists.")
    found = translated(error)
    assert type(found) is expected
    assert "s3cret" not in str(found)


def test_an_error_without_a_state_is_a_lost_connection() -> None:
    assert type(translated(psycopg.OperationalError("server closed the connection"))) is Lost
    assert type(translated(psycopg.InterfaceError("x"), lost=True)) is Lost
    assert type(translated(psycopg.ProgrammingError("x"))) is errors.InvariantBroken
