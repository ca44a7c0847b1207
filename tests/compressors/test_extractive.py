"""The best sentences by a reranker or an embedder, against a straightforward selection."""

import re
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pytest

from components.compressors.by_vectors import ExtractiveByVectors
from components.compressors.extractive import ExtractiveByReranker
from components.embedders.hashing import Hashing
from components.embedders.lsa import Lsa
from components.embedders.openai_embeddings import OpenAIEmbeddings
from components.records import CompressedPassages, Passages
from components.rerankers.lexical import LexicalCoverage
from components.rerankers.rerank_api import RerankApi
from components.text.corpus_tables import build_term_table, query_terms
from components.tokenizers.english_stems import EnglishStems
from tests.contracts.compressor_contract import CompressorContract
from tests.runner.pipeline.fixed import ReadsCharacters

PASSAGES = [
    ["The bridge is red. It was opened in 1932 by the king. Trains use it. The bridge crosses the river.", "No. Yes."],
    ["The mill ground corn until 1901. Its wheel is in a museum.", "A bridge was planned. It was not opened."],
]
QUERIES = ["When was the bridge opened?", "Until when did the mill grind corn?"]
WORDS = LexicalCoverage(depth=1, bigram_weight=0.0, tokenizer=EnglishStems())


def passage_texts(compressed: CompressedPassages, passages: Sequence[str]) -> list[str]:
    """The text of each passage."""
    return [
        "".join(text[start:end] for start, end in pieces)
        for pieces, text in zip(compressed.pieces, passages, strict=True)
    ]


def alone(passages: Sequence[str], score: Callable[[str], float], share: float) -> list[str]:
    """The text of each passage after a selection sentence by sentence, with one token per word or mark."""
    sentences = [
        (number, text) for number, passage in enumerate(passages) for text in re.findall(r"[^.]+\.\s*", passage)
    ]
    budget = share * sum(map(n_tokens, passages))
    ranked = sorted(range(len(sentences)), key=lambda place: -score(sentences[place][1].strip()))
    chosen: set[int] = set()
    for place in ranked:
        used = sum(n_tokens(sentences[own][1].strip()) for own in chosen)
        if not chosen or used + n_tokens(sentences[place][1].strip()) <= budget:
            chosen.add(place)
    return [
        "".join(text for place, (own, text) in enumerate(sentences) if own == number and place in chosen)
        for number in range(len(passages))
    ]


def n_tokens(text: str) -> int:
    return len(text)


class Characters:
    """A tokenizer of characters."""

    def token_ends(self, texts: Sequence[str]) -> list[np.ndarray]:
        return [np.arange(1, len(text) + 1) for text in texts]


@pytest.mark.parametrize(("row", "share"), list(product((0, 1), (0.01, 0.3, 0.5, 0.8, 1.0))))
def test_extraction_by_words_equals_selecting_sentences_one_by_one(row: int, share: float) -> None:
    texts = [text.strip() for passage in PASSAGES[row] for text in re.findall(r"[^.]+\.", passage)]

    def score(sentence: str) -> float:
        table = build_term_table(texts, EnglishStems())
        queries = Passages([QUERIES[row]], query_terms([QUERIES[row]], EnglishStems(), table))
        pair = np.array([[0, texts.index(sentence)]], dtype=np.int32)
        return float(WORDS.score(queries, Passages(texts, table.document_terms()), pair)[0])

    compressor = ExtractiveByReranker(WORDS, share, Characters())  # type: ignore[arg-type]
    found = passage_texts(compressor.compress(QUERIES, PASSAGES)[row], PASSAGES[row])
    assert found == alone(PASSAGES[row], score, share)
    assert any(found)


@pytest.mark.parametrize(("row", "share"), list(product((0, 1), (0.01, 0.3, 0.5, 0.8, 1.0))))
def test_extraction_by_vectors_equals_selecting_sentences_one_by_one(row: int, share: float) -> None:
    embedder = Hashing(n_dimensions=64)
    query = embedder.embed_queries(Passages([QUERIES[row]]), {})[0]

    def score(sentence: str) -> float:
        return float(embedder.embed_chunks(Passages([sentence]), {})[0] @ query)

    compressor = ExtractiveByVectors(embedder, share, Characters())  # type: ignore[arg-type]
    found = passage_texts(compressor.compress(QUERIES, PASSAGES)[row], PASSAGES[row])
    assert found == alone(PASSAGES[row], score, share)


def test_extraction_keeps_the_first_of_equal_sentences() -> None:
    compressor = ExtractiveByReranker(ReadsCharacters(1, None), 0.5, Characters())  # type: ignore[arg-type]
    (compressed,) = compressor.compress(["q"], [["One. Two. Six. Ten.", "End."]])
    assert compressed.pieces == (((0, 10),), ())


class TestByWords(CompressorContract):
    component = ExtractiveByReranker(WORDS)


class TestByPairs(CompressorContract):
    component = ExtractiveByReranker(ReadsCharacters(1, None), 0.2)


class TestByVectors(CompressorContract):
    component = ExtractiveByVectors(Hashing(n_dimensions=32))


def test_extractive_compressors_reject_invalid_settings() -> None:
    assert "learns from a corpus" in ExtractiveByVectors(Lsa()).check()[0]
    assert "calls a server" in ExtractiveByVectors(OpenAIEmbeddings("m")).check()[0]
    assert "calls a server" in ExtractiveByReranker(RerankApi("m", base_url="http://localhost:1/v1")).check()[0]
    for share in (0.0, 1.1):
        assert ExtractiveByReranker(WORDS, share).check() == [f"share: got {share}, expected a share in (0, 1]"]
        assert ExtractiveByVectors(Hashing(), share).check() == [f"share: got {share}, expected a share in (0, 1]"]
