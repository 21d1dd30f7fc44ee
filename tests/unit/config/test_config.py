"""Settings: flag > environment > file > default; a bad one says what to write instead."""

from __future__ import annotations

import tomllib
from pathlib import Path

import jsonschema_rs
import pytest

from treadle import config
from treadle.config import SETTINGS
from treadle.errors import ConfigError
from treadle.store import split_url


def written(folder: Path, text: str | bytes) -> Path:
    file = folder / "treadle.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


FULL = """
[database]
url = "sqlite:///file.db"
max_clock_jump = 0

[contract]
source = "work.riff"
queries = ["queries/*.riffq"]

[server]
bind = "[::1]:7480"
hosts = ["treadle.example.org"]
origins = ["https://ops.example.org"]
max_body_bytes = 65536
max_connections = 10
request_seconds = 5
idle_seconds = 6
drain_seconds = 7
log_requests = true

[retention]
receipts_days = 90
log_days = 365

[[roles]]
name = "worker"
commands = ["Claim"]

[graph]
base_ns = "urn:x:"

[graph.governance]
enforce_workflows = true
verify_transitions = false
identity_graphs = ["urn:keys"]

[graph.server]
update_full_copy_max_facts = 10
"""


def test_a_file_may_hold_every_key_and_the_schema_allows_it(tmp_path: Path) -> None:
    loaded = config.load(file=written(tmp_path, FULL))
    assert {key for key in loaded if loaded.value(key).origin == "file treadle.toml"} == set(SETTINGS)
    jsonschema_rs.meta.validate(config.schema())
    validator = jsonschema_rs.Draft202012Validator(config.schema())
    validator.validate(tomllib.loads(FULL))
    assert not validator.is_valid({"database": {"ulr": "x"}})
    assert not validator.is_valid({"server": {"bind": "localhost"}})
    assert not validator.is_valid({"roles": [{"commands": []}]})


def test_values_arrive_as_what_they_are(tmp_path: Path) -> None:
    loaded = config.load(file=written(tmp_path, FULL))
    assert loaded.database_url == f"sqlite:///{tmp_path}/file.db"
    assert loaded.max_clock_jump is None
    assert loaded.contract_source == tmp_path / "work.riff"
    assert loaded["contract.queries"] == ("queries/*.riffq",)
    assert [role.name for role in loaded.roles or ()] == ["worker"]
    assert loaded["graph.governance.enforce_workflows"] is True


def test_nothing_set_gives_the_defaults() -> None:
    loaded = config.load(start=Path("/"))
    assert loaded.file is None
    assert loaded.database_url == "sqlite:///treadle.db"
    assert loaded.roles is None and loaded.contract_source is None
    assert loaded["graph.governance.enforce_workflows"] is None
    assert loaded["graph.server.update_full_copy_max_facts"] == 250_000
    assert all(loaded.value(key).origin == "default" for key in loaded)


SPELLED = {
    "database.url": "sqlite:///x.db",
    "database.max_clock_jump": "60",
    "contract.source": "x.riff",
    "contract.queries": "a.riffq, b.riffq",
    "server.bind": "localhost:80",
    "server.hosts": "a.example.org, b.example.org",
    "server.origins": "https://a.example.org",
    "server.max_body_bytes": "2048",
    "server.max_connections": "3",
    "server.request_seconds": "4",
    "server.idle_seconds": "5",
    "server.drain_seconds": "6",
    "server.log_requests": "off",
    "retention.receipts_days": "7",
    "retention.log_days": "8",
    "roles": '[{"name": "reader"}]',
    "graph.base_ns": "urn:y:",
    "graph.governance.enforce_workflows": "false",
    "graph.governance.verify_transitions": "on",
    "graph.governance.identity_graphs": '["urn:a", "urn:b,c"]',
    "graph.server.update_full_copy_max_facts": "7",
}
READ = {
    "database.max_clock_jump": 60,
    "contract.queries": ("a.riffq", "b.riffq"),
    "server.hosts": ("a.example.org", "b.example.org"),
    "server.origins": ("https://a.example.org",),
    "server.max_body_bytes": 2048,
    "server.max_connections": 3,
    "server.request_seconds": 4,
    "server.idle_seconds": 5,
    "server.drain_seconds": 6,
    "server.log_requests": False,
    "retention.receipts_days": 7,
    "retention.log_days": 8,
    "roles": ({"name": "reader"},),
    "graph.governance.enforce_workflows": False,
    "graph.governance.verify_transitions": True,
    "graph.governance.identity_graphs": ("urn:a", "urn:b,c"),
    "graph.server.update_full_copy_max_facts": 7,
}


