from typing import Any

import pytest

from components.chunkers import llama_index
from components.chunkers.budget import Unit, overlap_tokens
from components.chunkers.llama_index import LlamaIndexSentences
from components.datasets.demo import Demo
from components.records import Segments
from components.tokenizers.cl100k import Cl100k
from tests.contracts.chunker_contract import DOCUMENTS, ChunkerContract, by_document, chunk, chunk_texts, documents_of


class TestLlamaIndexSentences(ChunkerContract):
    component = LlamaIndexSentences()

    def n_tokens(self, chunker: Any, segments: Segments, document: int, start: int, end: int) -> int:
        text = DOCUMENTS.texts[document][start:end]
        return len(text) if chunker.unit is Unit.CHAR else len(Cl100k().token_ends([text])[0])


@pytest.mark.parametrize(("size", "overlap"), [(64, 0.0), (64, 0.3), (128, 0.5)])
def test_chunks_equal_llama_index(size: int, overlap: float) -> None:
    from llama_index.core.node_parser import SentenceSplitter

    texts = Demo().load().documents.texts[::4]
    splitter = SentenceSplitter(chunk_size=size, chunk_overlap=overlap_tokens(size, overlap))
    for text in texts:
        found = chunk_texts(LlamaIndexSentences(size, overlap), text)
        assert sorted(found) == sorted(splitter.split_text(text))


def test_repeated_sentence_keeps_its_own_position() -> None:
    spans = chunk(LlamaIndexSentences(4, 0.0, Unit.CHAR), documents_of("啊" * 10))
    assert by_document(spans) == {0: [(0, 4), (4, 8), (8, 10)]}


def test_llama_index_overlap_consists_of_whole_sentences() -> None:
    text = "一二三。四五。六七。八九十。"
    assert chunk_texts(LlamaIndexSentences(8, 0.4, Unit.CHAR), text) == [
        "一二三。四五。",
        "四五。六七。",
        "六七。八九十。",
    ]


def test_missing_llama_index_is_reported_by_the_chunker_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llama_index.importlib.util, "find_spec", lambda _: None)
    (said,) = LlamaIndexSentences().check()
    assert "[llama-index]" in said
