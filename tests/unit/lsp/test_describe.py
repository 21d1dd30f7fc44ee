"""What is said of a name or a word: how it is declared, its remarks, the rules that hold for it."""

from __future__ import annotations

import pytest

from tests.unit.lsp.texts import CONTRACTS, SHOP
from treadle.lsp.analysis import Analysis
from treadle.lsp.contract_text import ContractText
from treadle.lsp.describe import described
from treadle.lsp.words import WORDS
from treadle.riff.tokens import kinds

TEXT = ContractText(SHOP)


def said(marked: str, text: str = SHOP) -> str:
    """What is said at `|` in a piece of the text that is written with one."""
    before, after = marked.split("|")
    about = TEXT if text is SHOP else ContractText(text, TEXT)
    found = about.hover(text.index(before + after) + len(before))
    return found.text if found is not None else ""


@pytest.mark.parametrize("text", CONTRACTS.values(), ids=list(CONTRACTS))
def test_every_name_is_described(text: str) -> None:
    about = Analysis(text)
    for each in about.names.occurrences:
        shown = described(about, each.symbol)
        assert shown is not None, each
        if each.symbol.kind != "builtin":
            assert shown.startswith("```riff\n") and each.symbol.name in shown
        assert "None" not in shown and "<treadle" not in shown


def test_every_word_of_the_language_has_a_meaning() -> None:
    assert {word for word in kinds() if word[0].isalpha()} == set(WORDS)
    assert all(meaning.strip() == meaning and meaning.endswith(".") for meaning in WORDS.values())


@pytest.mark.parametrize(
    "marked, parts",
    [
        (
            "|state: JobState",
            [
                "field Job.state: JobState",
                "where it is",
                "only transitions change it",
                "a new row begins `Waiting`",
                "in index `by_state`",
            ],
        ),
        ("secret p|in:", ["field Job.pin: string<8>", "at most 8 bytes of UTF-8", "`reveals`"]),
        ("key (shop_|id: uuid, job", ["number 1 of 2 of the key"]),
        ("expires_at un|til", ["optional<timestamp>", "may be null", "expires_at of lease `printing`"]),
        (
            "entity Jo|b {",
            [
                "key (shop_id: uuid, job_id: uuid)",
                "A job of a shop.\nIt waits",
                "root of aggregate",
                "held by lease `printing`",
                "made by `AddJob`",
                "changed by `Claim`, `Finish`",
            ],
        ),
        ("enum Job|State", ["enum JobState { Waiting, Printing, Done }", "the state of `JobLife`"]),
        ("initial Wait|ing", ["where a row of workflow `JobLife` begins", "`Start` leads to `Printing`"]),
        ("workflow Job|Life", ["entity Job state state initial Waiting", "`lease claim` by `Claim`"]),
        ("transition Start| from", ["from (Waiting) to Printing", "no command takes it"]),
        (
            "lease print|ing {",
            ["5 to 900 seconds", "`fence` by `Finish`: Proves that the caller still holds"],
        ),
        ("invariant Some|Pages", ["pages >= 1", "checked after every command"]),
        ("unique by_|title", ["unique by_title (shop_id, title)", "`conflict` outcome"]),
        ("event Job|Done", ["partition_by (shop_id)", "emitted by `Finish`"]),
        ("aggregate Jo|bs", ["`root Job`", "`conflict_key (shop_id, job_id)`"]),
        ("row policy Mi|ne", ["`allow read when shop_id in principal.shops`"]),
        ("principal fact sho|ps", ["a list of 0 to 8 entries"]),
        ("input expected_|revision: u64\n    service", ["the revision for `lease claim` on `job`", "u64"]),
        (
            "input k|ey: string<128>\n    input shop_id: uuid\n    input job_id: uuid\n    input title",
            ["the idempotency key"],
        ),
        ("service claimed|_at", ["`timestamp`", "a repeat of the key sees the same"]),
        (
            "as jo|b else JobMissing {}\n    require",
            ["mutate Job(shop_id, job_id) as job", "else `JobMissing`"],
        ),
        (
            "unavailable Tak|en",
            ["a failure of `Claim`", "answered when the lease is held and has not expired"],
        ),
        ("else AlreadyD|one", ["answered unless job.state == JobState.Waiting"]),
        (
            "return Clai|med",
            ["Claimed { until: optional<timestamp>, at: timestamp }", "the success of `Claim`"],
        ),
        ("un|til: job.until", ["Claimed.until: optional<timestamp>"]),
        ("done_at: tx.ti|me }", ["the time of the transaction"]),
        ("tx.time.da|te", ["the day of a timestamp, in UTC"]),
        ("reimport command Restore|Jobs", ["reimport command RestoreJobs", "is there already: JobExists"]),
        ("cre|ate Job(", ["`create`: A new row"]),
        ("field pages: u6|4", ["`u64`: A whole number from 0 to 2⁶⁴−1"]),
    ],
)
def test_what_is_said(marked: str, parts: list[str]) -> None:
    shown = said(marked)
    for part in parts:
        assert part in shown


def test_a_command_in_short() -> None:
    shown = said("command Fin|ish {")
    assert shown.startswith("```riff\ncommand Finish {\n  input key: string<128>\n")
    order = ["reads:", "locks:", "checks in order:", "is absent: JobMissing", "is not Printing: NotPrinting",
             "writes:", "transition Finish", "answers `JobMissing`"]  # fmt: skip
    places = [shown.index(part) for part in order]
    assert places == sorted(places)
    assert "row policy" not in shown and "update Job only when" in shown


def test_a_broken_text_keeps_what_was_known() -> None:
    broken = SHOP.replace(
        "    require Open: job.state == JobState.Waiting else AlreadyDone {}", "    require Open job"
    )
    assert ContractText(broken, TEXT).diagnostics[0].code == "S004"
    assert "field Job.title" in said("job.ti|tle = title", broken)
    assert "is not expected_revision: Stale" in said("command Cla|im {", broken), "as of the last good text"
    assert "lease `printing`" in said("owner prin|ter\n", broken)


def test_nothing_is_said_of_comments_strings_and_signs() -> None:
    for marked in ("// A jo|b of", '"00|00"', "{ root| Job"):
        shown = said(marked)
        assert shown == "" or shown.startswith("`root`")
