"""Key files: created once, private, refused when doubtful, never shown."""

from __future__ import annotations

import errno
import os
import pickle
import stat
from pathlib import Path

import pyoxigraph
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from tests.support.workflows import key
from treadle.errors import ConfigError, DiskFull, Refused
from treadle.graph import signatures
from treadle.graph.keys import AgentKey, create_key, load_key, registration_text
from treadle.graph.signatures import Transition
from treadle.graph.vocabulary import vocabulary

FENCE = "-" * 5
TRANSITION = Transition(
    "http://example.org/r", "submit", "Draft", "Review", "2026-11-30T20:00:00Z", "alice", "0"
)


def test_a_created_key_signs_and_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "alice.pem"
    made = create_key(path)
    read = load_key(path)
    assert read.public_key == made.public_key
    assert signatures.verify(read.public_key, made.sign(TRANSITION), TRANSITION.message())


def test_the_file_is_pkcs8_and_private_whatever_the_umask(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        create_key(tmp_path / "a.pem")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "a.pem").stat().st_mode) == 0o600
    assert (tmp_path / "a.pem").read_text().startswith(f"{FENCE}BEGIN PRIVATE KEY{FENCE}\n")


def test_a_narrow_umask_still_leaves_it_readable(tmp_path: Path) -> None:
    old = os.umask(0o777)
    try:
        create_key(tmp_path / "a.pem")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "a.pem").stat().st_mode) == 0o600


def test_an_existing_file_is_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "alice.pem"
    create_key(path)
    before = path.read_bytes()
    with pytest.raises(ConfigError, match="never regenerated"):
        create_key(path)
    assert path.read_bytes() == before


def test_a_link_is_not_followed_when_creating(tmp_path: Path) -> None:
    (tmp_path / "link.pem").symlink_to(tmp_path / "elsewhere.pem")
    with pytest.raises(ConfigError):
        create_key(tmp_path / "link.pem")
    assert not (tmp_path / "elsewhere.pem").exists()


def test_a_missing_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be created"):
        create_key(tmp_path / "nowhere" / "a.pem")


@pytest.mark.parametrize("number, error", [(errno.ENOSPC, DiskFull), (errno.EIO, ConfigError)])
def test_nothing_is_left_behind_when_writing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, error: type[Exception]
) -> None:
    def fail(handle: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(error):
        create_key(tmp_path / "a.pem")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_file_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    create_key(tmp_path / "a.pem")
    (tmp_path / "a.pem").chmod(mode)
    with pytest.raises(ConfigError, match="chmod 600"):
        load_key(tmp_path / "a.pem")


def pem(
    private: object, encryption: object = NoEncryption(), form: PrivateFormat = PrivateFormat.PKCS8
) -> bytes:
    return private.private_bytes(Encoding.PEM, form, encryption)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "text, message",
    [
        (b"", "empty"),
        (b"not a key", "no PEM PKCS#8"),
        (f"{FENCE}BEGIN PRIVATE KEY{FENCE}\nAAAA\n{FENCE}END PRIVATE KEY{FENCE}\n".encode(), "no PEM PKCS#8"),
        (pem(generate_private_key(SECP256R1())), "another kind"),
        (pem(Ed25519PrivateKey.generate(), BestAvailableEncryption(b"secret")), "encrypted"),
        (pem(Ed25519PrivateKey.generate()) + b"x" * 20_000, "too long"),
        (os.urandom(100), "no PEM PKCS#8"),
    ],
    ids=["empty", "text", "cut", "other kind", "encrypted", "long", "binary"],
)
def test_another_content_is_refused(tmp_path: Path, text: bytes, message: str) -> None:
    path = tmp_path / "a.pem"
    path.write_bytes(text)
    path.chmod(0o600)
    with pytest.raises(ConfigError, match=message):
        load_key(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_key(tmp_path / "none.pem")
    with pytest.raises(ConfigError, match="no regular file"):
        load_key(tmp_path)


def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(ConfigError, match="no regular file"):
        load_key(tmp_path / "pipe")


def test_the_private_key_is_never_shown() -> None:
    seed = bytes(range(32))
    held = AgentKey(seed)
    assert held.public_key in repr(held)
    assert seed.hex() not in repr(held) + str(held)
    assert repr(seed) not in repr(held)
    with pytest.raises(TypeError):
        pickle.dumps(held)


def test_an_ambiguous_field_is_not_signed() -> None:
    with pytest.raises(Refused):
        AgentKey(bytes(32)).sign(TRANSITION._replace(step="a|b"))


def test_the_registration_is_turtle_that_says_what_it_should() -> None:
    plan = "http://example.org/plan"
    text = registration_text("alice", key("alice"), [plan], subject="urn:r:1", agent="urn:agent:alice")
    triples = {
        (str(q.subject), q.predicate.value, q.object.value)
        for q in pyoxigraph.parse(text, format=pyoxigraph.RdfFormat.TURTLE)
    }
    names = vocabulary()
    assert triples == {
        ("<urn:r:1>", "http://www.w3.org/1999/02/22-rdf-syntax-ns#type", names.registration.value),
        ("<urn:r:1>", names.verifier.value, "alice"),
        ("<urn:r:1>", names.public_key.value, key("alice")),
        ("<urn:r:1>", names.attests.value, plan),
        ("<urn:r:1>", names.agent.value, "urn:agent:alice"),
    }


@pytest.mark.parametrize(
    "arguments",
    [
        ("", key("a"), ["urn:p:1"]),
        ("a b", key("a"), ["urn:p:1"]),
        ("alice", key("a")[:-1], ["urn:p:1"]),
        ("alice", "01" + "00" * 31, ["urn:p:1"]),
        ("alice", key("a"), []),
        ("alice", key("a"), ["not an IRI"]),
    ],
)
def test_a_registration_that_could_not_count_is_refused(arguments: tuple[str, str, list[str]]) -> None:
    with pytest.raises(ConfigError):
        registration_text(*arguments)


def test_an_agents_iri_must_end_in_its_name() -> None:
    with pytest.raises(ConfigError, match="never sign"):
        registration_text("alice", key("a"), ["urn:p:1"], agent="urn:agent:bob")
