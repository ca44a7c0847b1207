from pathlib import Path

import numpy as np
import pytest

from components.metrics.text2vec import Text2VecSimilarity
from components.records import Scores, ScoreState
from tests.contracts.metric_contract import AnswerMetricContract, qa_sample, score_texts, value_of
from tests.extras import skip_without
from tests.models.tiny import save_bert, save_sentence_encoder

skip_without("torch", "sentence_transformers")

NAME = "text2vec_similarity_crud_compat"
ANSWERS = ["北京", " 上海是中国的首都。\n", "abc 123", "杭州是浙江的省会，" * 40, "北京"]
REFERENCES = ["中国的首都是北京。", "北京", "bcd 23", "会议在北京举行，共有12人参加。" * 30, "上海"]


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def encoder(bert: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return an encoder in the published form of text2vec-base-chinese: a mean over at most 128 tokens."""
    return str(save_sentence_encoder(tmp_path_factory.mktemp("encoder"), bert, max_tokens=128))


def _scores(metric: Text2VecSimilarity, answers: list[str], references: list[str]) -> Scores:
    return score_texts(metric, [qa_sample(reference) for reference in references], answers)[NAME]


def _cosine_of_means(bert: Path, answer: str, reference: str) -> float:
    """Return the cosine as the package text2vec computes it: one text at a time, 256 tokens, the mean over the last
    layer.
    """
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, network = AutoTokenizer.from_pretrained(bert), AutoModel.from_pretrained(bert)
    vectors = []
    for text in (answer.strip(), reference.strip()):
        inputs = tokenizer(text, max_length=256, truncation=True, return_tensors="pt")
        with torch.no_grad():
            vectors.append(network(**inputs).last_hidden_state[0].mean(dim=0))
    return float(torch.nn.functional.cosine_similarity(*vectors, dim=0))


class TestText2VecSimilarity(AnswerMetricContract):
    @pytest.fixture(autouse=True)
    def _tiny(self, encoder: str) -> None:
        self.metric = Text2VecSimilarity(encoder, "")


def test_text2vec_equals_the_cosine_of_token_means(bert: Path, encoder: str) -> None:
    expected = [_cosine_of_means(bert, *pair) for pair in zip(ANSWERS, REFERENCES, strict=True)]
    scores = _scores(Text2VecSimilarity(encoder, ""), ANSWERS, REFERENCES)
    assert scores.values.tolist() == pytest.approx(expected, abs=1e-6)
    assert len({round(value, 3) for value in expected}) == len(expected)


def test_text2vec_reads_at_most_256_tokens(encoder: str) -> None:
    metric = Text2VecSimilarity(encoder, "")
    read = "北京" * 127  # and [CLS] and [SEP]
    shorter, whole, longer = (
        _scores(metric, [answer], ["上海"]).values[0] for answer in (read[:-20], read, read + "abc" * 20)
    )
    assert longer == pytest.approx(whole, abs=1e-7)
    assert abs(shorter - whole) > 1e-6


def test_text2vec_pools_a_plain_encoder_by_the_mean(bert: Path, encoder: str) -> None:
    expected = _scores(Text2VecSimilarity(encoder, ""), ANSWERS, REFERENCES)
    scores = _scores(Text2VecSimilarity(str(bert), ""), ANSWERS, REFERENCES)
    assert scores.values == pytest.approx(expected.values, abs=1e-6)


@pytest.mark.parametrize("batch_size", [1, 3])
def test_text2vec_batch_size_changes_only_rounding(encoder: str, batch_size: int) -> None:
    expected = _scores(Text2VecSimilarity(encoder, ""), ANSWERS, REFERENCES)
    scores = _scores(Text2VecSimilarity(encoder, "", batch_size=batch_size), ANSWERS, REFERENCES)
    assert scores.values == pytest.approx(expected.values, abs=1e-6)


def test_text2vec_similarity_is_deterministic(encoder: str) -> None:
    first, second = (_scores(Text2VecSimilarity(encoder, ""), ANSWERS, REFERENCES) for _ in range(2))
    np.testing.assert_array_equal(first.values, second.values)


def test_text2vec_uses_the_best_reference_that_is_not_blank(encoder: str) -> None:
    metric = Text2VecSimilarity(encoder, "")
    alone = [_scores(metric, ["北京是首都"], [reference]).values[0] for reference in REFERENCES]
    scores = score_texts(metric, [qa_sample("", *REFERENCES, " \n")], ["北京是首都"])
    assert value_of(scores[NAME]) == pytest.approx(max(alone), abs=1e-6)
    assert max(alone) - min(alone) > 0.01


def test_text2vec_of_equal_texts_is_one_regardless_of_white_space(encoder: str) -> None:
    scores = _scores(Text2VecSimilarity(encoder, ""), [f"\n{reference} " for reference in REFERENCES], REFERENCES)
    assert scores.values == pytest.approx(1.0, abs=1e-12)
    assert scores.values.max() <= 1.0


def test_text2vec_never_encodes_blank_texts() -> None:
    samples = [qa_sample("北京"), qa_sample("北京"), qa_sample(), qa_sample("", "\u3000")]
    scores = score_texts(Text2VecSimilarity("/no/such/folder", ""), samples, ["", " \n", "北京", "北京"])[NAME]
    assert scores.values[:2].tolist() == [0.0, 0.0]
    assert scores.states == (ScoreState.VALUE,) * 2 + (ScoreState.NOT_APPLICABLE,) * 2


def test_text2vec_rejects_a_batch_size_of_zero(encoder: str) -> None:
    assert Text2VecSimilarity(encoder, "", batch_size=0).check() == ["batch_size: got 0, expected at least 1"]
