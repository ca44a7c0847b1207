from collections.abc import Sequence

import numpy as np
import pytest
import sacrebleu

from components.metrics.bleu import Bleu
from components.records import ScoreState
from tests.contracts.metric_contract import AnswerMetricContract, qa_sample, score_texts

_ANSWERS = ["会议于8月15日在北京举行，共有12人参加。", "武汉市第五医院改扩建项目已完成", "", "今天天气很好，适合出行。"]
_REFERENCES = [
    ["8月15日，会议在北京举行，12人参加。", "会议于8月15日在北京召开，共有12人参加了会议。", "北京会议共12人参加"],
    ["武汉市第五医院的改扩建项目已经完成。"],
    ["这一题没有回答"],
    ["今天天气很好", "今天的天气适合出行。"],
]


class TestBleu(AnswerMetricContract):
    metric = Bleu()


def _bleu(answers: Sequence[str], references: Sequence[Sequence[str]], language: str = "zh") -> float:
    metric = Bleu(language)
    scores = score_texts(metric, [qa_sample(*texts) for texts in references], answers)["bleu"]
    return float(metric.combine("bleu", scores.statistics.sum(axis=0)))


def _sacrebleu(answers: Sequence[str], references: Sequence[Sequence[str]], tokenize: str) -> float:
    """Return the published score. sacreBLEU takes the i-th references of all samples together, None for a missing
    one.
    """
    n_references = max(map(len, references))
    columns = [[texts[i] if i < len(texts) else None for texts in references] for i in range(n_references)]
    return sacrebleu.corpus_bleu(answers, columns, tokenize=tokenize).score / 100  # type: ignore[arg-type]


@pytest.mark.parametrize("rows", [[0, 1, 2, 3], [0], [1], [0, 2], [1, 3]])
def test_bleu_equals_sacrebleu_with_differing_numbers_of_references(rows: list[int]) -> None:
    answers, references = [_ANSWERS[i] for i in rows], [_REFERENCES[i] for i in rows]
    assert _bleu(answers, references) == pytest.approx(_sacrebleu(answers, references, "zh"), abs=1e-12)
    assert _bleu(answers, references) > 0


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        ("the cat sat on the mat", "the cat lay on a mat today"),  # no common 3-gram: smoothed twice
        ("the dog", "the dog"),  # no 4-gram at all: 0
        ("nothing in common here now", "the cat sat on the mat"),
        ("", "the cat"),
        ("the cat, the cat, the cat sat there.", "the cat sat"),  # longer than the reference: no penalty
    ],
)
def test_bleu_equals_sacrebleu_at_the_edges(answer: str, reference: str) -> None:
    assert _bleu([answer], [[reference]], "en") == pytest.approx(_sacrebleu([answer], [[reference]], "13a"), abs=1e-12)


def test_bleu_of_random_corpora_equals_sacrebleu() -> None:
    random = np.random.default_rng(0)
    for _ in range(50):
        answers = ["".join(random.choice(list("甲乙丙丁"), random.integers(0, 9))) for _ in range(4)]
        references = [["".join(random.choice(list("甲乙丙丁"), random.integers(1, 9)))] for _ in range(4)]
        assert _bleu(answers, references) == pytest.approx(_sacrebleu(answers, references, "zh"), abs=1e-12)


def test_bleu_with_several_references_equals_sacrebleu() -> None:
    random = np.random.default_rng(1)
    for _ in range(50):
        answers = ["".join(random.choice(list("甲乙丙"), random.integers(0, 12))) for _ in range(5)]
        references = [
            ["".join(random.choice(list("甲乙丙"), random.integers(1, 12))) for _ in range(random.integers(1, 4))]
            for _ in range(5)
        ]
        assert _bleu(answers, references) == pytest.approx(_sacrebleu(answers, references, "zh"), abs=1e-12)


def test_bleu_of_perfect_answers_is_one() -> None:
    assert _bleu(["会议在北京举行"], [["会议在北京举行"]]) == pytest.approx(1.0)


def test_empty_answer_increases_the_brevity_penalty() -> None:
    alone = _bleu(_ANSWERS[:1], _REFERENCES[:1])
    assert 0 < _bleu([_ANSWERS[0], ""], _REFERENCES[:2]) < alone


def test_bleu_leaves_out_blank_references() -> None:
    assert _bleu(["会议在北京"], [["会议在北京举行", " ", ""]]) == _bleu(["会议在北京"], [["会议在北京举行"]])


def test_bleu_of_samples_without_references_is_not_applicable() -> None:
    scores = score_texts(Bleu(), [qa_sample(), qa_sample("北京")], ["北京", "北京"])["bleu"]
    assert scores.states == (ScoreState.NOT_APPLICABLE, ScoreState.VALUE)


def test_bleu_of_a_single_sample_has_no_value() -> None:
    assert np.isnan(score_texts(Bleu(), [qa_sample("北京")], ["北京"])["bleu"].values).all()


@pytest.mark.parametrize(("language", "tokenizer"), [("zh", "zh"), ("en", "13a")])
def test_bleu_signature_names_the_tokenizer_and_the_smoothing(language: str, tokenizer: str) -> None:
    expected = f"nrefs:var|case:mixed|eff:no|tok:{tokenizer}|smooth:exp|version:{sacrebleu.__version__}"
    assert Bleu(language).signature == expected


def test_bleu_rejects_an_unknown_language() -> None:
    assert Bleu("fr").check() == ["language: got 'fr', expected one of zh, en, char"]
