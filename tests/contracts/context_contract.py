"""The contract of every context builder."""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import pytest

from components.protocols import ContextBuilder
from components.records import Context, Spans, SpanTexts
from tests.contracts.component_contract import ComponentContract
from tests.contracts.fusion_contract import hits_of


def chunks_of(*documents: Sequence[str]) -> SpanTexts:
    """The chunks of documents, each given by the texts that it consists of."""
    rows = [
        (document, end - len(text), end)
        for document, texts in enumerate(documents)
        for text, end in zip(texts, accumulate(map(len, texts)), strict=True)
    ]
    columns = np.array(rows, dtype=np.int32).reshape(-1, 3)
    return SpanTexts(["".join(texts) for texts in documents], Spans(*columns.T))


CHUNKS = chunks_of(("杭州", "西湖在杭州"), ("北京", "故宫在北京城中"), ("",), ("长城" * 400,))
HITS = hits_of({3: 9.0, 1: 5.0, 0: 2.0, 5: 1.0}, {2: 1.0}, {}, {5: 3.0, 4: 2.0, 0: 1.0})


class ContextContract(ComponentContract):
    """Contract of context builders."""

    component: ContextBuilder

    def build(self, top_k: int) -> Context:
        """The contexts of `HITS`."""
        return self.component.build(HITS, CHUNKS, top_k)

    @property
    def n_chunks_per_hit(self) -> int:
        """Return the value of the builder."""
        return int(getattr(self.component, "n_chunks_per_hit", 1))

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, ContextBuilder)

    @pytest.mark.parametrize("top_k", [1, 2, 4, 9])
    def test_context_has_the_documented_shapes_and_dtypes(self, top_k: int) -> None:
        context = self.build(top_k)
        assert context.chunk.shape == (4, top_k * self.n_chunks_per_hit)
        assert context.chunk.dtype == np.int32
        assert context.n_tokens.shape == context.n_tokens_dropped.shape == (4,)
        assert context.n_tokens.dtype == context.n_tokens_dropped.dtype == np.int64

    @pytest.mark.parametrize("top_k", [1, 2, 4, 9])
    def test_context_holds_top_k_hits_and_their_neighbours_once(self, top_k: int) -> None:
        window, document = self.n_chunks_per_hit // 2, CHUNKS.spans.document
        for row, best in zip(self.build(top_k).chunk.tolist(), HITS.chunk[:, :top_k].tolist(), strict=True):
            used = [chunk for chunk in row if chunk >= 0]
            assert row == used + [-1] * (len(row) - len(used))
            assert len(set(used)) == len(used)
            for chunk in used:
                assert any(abs(chunk - hit) <= window and document[chunk] == document[hit] for hit in best if hit >= 0)

    def test_query_without_hits_has_an_empty_context(self) -> None:
        context = self.build(4)
        assert set(context.chunk[2].tolist()) == {-1}
        assert (context.n_tokens[2], context.n_tokens_dropped[2]) == (0, 0)

    def test_empty_batch_of_queries_gives_an_empty_result(self) -> None:
        assert self.component.build(hits_of(), CHUNKS, 2).chunk.shape == (0, 2 * self.n_chunks_per_hit)
