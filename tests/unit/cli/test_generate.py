"""`treadle generate`: clients from the project's contract, a file, a role, or a server."""

from __future__ import annotations

from pathlib import Path

import pytest

import treadle
from tests.support.serving import serving
from tests.unit.cli.conftest import Call
from treadle.access.roles import Role


def test_a_client_of_the_project(project: Call) -> None:
    done = project("generate", "python", "-o", "app/shop_client.py")
    assert (done.code, done.out, done.err) == (0, "", "wrote app/shop_client.py\n")
    written = Path("app/shop_client.py").read_text(encoding="utf-8")
    assert "class ShopClient(" in written and list(Path("app").iterdir()) == [Path("app/shop_client.py")]
    assert project("generate", "python").out == written
    assert (
        project("generate", "python", "-o", "app/shop_client.py").err == "app/shop_client.py is up to date\n"
    )
    assert project("generate", "python", "-o", "-").out == written and not Path("-").exists()


def test_check_tells_a_build_whether_the_file_is_up_to_date(project: Call) -> None:
    assert project("generate", "python", "-o", "client.py", "--check").code == 1
    assert not Path("client.py").exists()
    project("generate", "python", "-o", "client.py")
    assert project("generate", "python", "-o", "client.py", "--check").code == 0
    source = Path("shop.riff").read_text(encoding="utf-8")
    Path("shop.riff").write_text(source.replace("version 1", "version 2"), encoding="utf-8")
    done = project("generate", "python", "-o", "client.py", "--check")
    assert done.code == 1 and "generate it again" in done.err


def test_queries_come_from_the_settings_or_are_named(project: Call) -> None:
    Path("due.riffq").write_text(
        "query Named($shop: Job.shop_id, $job: Job.job_id) {\n"
        "  one job from Job where job.shop_id == $shop && job.job_id == $job else Missing\n"
        "  return Found { job: job }\n}\n",
        encoding="utf-8",
    )
    assert "class Named:" in project("generate", "python", "--queries", "due.riffq").out
    assert "class Named:" not in project("generate", "python", "shop.riff").out
    Path("due.riffq").write_text("query Named() { return Found {} }", encoding="utf-8")
    done = project("generate", "python", "--queries", "due.riffq")
    assert done.code == 1 and "error S" in done.err and "due.riffq" in done.err


def test_a_role_leaves_out_what_it_may_not_do(project: Call) -> None:
    with Path("treadle.toml").open("a", encoding="utf-8") as settings:
        settings.write('\n[[roles]]\nname = "claimer"\ncommands = ["Claim"]\n')
    done = project("generate", "python", "--role", "claimer")
    assert done.code == 0 and "class Claim:" in done.out and "class Finish:" not in done.out
    done = project("generate", "python", "--role", "claimr")
    assert done.code != 0 and "the nearest is claimer" in done.err


def test_a_server_tells_what_a_token_may_use(project: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    with treadle.open("shop.db" if Path("shop.db").exists() else "work.db") as database:
        database.deploy(Path("shop.riff"), roles=[Role("claimer", commands=("Claim",))])
        token = database.tokens.create("claimer", role="claimer").text
        with serving(database) as url:
            monkeypatch.setenv("TREADLE_TOKEN", token)
            done = project("generate", "python", "--url", url)
            assert done.code == 0 and "class Claim:" in done.out and "class Finish:" not in done.out
            monkeypatch.delenv("TREADLE_TOKEN")
            assert project("generate", "python", "--url", url).code == 4
    assert project("generate", "python", "--url", "http://127.0.0.1:1").code == 1


@pytest.mark.parametrize(
    "words, code, message",
    [
        (("cobol",), 2, "cobol"),
        (("python", "absent.riff"), 2, "absent.riff"),
        (("python", "--queries", "absent.riffq"), 2, "absent.riffq"),
        ((), 2, "LANGUAGE"),
    ],
)
def test_what_cannot_be_read_is_said(project: Call, words: tuple[str, ...], code: int, message: str) -> None:
    done = project("generate", *words)
    assert done.code == code and message in done.err
