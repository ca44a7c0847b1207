"""The contract of every sparse index."""

from collections.abc import Sequence

import numpy as np
import pytest

from components.protocols import SparseIndex
from components.records import Hits, IndexBlock, Passages
from components.text.corpus_tables import build_term_table
from tests.contracts.component_contract import ComponentContract
from tests.contracts.passages import index_block, passages, queries_for
from tests.contracts.ranking_checks import assert_is_ranking, rankings_of

CHUNKS = (
    "西湖 故宫",
    "长城 长城 长城",
    "西湖 西湖 长城 黄山",
    "",
    "泰山 黄山 故宫 西湖 长城 华山 嵩山",
    "西湖 故宫",
    "华山",
    "泰山",
    "嵩山 泰山",
    "西湖 故宫",
)


class SparseIndexContract(ComponentContract):
    """Contract of sparse indexes. None of its queries has a word that is in half of the chunks."""

    component: SparseIndex

    def search(self, chunks: Sequence[str], queries: Sequence[str], depth: int) -> Hits:
        """Builds and searches."""
        table = build_term_table(chunks, self.component.tokenizer)
        block = index_block(self.component.build(passages(chunks, table)), len(chunks), table)
        return self.component.search([block], queries_for(queries, self.component.tokenizer, table), depth)

    @pytest.mark.parametrize("depth", [1, 3, 100])
    def test_blockwise_search_has_the_hits_of_a_single_block(self, depth: int) -> None:
        queries = ["故宫 长城", "黄山", "泰山 嵩山", "黄山 黄山"]
        if not self.component.is_blockwise:
            return
        words = build_term_table(queries, self.component.tokenizer)
        blocks = []
        for rows in ([1, 4, 5, 9], [], [0, 2, 3, 6, 7, 8]):
            texts = [CHUNKS[row] for row in rows]
            table = build_term_table(texts, self.component.tokenizer)
            places = [table.term_positions.get(term, -1) for term in words.vocabulary]
            index = self.component.build(passages(texts, table))
            blocks.append(IndexBlock(index, np.array(rows, dtype=np.int32), np.array(places, dtype=np.int32)))
        found = self.component.search(blocks, Passages(queries, words.document_terms()), depth)
        whole = self.search(CHUNKS, queries, depth)
        np.testing.assert_array_equal(found.chunk, whole.chunk)
        np.testing.assert_array_equal(found.score, whole.score)

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, SparseIndex)

    def test_depth_beyond_the_number_of_chunks_changes_no_ranking(self) -> None:
        whole, deeper = (self.search(CHUNKS, ["故宫 长城", "黄山"], depth) for depth in (len(CHUNKS), 100_000_000))
        np.testing.assert_array_equal(whole.chunk, deeper.chunk)
        np.testing.assert_array_equal(whole.score, deeper.score)

    @pytest.mark.parametrize("depth", [1, 3, 100])
    def test_sparse_search_returns_valid_rankings(self, depth: int) -> None:
        assert_is_ranking(self.search(CHUNKS, ["故宫 长城", "黄山", "泰山 嵩山"], depth), 3, min(depth, len(CHUNKS)))

    def test_sparse_search_finds_only_chunks_with_a_query_word(self) -> None:
        found = rankings_of(self.search(CHUNKS, ["黄山", "泰山 嵩山", "长城"], 10))
        assert [sorted(ranking) for ranking in found] == [[2, 4], [4, 7, 8], [1, 2, 4]]

    def test_equal_chunks_are_ordered_by_position(self) -> None:
        assert rankings_of(self.search(CHUNKS, ["故宫"], 10)) == [[0, 5, 9, 4]]

    @pytest.mark.parametrize("depth", [1, 2])
    def test_ties_at_the_last_rank_are_resolved_by_position(self, depth: int) -> None:
        assert rankings_of(self.search(CHUNKS, ["故宫"], depth)) == [[0, 5, 9][:depth]]

    def test_shorter_chunks_and_more_occurrences_score_higher(self) -> None:
        assert rankings_of(self.search(CHUNKS, ["长城"], 10)) == [[1, 2, 4]]

    def test_repeated_query_word_counts_twice(self) -> None:
        once, twice = self.search(CHUNKS, ["黄山", "黄山 黄山"], 2).score
        np.testing.assert_allclose(twice, 2 * once, rtol=1e-6)

    def test_query_without_a_known_word_has_no_hits(self) -> None:
        found = rankings_of(self.search(CHUNKS, ["黄山", "长城", "华山", "泰山", "月亮"], 3))
        assert found[-1] == []
        assert all(found[:-1])

    def test_empty_batch_of_queries_gives_an_empty_result(self) -> None:
        assert_is_ranking(self.search(CHUNKS, [], 5), 0, 5)

    def test_sparse_search_is_deterministic(self) -> None:
        first, second = (self.search(CHUNKS, ["故宫 长城", "泰山"], 5) for _ in range(2))
        np.testing.assert_array_equal(first.chunk, second.chunk)
        np.testing.assert_array_equal(first.score, second.score)

    @pytest.mark.parametrize("chunks", [(), ("",), ("", "。")])
    def test_sparse_search_accepts_a_corpus_without_words(self, chunks: tuple[str, ...]) -> None:
        assert_is_ranking(self.search(chunks, [], 3), 0, len(chunks))
