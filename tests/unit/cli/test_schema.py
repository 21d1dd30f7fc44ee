"""`treadle schema`: the whole contract's JSON Schema, or that of one command or query."""

from __future__ import annotations

from pathlib import Path

import jsonschema_rs

from tests.unit.cli.conftest import JOB, SHOP, Call

QUERY = """query OneJob($shop: Job.shop_id, $job: Job.job_id) {
  one job from Job where job.shop_id == $shop && job.job_id == $job else NoJob
  return Found { title: job.title }
  outcomes Found | NoJob
}
"""


def add_query(text: str) -> None:
    Path("one.riffq").write_text(text)
    settings = Path("treadle.toml")
    settings.write_text(settings.read_text().replace("queries/*.riffq", "one.riffq"))


def test_the_whole_contract(project: Call) -> None:
    add_query(QUERY)
    document = project("schema").json
    assert document["title"] == "Shop version 1"
    assert {"command.Claim.input", "command.Claim.outcome.Taken", "query.OneJob.page"} <= set(
        document["$defs"]
    )
    named = project("schema", "shop.riff").json
    assert "query.OneJob.page" not in named["$defs"], "a named file is looked at alone"


def test_what_run_takes_and_prints_is_valid(job: Call) -> None:
    schemas = job("schema", "Finish").json
    given = {
        "shop_id": SHOP,
        "job_id": JOB,
        "key": "k",
        "printer_id": JOB,
        "token": 1,
        "expected_revision": 1,
    }
    assert jsonschema_rs.validator_for(schemas["input"]).is_valid(given)
    words = [f"{name}={value}" for name, value in given.items() if name != "key"]
    receipt = job("run", "Finish", *words, "--as", "desk", "--key", "k", "--json").json
    assert receipt["outcome"] == "NotHolder"
    assert jsonschema_rs.validator_for(schemas["receipt"]).is_valid(receipt)
    assert jsonschema_rs.validator_for(schemas["outcomes"]["NotHolder"]).is_valid(receipt["fields"])


def test_a_query(project: Call) -> None:
    add_query(QUERY)
    assert set(project("schema", "OneJob").json) == {"parameters", "page"}
    Path("one.riffq").write_text(QUERY.replace("job.title", "job.titel"))
    done = project("schema", "OneJob")
    assert done.code == 1 and "error Q002" in done.err and done.out == ""


def test_an_unknown_name(project: Call) -> None:
    done = project("schema", "Clam")
    assert done.code == 4 and "no command Clam in contract Shop; the nearest is Claim" in done.err
