"""ROUGE as OmniEval's code has it, against rouge-chinese itself."""

import json
from pathlib import Path

import pytest
from rouge_chinese import Rouge

import components.datasets
from components.metrics.rouge_omnieval import RougeOmniEval
from components.tokenizers.jieba_words import JiebaWords
from tests.contracts.metric_contract import AnswerMetricContract, qa_sample, score_texts


class TestRougeOmniEval(AnswerMetricContract):
    metric = RougeOmniEval()


def _pairs() -> list[tuple[str, str]]:
    """Neighbouring documents of the bundled benchmark, which share words, and texts with line breaks."""
    file = Path(components.datasets.__file__).parent / "demo_data" / "documents.jsonl"
    texts = [json.loads(line)["text"][:160] for line in file.read_text(encoding="utf-8").splitlines()[:30]]
    texts += ["第一行。\n\n第二行\n \n第三行。", "第一行\n第二行。\n第四行", "等等......以及........等", "的的的的的"]
    return list(zip(texts, [*texts[1:], texts[0]], strict=True))


@pytest.mark.parametrize("name", ["1", "2", "l"])
def test_rouge_omnieval_equals_rouge_chinese(name: str) -> None:
    pairs = _pairs()
    joined = [[" ".join(words) for words in JiebaWords().tokenize(pair)] for pair in pairs]
    published = Rouge().get_scores([answer for answer, _ in joined], [reference for _, reference in joined])
    expected = [score[f"rouge-{name}"]["f"] for score in published]
    scores = score_texts(RougeOmniEval(), [qa_sample(reference) for _, reference in pairs], [a for a, _ in pairs])
    assert scores[f"rouge_{name}_omnieval_compat"].values.tolist() == pytest.approx(expected, abs=1e-12)
    assert sum(value > 0 for value in expected) > 20


def test_every_rouge_measure_uses_its_own_best_reference() -> None:
    answer, references = "甲 乙 丙 丁", ("丁 丙 乙 甲", "甲 乙 戊 己")
    both = score_texts(RougeOmniEval(), [qa_sample(*references)], [answer])
    alone = [score_texts(RougeOmniEval(), [qa_sample(reference)], [answer]) for reference in references]
    for name in RougeOmniEval().names:
        assert both[name].values[0] == max(scores[name].values[0] for scores in alone)
