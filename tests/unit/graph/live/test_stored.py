from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.effort import effort
from tests.support.updates import quads
from treadle.errors import DatabaseCorrupt
from treadle.graph.delta import Delta
from treadle.graph.live import stored
from treadle.graph.terms import IRI, BlankNode, Literal, Quad
from treadle.store.memory import MemoryStore

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
TERMS = st.one_of(
    st.builds(Literal, TEXT),
    st.builds(Literal, TEXT, language=st.sampled_from(["en", "de-ch"])),
    st.builds(Literal, TEXT, st.sampled_from(["urn:t", "http://www.w3.org/2001/XMLSchema#integer"])),
    st.sampled_from([IRI("urn:x:ä"), BlankNode("b1-2")]),
)


@given(TERMS)
@settings(max_examples=effort(150))
def test_a_term_is_read_as_it_was_written(term: Literal) -> None:
    quad = Quad(BlankNode("s"), IRI("urn:p"), term, IRI("urn:g"))
    assert stored.read_quad(stored.quad_text(quad)) == quad
    assert stored.read_term(term.n3()) == term


@pytest.mark.parametrize("text", ["", "x", '"', "<a", "a>", "'x'"])
def test_what_is_no_term(text: str) -> None:
    with pytest.raises(DatabaseCorrupt):
        stored.read_term(text)
    with pytest.raises(DatabaseCorrupt):
        stored.read_quad(('"literal"', "<urn:p>", "<urn:o>", ""))
    with pytest.raises(DatabaseCorrupt):
        stored.read_quad(("<urn:s>", "_:p", "<urn:o>", ""))


def change(before: set[Quad], after: set[Quad]) -> Delta:
    return Delta.of(before - after, after - before)


@given(quads(), quads(), quads())
@settings(max_examples=effort(80))
def test_changes_that_follow_one_another_as_one(a: list[Quad], b: list[Quad], c: list[Quad]) -> None:
    first, second = change(set(a), set(b)), change(set(b), set(c))
    assert stored.merged([first, second]) == change(set(a), set(c))
    assert stored.merged([first, stored.inverse(first)]) == Delta()
    names = Delta.of(graphs_created=[IRI("urn:g")]), Delta.of(graphs_dropped=[IRI("urn:g")])
    assert stored.merged(names) == Delta()


def test_where_the_graph_changed() -> None:
    store = MemoryStore()
    one = Quad(IRI("urn:s"), IRI("urn:p"), Literal("1"), IRI("urn:g"))
    other = one._replace(g=None)
    with store.write() as tx:
        assert stored.head_of(tx) == (0, 0)
        created = Delta.of(added=[one], graphs_created=[IRI("urn:g")])
        stored.write(tx, [stored.Part(4, created, 5), stored.Part(5, Delta.of(added=[other]), 5)])
        tx.commit()
    with store.write() as tx:
        stored.write(tx, [stored.Part(300, Delta.of(removed=[other]), 300)])
        tx.commit()
    with store.read() as tx:
        assert stored.head_of(tx) == (300, 1)
        assert [stored.version_of(tx, graph) for graph in (IRI("urn:g"), None, IRI("urn:h"))] == [5, 300, 0]
        assert tx.graphs() == ["<urn:g>"]
        keys = [int.from_bytes(key) for key, _ in tx.entries(stored.CHANGES, b"", None, 10)]
        assert keys == [4, 5, 300]
