"""The contract of every graph of facts and passages."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.embedders.hashing import Hashing
from components.fact_graph.fact_tables import fact_table, facts_within
from components.protocols import Arrays, PassageGraph
from components.records import Fact, FactTable, Hits, Passages
from tests.contracts.component_contract import ComponentContract
from tests.contracts.ranking_checks import assert_is_ranking, rankings_of

_EMBEDDER = Hashing(n_dimensions=64)
_PLACES = ("mill", "tower", "bridge", "harbour", "river", "museum", "station", "market", "well", "wall")
CHUNKS = [f"The {one} is near the {other}." for one in _PLACES for other in _PLACES[:3]]
QUERIES = ["Which place is near the mill?", "Where is the harbour?", "", "什么在河边？"]


def vectors(texts: Sequence[str]) -> NDArray[np.float32]:
    """Vectors of unit length; zero for a blank text."""
    return _EMBEDDER.embed_chunks(Passages(list(texts)), {})


def stated(chunks: Sequence[str]) -> list[tuple[int, Fact]]:
    """A fact for every second chunk: its second word is near its last one."""
    words = [chunk.rstrip(".").split() for chunk in chunks]
    return [(row, Fact(own[1], "is near", own[-1])) for row, own in enumerate(words) if row % 2 == 0]


class PassageGraphContract(ComponentContract):
    """Contract of graphs that rank passages."""

    component: PassageGraph

    def built(self, table: FactTable) -> Arrays:
        return self.component.build(facts_within(table, 0, table.n_chunks), vectors(table.phrases))

    def search(self, chunks: Sequence[str], facts: Sequence[tuple[int, Fact]], depth: int) -> Hits:
        """Build and search."""
        table = fact_table(facts, len(chunks))
        graph = self.built(table)
        return self.component.search(graph, vectors(table.facts), vectors(chunks), vectors(QUERIES), depth)

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, PassageGraph)

    def test_search_only_fields_do_not_change_the_built_graph(self) -> None:
        assert self.component.as_built == self.component.as_built.as_built
        table = fact_table(stated(CHUNKS), len(CHUNKS))
        one, other = (
            self.built(table),
            self.component.as_built.build(facts_within(table, 0, table.n_chunks), vectors(table.phrases)),
        )
        assert list(one) == list(other)
        assert all(np.array_equal(one[name], other[name]) for name in one)

    def test_graph_counts_are_nonnegative_and_named_n(self) -> None:
        counts = self.component.counts(self.built(fact_table(stated(CHUNKS), len(CHUNKS))))
        assert all(name.startswith("n_") and isinstance(n, int) and n >= 0 for name, n in counts.items())

    def test_graph_search_returns_valid_rankings(self) -> None:
        for depth in (1, 7, len(CHUNKS), 100_000_000):
            hits = self.search(CHUNKS, stated(CHUNKS), depth)
            assert_is_ranking(hits, len(QUERIES), min(depth, len(CHUNKS)))

    def test_graph_search_to_a_smaller_depth_is_a_prefix(self) -> None:
        whole, cut = (self.search(CHUNKS, stated(CHUNKS), depth) for depth in (len(CHUNKS), 7))
        assert np.array_equal(whole.chunk[:, :7], cut.chunk)
        assert np.array_equal(whole.score[:, :7], cut.score)

    def test_graph_query_has_the_same_ranking_alone_and_in_a_batch(self) -> None:
        table = fact_table(stated(CHUNKS), len(CHUNKS))
        searched = self.built(table), vectors(table.facts), vectors(CHUNKS)
        queries = vectors(QUERIES)
        whole = self.component.search(*searched, queries, 9)
        alone = [self.component.search(*searched, queries[row : row + 1], 9) for row in range(len(queries))]
        assert rankings_of(whole) == [rankings_of(own)[0] for own in alone]

    def test_graph_finds_every_chunk_with_or_without_facts(self) -> None:
        for facts in (stated(CHUNKS), []):
            first, second, _, last = rankings_of(self.search(CHUNKS, facts, len(CHUNKS)))
            assert sorted(first) == sorted(second) == list(range(len(CHUNKS)))
            assert set(last) <= set(range(len(CHUNKS)))

    def test_zero_query_vector_has_no_hits_in_the_graph(self) -> None:
        assert rankings_of(self.search(CHUNKS, stated(CHUNKS), 9))[2] == []

    def test_graph_search_accepts_empty_corpora_and_queries(self) -> None:
        assert_is_ranking(self.search([], [], 5), len(QUERIES), 0)
        table = fact_table([], 3)
        none = np.zeros((0, 64), dtype=np.float32)
        empty = np.zeros((0, 0), dtype=np.float32)
        graph = self.component.build(facts_within(table, 0, 3), empty)
        assert_is_ranking(self.component.search(graph, empty, vectors(CHUNKS[:3]), none, 5), 0, 3)

    def test_equal_chunks_are_ranked_by_position(self) -> None:
        chunks = ["The mill is near the tower."] * 6
        facts = [(row, Fact("mill", "is near", "tower")) for row in range(6)]
        assert rankings_of(self.search(chunks, facts, 6))[0] == list(range(6))
