"""`treadle prune`: old receipts become stubs, stubs are dropped."""

from __future__ import annotations

import pytest

from tests.unit.cli.conftest import JOB, SHOP, Call
from treadle.cli import prune
from treadle.retention.receipts import Pruned

ADD = ("run", "AddJob", f"shop_id={SHOP}", f"job_id={JOB}", "title=Menu", "--as", "desk", "--key", "twice")


def head(call: Call) -> int:
    return int(call("log", "--head").out.split(":")[0])


def test_receipts_then_stubs(job: Call) -> None:
    first = job(*ADD)
    number = head(job)
    dry = job("prune", "receipts", "--older-than", "0", "--dry-run")
    assert dry.out.startswith("would prune: ") and dry.out.endswith("nothing was changed\n")
    assert head(job) == number
    done = job("prune", "receipts", "--before", str(number + 1), "--json").json
    assert (done["dry_run"], done["through"], done["commits"]) == (False, number, [number + 1])
    assert done["keys"] > 0
    assert job("prune", "receipts", "--before", str(number + 1)).out == "nothing to prune\n"
    refused = job(*ADD)
    assert refused.code == 4 and "idempotency_key_expired" in refused.err
    assert job("verify").code == 0

    assert "--yes" in job("prune", "stubs", "--before", "2999-01-01").err
    assert job("prune", "stubs", "--before", "2999-01-01", "--dry-run").code == 0
    dropped = job("prune", "stubs", "--before", "2999-01-01", "--yes", "--as", "ann")
    assert f"up to record {number}; recorded as 1 commit up to {number + 2}" in dropped.out
    assert job(*ADD).code == first.code
    assert job("verify").code == 0
    assert "prune stubs  ann" in job("log").out


def test_what_to_say(job: Call) -> None:
    for wrong in (("receipts",), ("receipts", "--older-than", "1", "--before", "2")):
        assert job("prune", *wrong).code == 2
    assert job("prune", "receipts", "--before", "99").code != 0
    assert job("prune", "stubs", "--before", "yesterday").code == 2


def test_the_log_then_the_file(job: Call) -> None:
    number = head(job)
    assert "the last one stays" in job("prune", "log", "--through", str(number)).err
    dry = job("prune", "log", "--through", str(number - 1), "--dry-run").out
    assert "bytes of records go" in dry and dry.endswith("nothing was changed\n")
    done = job("prune", "log", "--through", str(number - 1), "--json").json
    assert (done["through"], head(job)) == (number - 1, number + len(done["commits"])) and done["bytes"]
    assert f"records up to {number - 1} were pruned" in job("verify").out
    shown = job("log")
    assert shown.out.split()[0] == str(number) and f"records up to {number - 1} were pruned" in shown.err
    assert "were pruned" not in job("log", "--from", str(number)).err
    assert job("prune", "log", "--through", str(number - 1)).out == "nothing to prune\n"
    size = job("vacuum", "--json").json
    assert 0 < size["after"] <= size["before"] and "bytes now" in job("vacuum").out


def test_the_log_by_age(job: Call) -> None:
    for wrong in ((), ("--through", "2", "--older-than", "1")):
        assert job("prune", "log", *wrong).code == 2
    assert job("prune", "log", "--older-than", "1").out == "nothing to prune\n"
    number = head(job)
    done = job("prune", "log", "--older-than", "0", "--json").json
    assert done["through"] == number - 1 and job("verify").code == 0


def test_the_windows_of_the_settings(job: Call) -> None:
    refused = job("prune", "windows")
    assert refused.code == 2 and "[retention]" in refused.err
    one = ("--set", "retention.receipts_days=30")
    assert job("prune", "windows", *one).out == "nothing to prune\n"
    both = (*one, "--set", "retention.log_days=365")
    assert job("prune", "windows", *both).out == "nothing to prune\n" * 2
    dry = job("prune", "windows", *both, "--dry-run")
    assert dry.out.count("nothing was changed") == 2
    shown = job("prune", "windows", *both, "--json").json
    assert (shown["dry_run"], shown["log"]["through"], shown["held"]) == (False, 0, "")
    assert job("prune", "windows", "--set", "retention.log_days=0").code == 2


def test_one_is_said_as_one(capsys: pytest.CaptureFixture[str]) -> None:
    for count, said in ((1, "1 receipt becomes a stub, up to"), (2, "2 receipts become stubs, up to")):
        prune._say(Pruned(7, count), prune.RECEIPTS, json=False, dry_run=True)
        assert said in capsys.readouterr().out
