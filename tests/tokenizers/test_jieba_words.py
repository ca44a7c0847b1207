import json
import os
from pathlib import Path

import jieba
import pytest
import rjieba

import components.datasets
from components.tokenizers.jieba_words import JiebaWords
from tests.contracts.tokenizer_contract import TokenizerContract, WordTokenizerContract

_REPOSITORY = Path(__file__).resolve().parents[2]
_SHARED = Path(os.environ.get("RAG_GRID_SHARED", _REPOSITORY.parent / "shared"))


class TestJiebaWords(TokenizerContract, WordTokenizerContract):
    component = JiebaWords()


class TestWithoutHmm(TokenizerContract, WordTokenizerContract):
    component = JiebaWords(hmm=False)


def test_jieba_hmm_finds_words_outside_the_dictionary() -> None:
    text = "他来到了网易杭研大厦"  # the example of jieba's own documentation
    assert JiebaWords().tokenize([text]) == [["他", "来到", "了", "网易", "杭研", "大厦"]]
    assert JiebaWords(hmm=False).tokenize([text]) == [["他", "来到", "了", "网易", "杭", "研", "大厦"]]


def test_jieba_words_keep_white_space() -> None:
    assert JiebaWords().tokenize(["北京 上海"]) == [["北京", " ", "上海"]]


def test_changed_result_does_not_change_the_next() -> None:
    JiebaWords().tokenize(["北京欢迎你"])[0].clear()
    assert "".join(JiebaWords().tokenize(["北京欢迎你"])[0]) == "北京欢迎你"


def _awkward_texts() -> list[str]:
    """Return the texts of the bundled benchmark, and texts on which two segmentations could differ."""
    folder = Path(components.datasets.__file__).parent / "demo_data"
    records = [json.loads(line) for line in (folder / "documents.jsonl").read_text(encoding="utf-8").splitlines()]
    return [
        *(record["text"] for record in records),
        "上涨3.14%，A股与B股",
        "请发邮件到ab.c-d@example.com。",
        "第一行\r\n第二行\n\n　第三行",
        "ＦＵＬＬ　ＷＩＤＴＨ１２３",
        "𠀀𠀁很少见😀的字",
        "AT&T和C++、C#",
        "IT业T恤卡拉OK",
        "......多多的点........",
        "的的的了了了吗",
        "杜苏芮abc杜苏芮123杜苏芮",
        "abc123def 4.5.6 -7",
        "",
    ]


@pytest.fixture(scope="module")
def jieba_tokenizer() -> jieba.Tokenizer:
    segmenter = jieba.Tokenizer()
    segmenter.initialize()  # takes half a second
    return segmenter


def test_dictionary_equals_the_jieba_dictionary(jieba_tokenizer: jieba.Tokenizer) -> None:
    """The dictionary also contains beginnings of words, with a frequency of 0."""
    assert len(jieba_tokenizer.FREQ) > 400_000
    assert [word for word, n in jieba_tokenizer.FREQ.items() if rjieba.has_word(word) != (n > 0)] == []


def test_jieba_words_equal_jieba_with_its_hmm(jieba_tokenizer: jieba.Tokenizer) -> None:
    texts = _awkward_texts()
    assert JiebaWords().tokenize(texts) == [list(jieba_tokenizer.cut(text)) for text in texts]


def test_jieba_words_equal_jieba_without_its_hmm(jieba_tokenizer: jieba.Tokenizer) -> None:
    texts = _awkward_texts()
    assert JiebaWords(hmm=False).tokenize(texts) == [list(jieba_tokenizer.cut(text, HMM=False)) for text in texts]


def test_jieba_words_equal_jieba_on_real_news(jieba_tokenizer: jieba.Tokenizer) -> None:
    files = sorted((_SHARED / "data" / "crud_rag" / "80000_docs").glob("*"))
    if not files:
        pytest.skip(f"no documents in {_SHARED}: set RAG_GRID_SHARED to the folder that holds data/")
    lines = [line for file in files[::6] for line in file.read_text(encoding="utf-8").splitlines()[::60]]
    assert len(lines) > 150
    assert JiebaWords().tokenize(lines) == [list(jieba_tokenizer.cut(line)) for line in lines]
