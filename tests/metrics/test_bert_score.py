import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from components.errors import ComponentError
from components.metrics.bert_score import BertScore
from components.records import Sample, Scores, ScoreState
from tests.contracts.metric_contract import AnswerMetricContract, qa_sample, score_texts, value_of
from tests.extras import skip_without
from tests.models.tiny import MAX_TOKENS, N_LAYERS, save_bert

skip_without("torch", "bert_score")

ANSWERS = ["北京", "上海是中国的首都。", "abc 123", "杭州是浙江的省会，" * 9, "北京"]
REFERENCES = ["中国的首都是北京。", "北京", "bcd 23", "会议在北京举行，共有12人参加。" * 7, "上海"]


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_bert(tmp_path_factory.mktemp("bert")))


def _scores(metric: BertScore, answers: list[str], references: list[str]) -> Scores:
    samples: list[Sample] = [qa_sample(reference) for reference in references]
    return score_texts(metric, samples, answers)["bert_score"]


class TestBertScore(AnswerMetricContract):
    @pytest.fixture(autouse=True)
    def _tiny(self, bert: str) -> None:
        self.metric = BertScore(bert, "", num_layers=1)


@pytest.mark.parametrize("num_layers", range(1, N_LAYERS + 1))
def test_bert_score_values_equal_the_package(bert: str, num_layers: int) -> None:
    import bert_score

    *_, expected = bert_score.score(ANSWERS, REFERENCES, model_type=bert, num_layers=num_layers)
    scores = _scores(BertScore(bert, "", num_layers), ANSWERS, REFERENCES)
    assert scores.values == pytest.approx(expected.numpy(), abs=1e-6)
    assert len(set(scores.values.round(3))) == len(ANSWERS)


def test_bert_scores_differ_between_layers(bert: str) -> None:
    first, second = (_scores(BertScore(bert, "", n), ANSWERS, REFERENCES).values for n in (1, 2))
    assert np.abs(first - second).min() > 1e-3


@pytest.mark.parametrize("batch_size", [1, 2, 3])
def test_bert_score_batch_size_changes_only_rounding(bert: str, batch_size: int) -> None:
    expected = _scores(BertScore(bert, "", 1), ANSWERS, REFERENCES)
    scores = _scores(BertScore(bert, "", 1, batch_size=batch_size), ANSWERS, REFERENCES)
    assert scores.values == pytest.approx(expected.values, abs=1e-6)


def test_bert_score_uses_the_best_reference_that_is_not_blank(bert: str) -> None:
    metric = BertScore(bert, "", 1)
    alone = [_scores(metric, ["北京是首都"], [reference]).values[0] for reference in REFERENCES]
    scores = score_texts(metric, [qa_sample("", *REFERENCES, " \n")], ["北京是首都"])
    assert value_of(scores["bert_score"]) == pytest.approx(max(alone), abs=1e-6)
    assert max(alone) - min(alone) > 0.01


def test_bert_score_does_not_depend_on_the_order_of_sets(bert: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bert-score iterates over a set of texts, whose order differs between processes."""
    from bert_score import utils

    texts = [("".join(ANSWERS + REFERENCES) * 2)[n : 5 * n] for n in range(1, 65)]
    orders: list[list[str]] = []

    class OtherOrder(set[str]):
        def __iter__(self) -> Iterator[str]:
            orders.append(random.Random(len(orders)).sample(sorted(super().__iter__()), len(self)))
            return iter(orders[-1])

    monkeypatch.setattr(utils, "set", OtherOrder, raising=False)
    metric = BertScore(bert, "", 2, batch_size=8)
    bits = {_scores(metric, texts[::2], texts[1::2]).values.tobytes() for _ in range(3)}
    assert len(bits) == 1
    assert len(orders) == len(set(map(tuple, orders))) >= 3


def test_bert_score_of_equal_texts_is_one(bert: str) -> None:
    scores = _scores(BertScore(bert, "", 2), REFERENCES, REFERENCES)
    assert scores.values == pytest.approx(1.0, abs=1e-6)
    assert scores.values.max() <= 1.0


def test_bert_score_of_a_text_without_tokens_is_zero(bert: str) -> None:
    scores = _scores(BertScore(bert, "", 1), ["\u200b", "北京"], ["北京", "\u200b"])
    assert scores.values.tolist() == [0.0, 0.0]


def test_bert_score_never_encodes_blank_texts() -> None:
    samples = [qa_sample("北京"), qa_sample("北京"), qa_sample(), qa_sample("", "\u3000")]
    scores = score_texts(BertScore("/no/such/folder", "", 1), samples, ["", " \n", "北京", "北京"])["bert_score"]
    assert scores.values[:2].tolist() == [0.0, 0.0]
    assert scores.states == (ScoreState.VALUE,) * 2 + (ScoreState.NOT_APPLICABLE,) * 2


@pytest.mark.parametrize("tokenizer_knows_maximum", [True, False])
def test_bert_score_reads_at_most_the_maximum_length(tmp_path: Path, tokenizer_knows_maximum: bool) -> None:
    folder = save_bert(tmp_path, tokenizer_knows_maximum=tokenizer_knows_maximum)
    metric = BertScore(str(folder), "", 1)
    read = "北京是首都" * (MAX_TOKENS // 5)
    shorter, whole, longer = (
        _scores(metric, [answer], ["上海"]).values[0] for answer in (read[:-5], read, read + "abc" * 50)
    )
    assert longer == pytest.approx(whole, abs=1e-6)
    assert abs(shorter - whole) > 1e-6


def test_model_path_containing_t5_is_not_treated_as_t5(bert: str, tmp_path: Path) -> None:
    copy = shutil.copytree(bert, tmp_path / "test5")
    expected = _scores(BertScore(bert, "", 1), ANSWERS, REFERENCES)
    scores = _scores(BertScore(str(copy), "", 1), ANSWERS, REFERENCES)
    assert scores.values == pytest.approx(expected.values, abs=1e-6)


def test_bert_model_stays_loaded_after_its_folder_is_deleted(tmp_path: Path) -> None:
    metric = BertScore(str(save_bert(tmp_path / "bert")), "", 1)
    before = _scores(metric, ANSWERS, REFERENCES)
    shutil.rmtree(tmp_path / "bert")
    assert _scores(metric, ANSWERS, REFERENCES).values == pytest.approx(before.values, abs=1e-6)


def test_bert_score_rejects_more_layers_than_the_model_has(bert: str) -> None:
    with pytest.raises(ComponentError, match=rf"num_layers: got 3, expected at most the {N_LAYERS} layers"):
        _scores(BertScore(bert, "", 3), ["北京"], ["上海"])


def test_bert_score_rejects_a_model_that_is_not_bert_like(bert: str, tmp_path: Path) -> None:
    from transformers import DistilBertConfig, DistilBertModel

    folder = shutil.copytree(bert, tmp_path / "distilbert")
    DistilBertModel(DistilBertConfig(vocab_size=114, dim=32, hidden_dim=64, n_layers=1, n_heads=2)).save_pretrained(
        folder
    )
    with pytest.raises(ComponentError, match="is a DistilBertModel, expected a BERT-like encoder"):
        _scores(BertScore(str(folder), "", 1), ["北京"], ["上海"])


def test_bert_score_rejects_layer_and_batch_numbers_below_one(bert: str) -> None:
    assert BertScore(bert, "", 0, batch_size=-1).check() == [
        "num_layers: got 0, expected at least 1",
        "batch_size: got -1, expected at least 1",
    ]
