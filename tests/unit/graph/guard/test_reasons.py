"""The table of reasons and the page that explains it are one."""

from __future__ import annotations

import re

from tests.support.shared import ROOT
from treadle.graph.doctor import REMEDIES
from treadle.graph.guard.reasons import BY_NAME, ORDER, REASONS, markdown_table

PAGE = (ROOT / "docs/explain/guard.md").read_text(encoding="utf-8")
ENROLL = (ROOT / "docs/howto/enroll.md").read_text(encoding="utf-8")


def test_the_page_shows_the_table_of_the_code() -> None:
    shown = PAGE.split("<!-- reasons")[1].split("-->\n", 1)[1].split("<!-- end of reasons -->")[0]
    assert shown == markdown_table()


def test_every_row_has_five_cells() -> None:
    for line in markdown_table().splitlines():
        assert len(re.findall(r"(?<!\\)\|", line)) == 6, line


def test_names_are_unique_and_say_something() -> None:
    assert len(BY_NAME) == len(ORDER) == len(REASONS)
    for reason in REASONS:
        assert re.fullmatch(r"[a-z]+(_[a-z]+)+", reason.name)
        assert reason.when
        assert reason.remedy
        assert reason.mode in ("always", "enrolled", "signed")


def test_the_guide_explains_every_finding_of_doctor() -> None:
    assert [code for code in REMEDIES if f"`{code}`" not in ENROLL] == []


def test_the_guide_names_every_reason_of_the_client() -> None:
    folder = ROOT / "src/treadle/graph/client"
    code = "".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py")))
    reasons = set(re.findall(r'refuse\(\s*"([a-z_]+)"', code))
    assert len(reasons) == 8
    assert [reason for reason in reasons if f"`{reason}`" not in ENROLL] == []
