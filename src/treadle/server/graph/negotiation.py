"""Which of several forms an answer takes: Accept with its quality values (RFC 9110, section 12.5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from treadle.errors import RequestError
from treadle.server.call import Call

VARY: Final = ((b"vary", b"Accept"),)


class Offer(NamedTuple):
    """A form an answer can take: what it is called inside, and the media types it is asked for by."""

    format: str
    media: tuple[str, ...]

    @property
    def type(self) -> str:
        """The media type that it is known by; the others must be asked for by name."""
        return self.media[0]


class Chosen(NamedTuple):
    """The form that an answer takes, and the media type that it carries."""

    format: str
    type: str

    @property
    def header(self) -> str:
        """Its Content-Type."""
        return f"{self.type}; charset=utf-8" if self.type.startswith("text/") else self.type


RESULTS: Final = (
    Offer("json", ("application/sparql-results+json", "application/json")),
    Offer("xml", ("application/sparql-results+xml", "application/xml", "text/xml")),
    Offer("csv", ("text/csv",)),
    Offer("tsv", ("text/tab-separated-values",)),
)
"""What SELECT and ASK can answer, the usual one first."""

GRAPHS: Final = (
    Offer("turtle", ("text/turtle", "application/x-turtle")),
    Offer("ntriples", ("application/n-triples", "text/plain")),
    Offer("jsonld", ("application/ld+json", "application/json")),
    Offer("rdfxml", ("application/rdf+xml", "application/xml", "text/xml")),
)
"""What CONSTRUCT, DESCRIBE and a graph can answer."""


def chosen(call: Call, offers: Sequence[Offer]) -> Chosen:
    """The offer that the client likes best; of those it likes alike, the first.

    Raises `RequestError` (`not_acceptable`) that lists what there is.
    """
    header = call.headers.get(b"accept")
    found = Chosen(offers[0].format, offers[0].type) if header is None else best(header, tuple(offers))
    if found is None:
        raise RequestError(
            f"this answer comes as {', '.join(offer.type for offer in offers)}; accept one of them",
            code="not_acceptable",
        )
    return found


@lru_cache(maxsize=512)
def best(header: bytes, offers: tuple[Offer, ...]) -> Chosen | None:
    """The best offer for an Accept header, None where it rules all of them out."""
    ranges = [_Range.read(item) for item in _split(header.decode("latin-1").lower())]
    found, most = None, 0.0
    for offer in offers:
        for media in offer.media:
            quality = _quality(ranges, media, least=0 if media == offer.type else 2)
            if quality > most:
                found, most = Chosen(offer.format, media), quality
    return found


class _Range(NamedTuple):
    """One item of an Accept header; `fits` is false where a parameter asks for what is never sent."""

    kind: str
    quality: float
    fits: bool

    @classmethod
    def read(cls, item: str) -> _Range:
        kind, *parameters = (part.strip() for part in item.split(";"))
        quality, fits = 1.0, True
        for parameter in parameters:
            name, _, value = parameter.partition("=")
            name, value = name.strip(), value.strip().strip('"')
            if name == "q":
                quality = _number(value)
                break  # what follows are extensions of Accept itself
            fits = fits and (name != "charset" or value in ("utf-8", "utf8"))
        return cls(kind, quality, fits)

    def rank(self, media: str) -> int:
        """How closely it names a media type; negative where it does not."""
        if not self.fits:
            return -1
        return {"*/*": 0, f"{media.partition('/')[0]}/*": 1, media: 2}.get(self.kind, -1)


def _quality(ranges: Sequence[_Range], media: str, least: int) -> float:
    """What the range that names a media type most closely, at least so closely, says of it."""
    ranked = [(one.rank(media), one.quality) for one in ranges]
    rank, quality = max(ranked, default=(-1, 0.0))
    return quality if rank >= least else 0.0


def _split(header: str) -> list[str]:
    return [item for item in header.split(",") if item.strip()]


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if 0.0 <= value <= 1.0 else 0.0
