"""Every text metric against its definition in plain Python, or against the package that defines it."""

import json
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import jieba
import pytest
import sacrebleu
from rouge_chinese import Rouge

from components.metrics.bleu import Bleu
from components.metrics.bleu_crud import BleuCrud
from components.metrics.em import ExactMatch
from components.metrics.f1 import F1
from components.metrics.rouge_l import RougeL
from components.metrics.rouge_omnieval import RougeOmniEval
from components.protocols import AnswerMetric
from tests.contracts.metric_contract import qa_sample, score_texts

_FILE = Path(__file__).resolve().parents[1] / "golden" / "texts.json"
CASES: list[tuple[str, list[str]]] = [
    (case["answer"], case["references"]) for case in json.loads(_FILE.read_text(encoding="utf-8"))
]
Words = Sequence[str]


def _words(text: str) -> list[str]:
    return list(_TOKENIZER.cut(text))


_TOKENIZER = jieba.Tokenizer()


def _without_space(words: Words) -> list[str]:
    return [word for word in words if word.strip()]


def _answer_form(text: str) -> str:
    """Normalize mark by mark: the characters on both sides decide whether a mark is kept."""
    text = "".join(c for c in unicodedata.normalize("NFKC", text).lower() if unicodedata.category(c) != "Cf")
    is_mark = [unicodedata.category(c)[0] in "PS" for c in text]
    remaining = []
    for i, c in enumerate(text):
        first = max((j + 1 for j in range(i) if not is_mark[j]), default=0)
        last = next((j for j in range(i, len(text)) if not is_mark[j]), len(text))
        before, after, next_after = text[first - 1 : first], text[last : last + 1], text[i + 1 : i + 2]
        if not is_mark[i]:
            remaining.append(c)
        elif c in "-−" and next_after.isdecimal() and not re.match(r"[\w.)\]%]", text[i - 1 : i] if i else " "):
            remaining.append(" -" if before.isdecimal() else "-")
        elif before.isdecimal() and after.isdecimal():
            is_thousand = len(text[last : last + 3]) == 3 and text[last : last + 3].isdecimal()
            remaining.append({".": ".", ",": "" if is_thousand else " "}.get(text[first:last], " "))
    return " ".join("".join(remaining).split())


def _omnieval_form(text: str) -> str:
    text = "".join(c for c in text.lower() if c not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def _rouge_l(answer: Words, reference: Words) -> float:
    above = [0] * (len(reference) + 1)
    for a in answer:
        row = [0]
        for (left, up), r in zip(pairwise(above), reference, strict=True):
            row.append(left + 1 if a == r else max(row[-1], up))
        above = row
    return 2 * above[-1] / (len(answer) + len(reference))


def _f1(answer: Words, reference: Words) -> float:
    return 2 * (Counter(answer) & Counter(reference)).total() / (len(answer) + len(reference))


def _precision(answer: Words, references: Sequence[Words], n: int) -> float:
    own, *theirs = (
        Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1)) for words in (answer, *references)
    )
    matched = sum(min(count, max(counts[ngram] for counts in theirs)) for ngram, count in own.items())
    return matched / max(own.total(), 1)


def _best(similarity: Callable[[Words, Words], float], units: Callable[[str], Words]) -> Callable[..., float | None]:
    def value(answer: str, references: Sequence[str]) -> float | None:
        theirs = [found for reference in references if (found := units(reference))]
        return max((similarity(units(answer), reference) for reference in theirs), default=None)

    return value


def _bleu_crud(orders: Sequence[int]) -> Callable[..., float]:
    def value(answer: str, references: Sequence[str]) -> float:
        product = 1.0
        for n in orders:
            product *= _precision(_words(answer), [_words(reference) for reference in references if reference], n)
        return product ** (1 / len(orders))

    return value


def _em(answer: str, references: Sequence[str]) -> float | None:
    forms = [form for reference in references if (form := _answer_form(reference))]
    return float(_answer_form(answer) in forms) if forms else None


def _em_omnieval(answer: str, references: Sequence[str]) -> float:
    return sum(_omnieval_form(answer) == _omnieval_form(reference) for reference in references) / len(references)


def _rouge_chinese(name: str) -> Callable[..., float]:
    def value(answer: str, references: Sequence[str]) -> float:
        if not answer.strip():
            return 0.0
        joined = [" ".join(_words(text)) for text in (answer, *filter(None, references))]
        return max(float(Rouge().get_scores(joined[0], reference)[0][name]["f"]) for reference in joined[1:])

    return value


_EXPECTED: dict[str, tuple[AnswerMetric, Callable[..., float | None]]] = {
    "rouge_l": (RougeL(), _best(_rouge_l, lambda text: _without_space(_words(text)))),
    "rouge_l_crud_compat": (RougeL(crud_compat=True), _best(_rouge_l, _words)),
    "bleu_crud_compat": (BleuCrud(), _bleu_crud((1, 2, 3, 4))),
    **{f"bleu_{n}_crud_compat": (BleuCrud(), _bleu_crud((n,))) for n in (1, 2, 3, 4)},
    **{f"rouge_{n}_omnieval_compat": (RougeOmniEval(), _rouge_chinese(f"rouge-{n}")) for n in ("1", "2", "l")},
    "f1": (F1(), _best(_f1, lambda text: _without_space(_words(_answer_form(text))))),
    "f1_omnieval_compat": (F1(omnieval_compat=True), _best(_f1, lambda text: " ".join(_words(_omnieval_form(text))))),
    "em": (ExactMatch(), _em),
    "em_omnieval_compat": (ExactMatch(omnieval_compat=True), _em_omnieval),
}


@pytest.mark.parametrize("name", _EXPECTED)
def test_metric_equals_its_plain_definition(name: str) -> None:
    metric, definition = _EXPECTED[name]
    expected = [definition(answer, references) for answer, references in CASES]
    samples = [qa_sample(*references) for _, references in CASES]
    scores = score_texts(metric, samples, [answer for answer, _ in CASES])[name]
    assert any(expected)
    assert scores.values.tolist() == pytest.approx(
        [float("nan") if value is None else value for value in expected], abs=1e-12, nan_ok=True
    )


@pytest.mark.parametrize("rows", [range(len(CASES)), *([row] for row in range(len(CASES)))], ids=str)
def test_bleu_equals_sacrebleu_with_blank_references(rows: Sequence[int]) -> None:
    """A blank reference is None to sacreBLEU: no reference."""
    cases = [CASES[row] for row in rows]
    texts = [[reference for reference in references if reference] for _, references in cases]
    columns = [[own[i] if i < len(own) else None for own in texts] for i in range(max(map(len, texts)))]
    answers = [answer for answer, _ in cases]
    expected = sacrebleu.corpus_bleu(answers, columns, tokenize="zh").score / 100  # type: ignore[arg-type]
    scores = score_texts(Bleu(), [qa_sample(*references) for _, references in cases], answers)["bleu"]
    assert Bleu().combine("bleu", scores.statistics.sum(axis=0)) == pytest.approx(expected, abs=1e-12)
