"""The shipped vocabulary, as Turtle: a property catalogue, and SHACL shapes in two profiles.

The catalogue says with `schema:domainIncludes` which entities bear a property, never with `rdfs:domain`: a
reasoner must not turn a step into an event.  The `legacy` shapes take data from before enrollment, with the
newer fields optional; the `enrolled` ones require what the guard requires of a single graph.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Literal

from treadle.graph.vocabulary import BASE_NS, vocabulary


def property_catalogue(base_ns: str = BASE_NS) -> str:
    """The catalogue of classes and properties under a namespace, as Turtle."""
    return _text("properties.ttl", base_ns)


def shapes(profile: Literal["legacy", "enrolled"], base_ns: str = BASE_NS) -> str:
    """The SHACL shapes of a profile under a namespace, as Turtle.

    Raises:
        ValueError: no such profile, or a namespace that `treadle.graph.vocabulary` refuses.
    """
    if profile not in ("legacy", "enrolled"):
        raise ValueError(f"no profile {profile!r}: choose legacy or enrolled")
    return _text(f"shapes_{profile}.ttl", base_ns)


def _text(name: str, base_ns: str) -> str:
    text = files(__name__).joinpath(name).read_text(encoding="utf-8")
    return text.replace(BASE_NS, vocabulary(base_ns).base)
