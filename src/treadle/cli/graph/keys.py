"""`treadle graph keys`: an agent's private key, and the text by which a person registers it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treadle.cli import options, screen, session
from treadle.cli.graph.common import base_ns, told
from treadle.cli.verbs import examples, verb_app
from treadle.errors import ConfigError
from treadle.graph.keys import create_key, load_key, registration_text
from treadle.graph.signatures import agent_name, unfit_name

app = verb_app("An agent's key: make it, show it, register it.", no_args_is_help=True)

KeyPath = Annotated[Path, typer.Argument(metavar="FILE", help="The key file: PEM, PKCS#8, mode 0600.")]
AgentIri = Annotated[
    str, typer.Option("--agent", metavar="IRI", help="The agent's IRI, such as urn:agent:alice.")
]


def _name(agent: str) -> str:
    name = agent_name(agent)
    if ":" not in agent or unfit_name(name):
        raise ConfigError(
            f"--agent {agent}: write an IRI that ends in ':' and a name, such as urn:agent:alice"
        )
    return name


@told
def init(
    file: KeyPath,
    agent: AgentIri,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Make a new key. The file must not exist: a key is never replaced, and never printed."""
    name = _name(agent)
    key = create_key(file)
    if json:
        screen.out_json({"file": str(file), "agent": agent, "name": name, "public_key": key.public_key})
    else:
        screen.out(f"{file}: the key of {name}, public key {key.public_key}")


@told
def show(file: KeyPath, json: options.Json = False, debug: options.Debug = False) -> None:
    """Print the public key."""
    key = load_key(file)
    if json:
        screen.out_json({"file": str(file), "public_key": key.public_key})
    else:
        screen.out(key.public_key)


@told
def register_text(
    file: KeyPath,
    agent: AgentIri,
    attests: Annotated[
        list[str], typer.Option("--attests", metavar="PLAN", help="A plan that the agent may advance.")
    ],
    bind: Annotated[
        bool, typer.Option("--bind/--no-bind", help="Whether no other IRI may use the agent's name.")
    ] = True,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    debug: options.Debug = False,
) -> None:
    """Print the registration as Turtle, for somebody with the identity permission to review and load."""
    key, wanted = load_key(file), session.settings(config, None, set_)
    text = registration_text(
        _name(agent), key.public_key, attests, agent=agent if bind else None, base_ns=base_ns(wanted)
    )
    screen.out(text.rstrip("\n"))


app.command(epilog=examples("treadle graph keys init alice.pem --agent urn:agent:alice"))(init)
app.command(epilog=examples("treadle graph keys show alice.pem"))(show)
app.command(
    "register-text",
    epilog=examples(
        "treadle graph keys register-text alice.pem --agent urn:agent:alice --attests http://example.org/plans/release"
    ),
)(register_text)