@pytest.mark.parametrize("key", SETTINGS)
def test_every_key_comes_from_the_environment_and_from_a_flag_which_goes_first(
    key: str, tmp_path: Path
) -> None:
    setting, text = SETTINGS[key], SPELLED[key]
    file = written(tmp_path, FULL)
    by_variable = config.load(file=file, environment={setting.variable: text})
    assert by_variable.value(key) == (READ.get(key, text), f"environment {setting.variable}")
    for flags, pairs, origin in (
        ({}, [f"{key}={text}"], f"flag --set {key}"),
        ({key: text}, [], f"flag {setting.flag}"),
    ):
        environment = {setting.variable: text}
        loaded = config.load(file=file, environment=environment, flags=flags, pairs=pairs)
        assert loaded.value(key) == (READ.get(key, text), origin)


def test_an_empty_variable_counts_as_not_set(tmp_path: Path) -> None:
    loaded = config.load(file=written(tmp_path, FULL), environment={"TREADLE_SERVER_BIND": ""})
    assert loaded["server.bind"] == "[::1]:7480"


def test_the_nearest_file_upward_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, '[database]\nurl = "sqlite:///near.db"\n')
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "a" / "treadle.toml").mkdir()  # a folder of that name is no settings file
    monkeypatch.chdir(inner)
    loaded = config.load()
    assert loaded.file == tmp_path / "treadle.toml"
    assert loaded.database_url == f"sqlite:///{tmp_path}/near.db"


def test_a_path_of_the_environment_starts_from_the_current_folder(tmp_path: Path) -> None:
    loaded = config.load(
        file=written(tmp_path, FULL),
        environment={"TREADLE_DATABASE_URL": "sqlite:///here.db", "TREADLE_CONTRACT_SOURCE": "here.riff"},
    )
    assert loaded.database_url == "sqlite:///here.db"
    assert loaded.contract_source == Path("here.riff")


@pytest.mark.parametrize(
    "url, resolved",
    [
        ("sqlite:///work.db", "sqlite:///{}/work.db"),
        ("sqlite:////var/work.db", "sqlite:////var/work.db"),
        ("work.db", "{}/work.db"),
        (":memory:", ":memory:"),
        ("postgresql://host/db", "postgresql://host/db"),
    ],
)
def test_files_lie_relative_to_the_settings_file(url: str, resolved: str, tmp_path: Path) -> None:
    loaded = config.load(file=written(tmp_path, f'[database]\nurl = "{url}"\n'))
    assert loaded.database_url == resolved.format(tmp_path)


def test_a_folder_of_any_name_gives_a_url_that_names_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "50% of #1?"
    folder.mkdir()
    loaded = config.load(file=written(folder, '[database]\nurl = "sqlite:///a%20b.db"\n'))
    assert split_url(loaded.database_url) == ("sqlite", f"{folder}/a b.db")


def test_a_variable_names_the_file(tmp_path: Path) -> None:
    file = written(tmp_path, FULL)
    assert config.load(environment={"TREADLE_CONFIG": str(file)}).file == file
    with pytest.raises(ConfigError, match="TREADLE_CONFIG: there is no file"):
        config.load(environment={"TREADLE_CONFIG": str(tmp_path / "none.toml")})


def test_the_older_name_of_the_graph_section_is_read_as_the_same(tmp_path: Path) -> None:
    text = '[quipu]\nbase_ns = "urn:z:"\n[quipu.governance]\nenforce_workflows = true\n[graph.server]\n'
    loaded = config.load(file=written(tmp_path, text + "update_full_copy_max_facts = 5\n"))
    assert loaded["graph.base_ns"] == "urn:z:"
    assert loaded["graph.governance.enforce_workflows"] is True
    assert loaded["graph.server.update_full_copy_max_facts"] == 5


def test_one_section_under_both_names_is_an_error(tmp_path: Path) -> None:
    text = "[graph.governance]\nenforce_workflows = true\n[quipu.governance]\nverify_transitions = true\n"
    with pytest.raises(
        ConfigError, match=r"\[graph.governance\] and \[quipu.governance\] are the same section"
    ):
        config.load(file=written(tmp_path, text))


