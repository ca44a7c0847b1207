import pytest

from components.chunkers.budget import Unit
from components.chunkers.sentence import SentencePacking
from components.tokenizers.rjieba_words import RjiebaWords
from tests.contracts.chunker_contract import ExactOverlapContract, chunk_texts


class TestSentencePacking(ExactOverlapContract):
    component = SentencePacking()


class TestInWords(ExactOverlapContract):
    component = SentencePacking(tokenizer=RjiebaWords())


@pytest.mark.parametrize(
    ("text", "size", "overlap", "expected"),
    [
        ("一二。三四。五六。", 6, 0.0, ["一二。三四。", "五六。"]),
        ("一二。三四。五六。", 8, 0.0, ["一二。三四。", "五六。"]),
        ("一二。三四。五六。", 9, 0.0, ["一二。三四。五六。"]),
        ("一二。三四。五六。", 3, 0.0, ["一二。", "三四。", "五六。"]),
        # Half of the size is repeated, the other half holds new sentences; the first chunk has nothing to repeat.
        ("一二。三四。五六。", 6, 0.5, ["一二。三四。", "三四。五六。"]),
        ("一。二。三四。", 4, 0.25, ["一。二。", "。三四。"]),
        # A sentence that is too long is cut at the size; the rest is packed with what follows.
        ("一。二三四五六七八九。十。", 4, 0.0, ["一。", "二三四五", "六七八九", "。十。"]),
        ("一二三四五六。", 4, 0.5, ["一二三四", "三四五六", "五六。"]),
    ],
)
def test_sentence_packing_equals_hand_computed_chunks(
    text: str, size: int, overlap: float, expected: list[str]
) -> None:
    assert chunk_texts(SentencePacking(size, overlap, Unit.CHAR), text) == expected


def test_sentence_packing_counts_tokens() -> None:
    text = "One two three. Four five six. Seven."  # 4 + 4 + 3 tokens; a sentence's whitespace begins the next token
    assert chunk_texts(SentencePacking(8), text) == ["One two three. Four five six.", " Seven."]


def test_small_overlap_changes_chunks_of_every_size() -> None:
    text = "杭州是浙江的省会。西湖在城西。钱塘江流经市区。" * 20
    for size in (16, 64, 128):
        assert chunk_texts(SentencePacking(size, 0.1), text) != chunk_texts(SentencePacking(size, 0.0), text)
