"""Links lead somewhere, and each command that the documents name exists."""

from __future__ import annotations

import re
from functools import cache

import pytest

from tests.repo.sources import text, tracked
from tests.support.shared import ROOT

PAGES = [path for path in tracked() if path.endswith(".md") and not path.startswith("tests/")]
LINK = re.compile(r"\[[^\]\n]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
FENCE = re.compile(r"^( *)(```|~~~).*?^\1\2\s*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")


def prose(page: str) -> str:
    """The page without code, where brackets and parentheses are no link."""
    return CODE.sub("", FENCE.sub("", text(page) or ""))


@cache
def anchors(page: str) -> frozenset[str]:
    """The names that headings get, as the usual Markdown viewers make them, and explicit ones."""
    headings = re.findall(r"^#+\s+(.*?)\s*#*$", FENCE.sub("", text(page) or ""), re.MULTILINE)
    named = re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text(page) or "")
    return frozenset(map(slug, headings)) | frozenset(named)


def slug(heading: str) -> str:
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def dead(page: str, link: str) -> bool:
    """Whether a relative link leads nowhere; other sites are not asked."""
    if re.match(r"[a-z][a-z0-9+.-]*:", link):
        return False
    path, _, fragment = link.partition("#")
    target = (ROOT / page).parent / path if path else ROOT / page
    if not target.exists():
        return True
    name = target.resolve().relative_to(ROOT).as_posix()
    return bool(fragment) and name.endswith(".md") and fragment not in anchors(name)


@pytest.mark.parametrize("page", PAGES)
def test_relative_links_lead_somewhere(page: str) -> None:
    assert not [link for link in LINK.findall(prose(page)) if dead(page, link)]


@cache
def targets() -> frozenset[str]:
    return frozenset(re.findall(r"^([a-z]+):", text("Makefile") or "", re.MULTILINE))


@pytest.mark.parametrize("page", PAGES)
def test_make_targets_exist(page: str) -> None:
    commands = "\n".join(
        match.group() for match in [*CODE.finditer(text(page) or ""), *FENCE.finditer(text(page) or "")]
    )
    named = re.findall(r"(?:^|`|\$ |&& )make ([a-z]+)\b", commands, re.MULTILINE)
    assert set(named) <= targets()


def test_the_checks_would_find_something() -> None:
    assert dead("README.md", "docs/nowhere.md") and dead("README.md", "README.md#no-such-heading")
    assert not dead("README.md", "docs/index.md") and not dead("README.md", "https://example.org/")
    assert slug("What `treadle why` says, and when") == "what-treadle-why-says-and-when"
    assert LINK.findall('[a](b.md) and ![c](<d e.png> "t")')[0] == "b.md"
    assert {"demo", "test", "check"} <= targets()


def test_every_make_target_is_explained() -> None:
    described = set(re.findall(r"^([a-z]+):.*##", text("Makefile") or "", re.MULTILINE))
    contributing = text("CONTRIBUTING.md") or ""
    assert not [name for name in described - {"help"} if f"make {name}" not in contributing]


def test_every_decision_is_listed_and_numbered_once() -> None:
    pages = sorted((ROOT / "docs/decisions").glob("[0-9]*.md"))
    listed = set(LINK.findall(text("docs/decisions/README.md") or ""))
    assert {page.name for page in pages} <= listed
    assert len({page.name[:4] for page in pages}) == len(pages)
