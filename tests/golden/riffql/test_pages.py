"""The pages on named queries: every example compiles, every program runs, every number is the code's."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from tests.support.shared import ROOT
from treadle import limits
from treadle.model.contract import Contract
from treadle.riff import compile_contract
from treadle.riffql import compile_queries, format_queries
from treadle.riffql.codes import CODES

REFERENCE = (ROOT / "docs/reference/riffql.md").read_text("utf-8")
HOWTO = (ROOT / "docs/howto/queries.md").read_text("utf-8")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def contract_of(page: str) -> Contract:
    compiled = compile_contract(blocks(page, "riff")[0])
    assert compiled.contract is not None, compiled.render()
    return compiled.contract


@pytest.mark.parametrize("text", blocks(REFERENCE, "riffql") + blocks(HOWTO, "riffql"))
def test_every_example_compiles(text: str) -> None:
    contract = contract_of(HOWTO if text in HOWTO else REFERENCE)
    compiled = compile_queries(text, contract)
    assert compiled.queries is not None and not compiled.diagnostics, compiled.render()
    assert format_queries(text) is not None


def test_the_refusal_that_is_shown_is_the_compilers() -> None:
    (shown,) = blocks(REFERENCE, "text")
    line = re.search(r"^2 \| (.*)$", shown, re.MULTILINE)
    assert line is not None
    text = f"query Urgent($shop: Job.shop_id) {{\n{line[1]}\n  return Found {{ jobs: job {{ job_id }} }}\n}}"
    compiled = compile_queries(text, contract_of(REFERENCE), "jobs.riffq")
    assert compiled.render() == shown.rstrip("\n")


def test_the_table_of_codes_is_complete() -> None:
    listed = dict(re.findall(r"^\| ([QW]\d{3}) \| (.*) \|$", REFERENCE, re.MULTILINE))
    assert {code: text.replace("\\|", "|") for code, text in listed.items()} == CODES
    folder = ROOT / "src/treadle/riffql"
    sources = "".join(path.read_text("utf-8") for path in folder.glob("*.py") if path.name != "codes.py")
    assert set(re.findall(r'"([QW]\d{3})"', sources)) == set(CODES)


def test_the_bounds_are_the_codes() -> None:
    table = REFERENCE.split("## Bounds")[1].split("##")[0]
    for number in (
        limits.PAGE_ROWS,
        limits.QUERY_ROWS,
        limits.QUERY_EXAMINED,
        limits.QUERY_AGGREGATED,
        limits.QUERY_STATEMENTS,
    ):
        assert f"| {number:,}" in table
    assert f"{limits.QUERY_NESTING} deep" in table and f"{limits.QUERY_SECONDS} seconds" in table
    assert f"{limits.QUERY_BYTES // limits.MIB} MiB" in table
    assert f"{limits.QUERY_ENTRIES:,}" in REFERENCE and f"at most {limits.QUERY_RANGES} together" in REFERENCE


def test_the_programs_of_the_howto_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("queries").mkdir()
    Path("shop.riff").write_text(blocks(HOWTO, "riff")[0])
    Path("queries/jobs.riffq").write_text(blocks(HOWTO, "riffql")[0])
    told = io.StringIO()
    space: dict[str, object] = {}
    with contextlib.redirect_stdout(told):
        for program in blocks(HOWTO, "python"):
            exec(compile(program, "howto", "exec"), space)
    lines = told.getvalue().splitlines()
    assert lines[0] == "Found 3 jobs as of commit 5"
    assert sorted(lines[1:]) == [f"{each} at revision 1" for each in ("first", "second", "third")]
