"""JSON Schema of what a contract takes and answers: the whole contract's, one command's, one query's."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema_rs
import pytest

from tests.support.query_contract import contract as everything
from treadle import limits
from treadle.errors import UnknownName
from treadle.model.contract import Contract
from treadle.plan.json_schema import (
    DIALECT,
    Schemas,
    command_document,
    contract_document,
    query_document,
    up_to,
)
from treadle.riff import compile_contract
from treadle.riffql import compile_queries

SOURCE = """
contract Shop version 3 {
  enum State { Waiting, Done }
  entity Job {
    key (shop: u64, job: uuid)
    field state: State
    field title: string<20>
    field note: optional<string<200>>
    field at: timestamp
  }
  aggregate Jobs { root Job partition_by shop conflict_key (shop, job) }
  workflow JobLife { entity Job state state initial Waiting transition Finish from (Waiting) to Done }
  command Add {
    input key: string<128>
    input shop: u64
    input job: uuid
    input title: string<20>
    input note: optional<string<200>>
    idempotency_key key
    create Job(shop, job) as job_ else JobExists { shop: shop }
    set job_.title = title
    set job_.note = note
    set job_.at = tx.time
    return Added { job: job_ }
  }
  reimport command Restore {
    input records: list<Job, 1..8>
    reconstitute Job from records else JobExists {}
    return Restored {}
  }
}
"""
QUERY = """
query Jobs($shop: Job.shop, $state: optional<State>, $cursor: optional<string<200>>) {
  many job from Job where job.shop == $shop take 10
  return Found { jobs: job { job note revision } }
}
query OneJob($shop: Job.shop, $job: Job.job) {
  one job from Job where job.shop == $shop && job.job == $job else NoJob
  return Found { title: job.title job: job }
  outcomes Found | NoJob
}
"""
JOB = {"shop": 1, "job": "123e4567-e89b-12d3-a456-426614174000", "state": "Done", "title": "Menu"}


@pytest.fixture(scope="module")
def contract() -> Contract:
    compiled = compile_contract(SOURCE)
    assert compiled.contract is not None, compiled.render()
    return compiled.contract


def valid(schema: Any, value: object) -> bool:
    return jsonschema_rs.validator_for(schema, validate_formats=True).is_valid(value)


def test_a_command_takes_its_inputs(contract: Contract) -> None:
    schema = command_document(contract, "Add")["input"]
    assert schema["$schema"] == DIALECT and schema["title"] == "Add input"
    assert schema["required"] == ["key", "shop", "job", "title"], "an absent optional may lack"
    good = {"key": "k", "shop": "18446744073709551615", "job": JOB["job"], "title": "Menu"}
    assert valid(schema, good) and valid(schema, good | {"note": None})
    refused: tuple[object, ...] = (
        good | {"key": ""},
        good | {"shop": "18446744073709551616"},
        good | {"shop": -1},
        good | {"job": "123e4567"},
        good | {"title": "x" * 21},
        good | {"title": "a\0"},
        good | {"other": 1},
        {"key": "k"},
        [],
    )
    for bad in refused:
        assert not valid(schema, bad), bad
    assert set(schema["$defs"]) == {"treadle.u64", "treadle.uuid"}, "it holds what it needs"


def test_every_outcome_has_its_fields(contract: Contract) -> None:
    document = command_document(contract, "Add")
    assert list(document["outcomes"]) == ["JobExists", "Added"]
    job = JOB | {"note": None, "at": "2026-01-31T12:00:00Z"}
    added = document["outcomes"]["Added"]
    assert valid(added, {"job": job}) and not valid(added, {"job": JOB}), "going out, every field is there"
    assert valid(document["outcomes"]["JobExists"], {"shop": 4})
    receipt = {
        "outcome": "Added",
        "fields": {"job": job},
        "workflow_revisions": [{"binding": "job_", "revision": 1}],
        "commit": 7,
        "time": "2026-01-31T12:00:00.5Z",
        "history": "1",
        "replayed": False,
    }
    assert valid(document["receipt"], receipt)
    assert not valid(document["receipt"], receipt | {"outcome": "JobExists"}), "each outcome has its form"
    assert not valid(document["receipt"], receipt | {"more": 1})


def test_a_reimport_takes_records(contract: Contract) -> None:
    schema = command_document(contract, "Restore")["input"]
    assert valid(schema, {"records": [JOB | {"at": "2026-01-31T12:00:00+01:00"}]})
    assert not valid(schema, {"records": []}) and not valid(schema, {"records": [JOB]})


def test_a_query_takes_parameters_and_answers_pages(contract: Contract) -> None:
    compiled = compile_queries(QUERY, contract)
    assert compiled.queries is not None, compiled.render()
    jobs, one = (query_document(contract, query) for query in compiled.queries)
    assert valid(jobs["parameters"], {"shop": 1}) and not valid(jobs["parameters"], {})
    common = {"next": None, "commit": 3, "after_commit": None, "history": "1"}
    listed = {"jobs": [{"job": JOB["job"], "note": None, "revision": 2}]}
    assert valid(jobs["page"], {"outcome": "Found", "fields": listed, **common})
    found = {"title": "Menu", "job": JOB | {"note": "x", "at": "2026-01-31T12:00:00Z"}}
    assert valid(one["page"], {"outcome": "Found", "fields": found, **common})
    assert valid(one["page"], {"outcome": "NoJob", "fields": {}, **common})
    assert not valid(one["page"], {"outcome": "NoJob", "fields": found, **common})
    assert not valid(one["page"], {"outcome": "Found", "fields": {"title": None, "job": None}, **common})


def test_one_document_for_the_whole_contract(contract: Contract) -> None:
    queries = compile_queries(QUERY, contract).queries
    assert queries is not None
    document = contract_document(contract, queries)
    assert document["title"] == "Shop version 3" and document["$id"].endswith(contract.identity)
    names = set(document["$defs"])
    assert {"State", "Job", "Job.input", "command.Add.input", "command.Add.outcome.Added"} <= names
    assert {"command.Restore.receipt", "query.Jobs.parameters", "query.OneJob.page"} <= names
    for name in names:
        jsonschema_rs.validator_for({"$ref": f"#/$defs/{name}", "$defs": document["$defs"]})
    assert jsonschema_rs.meta.is_valid(document)
    assert json.loads(json.dumps(document)) == document


def test_a_prefix_for_other_documents(contract: Contract) -> None:
    schemas = Schemas(contract, prefix="#/components/schemas/")
    fields = schemas.object(contract.entities[0].members, out=True)["properties"]
    assert fields["state"] == {"$ref": "#/components/schemas/State"}
    assert "#/$defs/" not in json.dumps(schemas.definitions())


def test_every_type_has_a_schema() -> None:
    contract = everything()
    definitions = Schemas(contract).definitions()
    for field in contract.entities[0].members:
        schema = Schemas(contract).alone("it", Schemas(contract).schema(field.type, out=True))
        assert jsonschema_rs.meta.is_valid(schema) and valid(schema, None) == ("optional" in str(field.type))
    assert set(definitions["Item"]["properties"]) == {field.name for field in contract.entities[0].members}


def test_an_unknown_command_names_the_nearest(contract: Contract) -> None:
    with pytest.raises(UnknownName, match="no command Ad in contract Shop; the nearest is Add"):
        command_document(contract, "Ad")


@pytest.mark.parametrize("most", [10, 99, 255, 1000, 65_535, limits.I64_MAX, -limits.I64_MIN, limits.U64_MAX])
def test_digits_up_to_a_bound(most: int) -> None:
    pattern = re.compile(up_to(most))
    near = range(most - 1_100, most + 1_100)
    for number in [*range(1_200), *near, most * 10, most * 10 + 1]:
        assert bool(pattern.fullmatch(str(number))) == (0 <= number <= most), number
    assert not pattern.fullmatch("00") and not pattern.fullmatch("01") and not pattern.fullmatch("")
