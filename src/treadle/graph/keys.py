"""Private keys of agents: one PEM PKCS#8 file each, mode 0600, created once, never replaced or printed."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NoReturn

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from treadle.errors import ConfigError, DiskFull
from treadle.graph import signatures
from treadle.graph.signatures import Transition, unfit_name
from treadle.graph.terms import IRI, Literal, Term
from treadle.graph.vocabulary import BASE_NS, RDF_TYPE, vocabulary

_LARGEST: Final = 16_384  # bytes; a PEM file of an Ed25519 key has 119


class AgentKey:
    """An agent's private key, held in memory.  Its text and representation show the public key only."""

    __slots__ = ("_seed", "public_key")

    def __init__(self, seed: bytes) -> None:
        self._seed = seed
        self.public_key = signatures.public_key_of(seed)

    def sign(self, transition: Transition) -> str:
        """The signature of a transition, 128 lower-case hex digits.

        Raises:
            Refused: reason `field_ambiguous`, when a field cannot be signed.
        """
        return signatures.sign(self._seed, transition.message())

    def __repr__(self) -> str:
        return f"AgentKey(public_key={self.public_key!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a private key is not pickled; read it from its file where it is needed")


def create_key(path: str | os.PathLike[str]) -> AgentKey:
    """Make a new key and write its file, readable by the owner alone.

    Args:
        path: the file to create, in a folder that exists.

    Raises:
        ConfigError: the file exists (an existing key is never replaced) or its folder does not.
        DiskFull: no room; nothing is left behind.
    """
    private = Ed25519PrivateKey.generate()
    text = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        handle = os.open(path, flags, 0o600)
    except FileExistsError as error:
        raise ConfigError(
            f"{os.fspath(path)} exists and is left as it is; a key is never regenerated. "
            "Use the key that is there, or choose another file"
        ) from error
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        _write_out(handle, text)
    except OSError as error:
        os.unlink(path)
        raise _unwritable(path, error) from error
    _sync_folder(Path(path).parent)
    return AgentKey(private.private_bytes_raw())


def load_key(path: str | os.PathLike[str]) -> AgentKey:
    """Read a key file.

    Args:
        path: a PEM file with one unencrypted PKCS#8 Ed25519 private key.

    Raises:
        ConfigError: the file is missing, readable by others, another user's, or no such key.
    """
    where = os.fspath(path)
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise ConfigError(f"{where}: the key file cannot be read: {error.strerror}") from error
    try:
        _check_private(where, os.fstat(handle))
        text = os.read(handle, _LARGEST + 1)
    finally:
        os.close(handle)
    return AgentKey(_seed_of(where, text))


def registration_text(
    name: str,
    public_key: str,
    definitions: Iterable[str],
    *,
    subject: str | None = None,
    agent: str | None = None,
    base_ns: str = BASE_NS,
) -> str:
    """The Turtle text of a registration, for a person with the identity permission to review and load.

    Args:
        name: the agent's name, what follows the last `:` of the IRI that performs its events.
        public_key: 64 lower-case hex digits.
        definitions: the IRIs of the definitions that the agent may advance, at least one.
        subject: the registration's IRI; made of the name and the key when absent.
        agent: the agent's IRI, when the registration shall bind it.
        base_ns: the dataset's namespace.

    Raises:
        ConfigError: a name, key or IRI is not one, or no definition is named.
    """
    names = vocabulary(base_ns)
    plans = sorted(set(definitions))
    if unfit_name(name) or not plans:
        raise ConfigError(
            "a registration needs a definition and a name without '|', white space or control characters"
        )
    problem = signatures.key_problem(public_key)
    if problem is not None:
        raise ConfigError(f"the public key {problem}")
    try:
        facts: list[tuple[IRI, Term]] = [(RDF_TYPE, names.registration), (names.verifier, Literal(name))]
        facts.append((names.public_key, Literal(public_key)))
        facts += [(names.attests, IRI(plan)) for plan in plans]
        if agent is not None:
            facts.append((names.agent, IRI(agent)))
        which = IRI(subject or f"urn:x-treadle:registration:{name}:{public_key[:16]}")
    except ValueError as error:
        raise ConfigError(str(error)) from error
    if agent is not None and signatures.agent_name(agent) != name:
        raise ConfigError("the agent's IRI must end in ':' and the registered name, else it can never sign")
    lines = " ;\n    ".join(f"{predicate.n3()} {term.n3()}" for predicate, term in facts)
    return f"{which.n3()} {lines} .\n"


def _write_out(handle: int, text: bytes) -> None:
    with os.fdopen(handle, "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _unwritable(path: str | os.PathLike[str], error: OSError) -> ConfigError | DiskFull:
    where = os.fspath(path)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"{where}: no room for the key file; nothing was kept")
    return ConfigError(f"{where}: the key file cannot be created: {error.strerror}")


def _check_private(where: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise ConfigError(f"{where} is no regular file")
    if status.st_mode & 0o077:
        raise ConfigError(f"{where} can be read or written by others; run: chmod 600 {where}")
    if status.st_uid not in (os.geteuid(), 0):
        raise ConfigError(f"{where} belongs to another user; an agent signs with its own key file")


def _seed_of(where: str, text: bytes) -> bytes:
    if not text:
        raise ConfigError(f"{where} is empty: creating it was interrupted. Remove it and make the key again")
    if len(text) > _LARGEST:
        raise ConfigError(f"{where} is too long for a key file")
    try:
        private = load_pem_private_key(text, password=None)
    except TypeError as error:
        raise ConfigError(f"{where} is encrypted; write it without a passphrase") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise ConfigError(f"{where} holds no PEM PKCS#8 private key") from error
    if not isinstance(private, Ed25519PrivateKey):
        raise ConfigError(f"{where} holds a key of another kind than Ed25519")
    return private.private_bytes_raw()
