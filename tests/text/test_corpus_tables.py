import numpy as np
import pytest

from components.protocols import WordTokenizer
from components.records import Spans, Terms
from components.text import corpus_tables
from components.text.corpus_tables import TermTable, build_term_table, joined_tables, query_terms, segment
from components.text.sentences import sentence_ends
from components.tokenizers.character_bigrams import CharacterBigrams
from components.tokenizers.cl100k import Cl100k
from components.tokenizers.rjieba_words import RjiebaWords

TEXTS = ("杭州在浙江。北京是首都！", "", "Paris，巴黎 Paris", "。")


def words_of(terms: Terms, vocabulary: TermTable) -> list[list[str]]:
    return [[vocabulary.vocabulary[i] for i in terms.row(row)] for row in range(len(terms))]


@pytest.mark.parametrize("batch", [1, 2, 1024])
def test_segments_contain_token_and_sentence_ends_of_every_text(monkeypatch: pytest.MonkeyPatch, batch: int) -> None:
    monkeypatch.setattr(corpus_tables, "_BATCH", batch)
    segments = segment(TEXTS, Cl100k())
    for i, text in enumerate(TEXTS):
        tokens = segments.token_ends[segments.token_offsets[i] : segments.token_offsets[i + 1]]
        sentences = segments.sentence_ends[segments.sentence_offsets[i] : segments.sentence_offsets[i + 1]]
        assert tokens.tolist() == Cl100k().token_ends([text])[0].tolist()
        assert sentences.tolist() == sentence_ends(text).tolist()


def test_segment_without_a_tokenizer_splits_characters() -> None:
    segments = segment(("ab", "", "c"), None)
    assert segments.token_ends.tolist() == [1, 2, 1]
    assert segments.token_offsets.tolist() == [0, 2, 2, 3]


def test_segments_of_no_texts_are_empty() -> None:
    segments = segment((), Cl100k())
    assert segments.token_offsets.tolist() == segments.sentence_offsets.tolist() == [0]
    assert len(segments.token_ends) == len(segments.sentence_ends) == 0


def test_terms_of_documents_are_their_words_in_order() -> None:
    table = build_term_table(TEXTS, RjiebaWords())
    expected = [["杭州", "在", "浙江", "北京", "是", "首都"], [], ["paris", "巴黎", "paris"], []]
    assert words_of(table.document_terms(), table) == expected
    assert list(table.vocabulary) == sorted({word for words in expected for word in words})


@pytest.mark.parametrize("tokenizer", [RjiebaWords(), CharacterBigrams()])
def test_chunk_terms_are_the_words_entirely_inside(tokenizer: WordTokenizer) -> None:
    table = build_term_table(TEXTS, tokenizer)
    rows = [(d, a, b) for d, text in enumerate(TEXTS) for a in range(len(text)) for b in range(a + 1, len(text) + 1)]
    columns = np.array(rows, dtype=np.int32)
    inside = []
    for document, start, end in rows:
        (words,) = tokenizer.words([TEXTS[document]])
        placed = zip(words.words, words.start, words.end, strict=True)
        terms = [tokenizer.normalize(word) for word, first, last in placed if start <= first and last <= end]
        inside.append([term for term in terms if term])
    assert words_of(table.chunk_terms(Spans(columns[:, 0], columns[:, 1], columns[:, 2])), table) == inside


def test_query_terms_exclude_words_the_corpus_lacks() -> None:
    table = build_term_table(TEXTS, RjiebaWords())
    terms = query_terms(["浙江的首都 PARIS 首都", "上海", ""], RjiebaWords(), table)
    assert words_of(terms, table) == [["浙江", "首都", "paris", "首都"], [], []]


def test_table_without_rows_has_no_index() -> None:
    table = build_term_table(("。", ""), RjiebaWords())
    assert len(table.vocabulary) == 0
    assert words_of(table.document_terms(), table) == [[], []]
    assert len(build_term_table((), RjiebaWords()).document_terms()) == 0


@pytest.mark.parametrize("rows", [[[0, 1], [2, 3, 4]], [[1, 3], [0, 2, 4]], [[0, 1, 2, 3, 4], []]])
def test_joined_tables_equal_the_table_of_all_documents(rows: list[list[int]]) -> None:
    texts = ["西湖和故宫。", "故宫", "", "Paris and 长城", "长城 2024"]
    tables = [build_term_table([texts[row] for row in own], RjiebaWords()) for own in rows]
    joined = joined_tables(tables, [np.array(own, dtype=np.int64) for own in rows])
    whole = build_term_table(texts, RjiebaWords())
    assert joined.vocabulary == whole.vocabulary
    for name in ("offsets", "ids", "start", "end"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(whole, name))