@pytest.mark.parametrize(
    "text, message",
    [
        ('[database]\nulr = "x"', "unknown key database.ulr; the nearest is database.url"),
        ('[databse]\nurl = "x"', "unknown key databse; the nearest is database"),
        ("[graph]\ngovernance = 1", r"graph.governance is a section: write \[graph.governance\]"),
        ("[graph.governance]\nenforce_workflow = true", "nearest is graph.governance.enforce_workflows"),
        ("[quipu.governance]\nenforce_workflow = true", "nearest is graph.governance.enforce_workflows"),
        ("[database]\nurl = 3", "treadle.toml: database.url must be text, such as sqlite:///work.db"),
        ('[database]\nurl = ""', "database.url must be text"),
        ("[database]\nmax_clock_jump = true", "max_clock_jump must be a whole number from 0"),
        ("[database]\nmax_clock_jump = -1", "must be a whole number from 0"),
        ("[database]\nmax_clock_jump = 1.5", "must be a whole number from 0"),
        ('[graph.governance]\nenforce_workflows = "yes"', "must be true or false, without quotes"),
        ('[contract]\nqueries = "a"', r"must be a list of texts, such as \["),
        ("[contract]\nqueries = [1]", "must be text"),
        ('[server]\nbind = "localhost"', "server.bind must be host:port"),
        ('[server]\nbind = "a:70000"', "port from 0 to 65535"),
        ('[server]\nbind = "[::g]:1"', "server.bind must be host:port"),
        ('[server]\nbind = "[1:2]:1"', "IPv6 host in brackets"),
        ("roles = 3", "roles must be a list of tables"),
        (
            '[[roles]]\nname = "a"\ncomands = []',
            r"\[\[roles\]\] number 1: unknown key comands; the nearest is commands",
        ),
        ("[[roles]]\ncommands = []", r"\[\[roles\]\] number 1: .*name"),
        ('[[roles]]\nname = "a"\n[[roles]]\nname = "a"', "a is declared twice"),
        ("[database]\nurl = ", "treadle.toml: not TOML: .*(line 2|end of document)"),
        (b"[database]\nurl = '\xff'", "not UTF-8 at byte 18; save it as UTF-8"),
        ("x = " + "[" * 20_000, "treadle.toml: not TOML"),
        ("#" * (1 << 20) + "\n", "larger than one mebibyte"),
    ],
)
def test_a_bad_file_says_what_to_write(text: str | bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        _ = config.load(file=written(tmp_path, text)).roles


def test_a_file_saved_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    assert config.load(file=written(tmp_path, b"\xef\xbb\xbf" + FULL.encode())).max_clock_jump is None


@pytest.mark.parametrize(
    "name, text, message",
    [
        (
            "TREADLE_DATABSE_URL",
            "x",
            "TREADLE_DATABSE_URL names no setting; the nearest is TREADLE_DATABASE_URL",
        ),
        ("TREADLE_SERVER_BIND", "x", "TREADLE_SERVER_BIND must be host:port"),
        ("TREADLE_DATABASE_MAX_CLOCK_JUMP", "9" * 5000, "must be a whole number"),
        ("TREADLE_GRAPH_GOVERNANCE_ENFORCE_WORKFLOWS", "maybe", "must be true or false"),
        ("TREADLE_ROLES", "[", "must be a list, written as JSON"),
        ("TREADLE_ROLES", "[" * 100_000, "must be a list, written as JSON"),
    ],
)
def test_a_bad_variable_says_what_to_write(name: str, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config.load(environment={name: text})


def test_variables_that_are_no_settings_are_left_alone() -> None:
    names = ("TREADLE_TEST_EFFORT", "TREADLE_SERVICE_HOST", "TREADLE_PORT_7480_TCP", "TREADLE_TOKEN", "PATH")
    loaded = config.load(start=Path("/"), environment=dict.fromkeys(names, "tcp://10.0.0.1:1"))
    assert all(loaded.value(key).origin == "default" for key in loaded)


@pytest.mark.parametrize(
    "pair, message",
    [
        ("database.url", "write KEY=VALUE"),
        ("database.ulr=x", "unknown key database.ulr; the nearest is database.url"),
        ("server.bind=x", "--set server.bind must be host:port"),
    ],
)
def test_a_bad_flag_says_what_to_write(pair: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config.load(pairs=[pair])


def test_names_of_variables_and_flags_differ() -> None:
    assert len({setting.variable for setting in SETTINGS.values()}) == len(SETTINGS)
    assert SETTINGS["database.max_clock_jump"].variable == "TREADLE_DATABASE_MAX_CLOCK_JUMP"
    assert SETTINGS["database.max_clock_jump"].flag == "--database-max-clock-jump"
