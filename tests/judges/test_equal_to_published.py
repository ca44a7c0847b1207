"""Our values equal ragas and RAGChecker under equal replies, on 20 samples, and two recomputations by hand.

`tests/golden/published_judges.py` drew the replies and ran the packages.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from components.judges.answer_relevancy import AnswerRelevancy
from components.judges.claim_metrics import ClaimMetrics
from components.judges.claim_scores import CLAIM_METRICS
from components.judges.context_precision import ContextPrecision
from components.judges.context_rating import ContextRating
from components.judges.context_recall import ContextRecall
from components.judges.faithfulness import Faithfulness
from components.llms.scripted import Scripted
from components.protocols import EmbedderState, JudgedMetric
from components.records import JudgeInput, Kind, Passages, Request, Sample, ScoreState
from tests.contracts.judge_contract import ScriptedJudge
from tests.contracts.passages import make_passages
from tests.judges.claim_script import CLAIM_PROMPT, VERDICT_PROMPT, claims_reply, verdicts_reply

FILE = Path(__file__).parents[1] / "golden" / "published_judges.json"
CASES: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))["cases"]
WORDS = {"Entailment": "supported", "Contradiction": "contradicted", "Neutral": "neither"}
SHARED = {"llm": Scripted(), "system": "", "reminder": "Again.", "max_attempts": 1}
CLAIMS = {**SHARED, "verdict_prompt": VERDICT_PROMPT, "max_claims": 10, "one_by_one": False}
CHECKED = ClaimMetrics(**CLAIMS, claim_prompt=CLAIM_PROMPT, use=tuple(CLAIM_METRICS))


def labels(names: list[str]) -> str:
    return verdicts_reply(*(WORDS[name] for name in names))


def item_of(case: Mapping[str, Any]) -> JudgeInput:
    reference = "".join(f"r{n}.\n" for n in range(len(case["reference_together"])))
    sample = Sample("s", "qa", Kind.QA, "question", (reference,))
    return JudgeInput(sample, "answer", make_passages(*(f"p{n}" for n in range(len(case["useful"])))))


def value_of(metric: JudgedMetric, case: Mapping[str, Any], reply: Callable[[Request], str]) -> dict[str, float | None]:
    item, ask = item_of(case), ScriptedJudge(reply)
    scores = metric.judge([item], metric.prepare([item.sample], ask), ask).scores
    return {name: float(own.values[0]) if own.states[0] is ScoreState.VALUE else None for name, own in scores.items()}


@pytest.mark.parametrize("case", CASES)
class TestRagas:
    def test_faithfulness_equals_published_ragas_values(self, case: dict[str, Any]) -> None:
        claims = claims_reply(*(f"c{n}" for n in range(len(case["together"]))))
        metric = Faithfulness(**CLAIMS, claim_prompt=CLAIM_PROMPT)
        found = value_of(
            metric, case, lambda r: claims if r.messages[-1].content.startswith("split") else labels(case["together"])
        )
        assert found == {"faithfulness": pytest.approx(case["ragas"]["faithfulness"], abs=1e-15)}
        by_hand = Fraction(case["together"].count("Entailment"), len(case["together"]))
        assert found["faithfulness"] == pytest.approx(float(by_hand))

    def test_context_recall_equals_published_ragas_values(self, case: dict[str, Any]) -> None:
        found = value_of(ContextRecall(**CLAIMS), case, lambda _: labels(case["reference_together"]))
        assert found == {"context_recall": pytest.approx(case["ragas"]["context_recall"], abs=1e-15)}
        by_hand = Fraction(case["reference_together"].count("Entailment"), len(case["reference_together"]))
        assert found["context_recall"] == pytest.approx(float(by_hand))

    @pytest.mark.parametrize(
        ("name", "place"),
        [("context_precision", "{references}"), ("context_precision_without_reference", "{answer}")],
    )
    def test_context_precision_equals_published_ragas_values(self, case: dict[str, Any], name: str, place: str) -> None:
        """The package adds 1e-10 to its divisor."""
        metric = ContextPrecision(name=name, prompt=f"{{question}}|{place}|{{passage}}", **SHARED)
        useful = case["useful"]
        found = value_of(
            metric, case, lambda r: f'{{"grade": {useful[int(r.messages[-1].content.rpartition("p")[2])]}}}'
        )
        assert found[name] == pytest.approx(case["ragas"][name], abs=1e-9)
        ranks = [rank for rank, own in enumerate(useful, start=1) if own]
        by_hand = sum(Fraction(n, rank) for n, rank in enumerate(ranks, start=1)) / len(ranks) if ranks else 0
        assert found[name] == pytest.approx(float(by_hand))

    def test_context_relevance_equals_published_ragas_values(self, case: dict[str, Any]) -> None:
        prompts = ("0|{question}{passages}", "1|{question}{passages}")
        metric = ContextRating(name="context_relevance_compat", prompts=prompts, **SHARED)
        found = value_of(metric, case, lambda r: str(case["ratings"][int(r.messages[-1].content[0])]))
        assert found == {"context_relevance_compat": case["ragas"]["context_relevance_compat"]}
        assert found["context_relevance_compat"] == float(Fraction(sum(case["ratings"]), 4))

    def test_answer_relevancy_equals_published_ragas_values(self, case: dict[str, Any]) -> None:
        vectors = Vectors(tuple(map(tuple, case["vectors"])))
        metric = AnswerRelevancy(prompt="{answer}{n_questions}", n_questions=3, embedder=vectors, **SHARED)
        reply = json.dumps({"questions": ["1", "2", "3"], "noncommittal": case["noncommittal"]})
        found = value_of(metric, case, lambda _: reply)
        assert found["answer_relevancy_compat"] == pytest.approx(case["ragas"]["answer_relevancy_compat"], abs=1e-6)
        question, *derived = (np.array(vector) for vector in case["vectors"])
        cosines = [question @ own / np.sqrt((question @ question) * (own @ own)) for own in derived]
        assert found["answer_relevancy"] == pytest.approx(sum(cosines) / 3, abs=1e-6)


@dataclass(frozen=True)
class Vectors:
    """Given vectors for "question", "1", "2" and "3"."""

    rows: tuple[tuple[float, ...], ...]

    version: ClassVar[int] = 1
    is_pretrained: ClassVar[Literal[True]] = True
    tokenizer: ClassVar[None] = None

    def fit(self, documents: Passages) -> EmbedderState:
        return {}

    def embed_chunks(self, chunks: Passages, state: EmbedderState) -> NDArray[np.float32]:
        return self.embed_queries(chunks, state)

    def embed_queries(self, queries: Passages, state: EmbedderState) -> NDArray[np.float32]:
        rows = [self.rows[int(text) if text.isdigit() else 0] for text in queries.texts]
        return np.array(rows, dtype=np.float32)


def checked_values(case: Mapping[str, Any]) -> dict[str, float | None]:
    """The values of our metrics of claims."""
    n_answer, n_reference = len(case["answer_by_reference"]), len(case["reference_by_answer"])

    def reply(request: Request) -> str:
        kind, shown, against = request.messages[-1].content.split("|")
        if kind == "split":
            of, n = ("a", n_answer) if against == "answer" else ("r", n_reference)
            return claims_reply(*(f"{of}{n}" for n in range(n)))
        of_answer = shown.startswith("[1] a")
        text = against.removeprefix("[1] ")
        if text.startswith("p"):
            table = case["answer_by_passage" if of_answer else "reference_by_passage"]
            return labels([row[int(text[1:])] for row in table])
        return labels(case["answer_by_reference" if of_answer else "reference_by_answer"])

    return value_of(CHECKED, case, reply)


@pytest.mark.parametrize("case", CASES)
class TestRagChecker:
    def test_claim_metrics_equal_the_ragchecker_package(self, case: dict[str, Any]) -> None:
        """If nothing was recalled, the package counts an undefined utilization as 0."""
        for name, value in checked_values(case).items():
            if value is None:
                assert (name, case["ragchecker"][name]) == ("context_utilization", 0.0)
            else:
                assert value == pytest.approx(case["ragchecker"][name], abs=1e-15), name

    def test_claim_metrics_equal_sets_counted_by_hand(self, case: dict[str, Any]) -> None:
        """The definitions of the paper's section 3.3, with sets of claims and passages."""
        found = checked_values(case)
        answer, reference = range(len(case["answer_by_reference"])), range(len(case["reference_by_answer"]))
        passages = range(len(case["useful"]))
        right = {i for i in answer if case["answer_by_reference"][i] == "Entailment"}
        covered = {j for j in reference if case["reference_by_answer"][j] == "Entailment"}
        backing = {i: {p for p in passages if case["answer_by_passage"][i][p] == "Entailment"} for i in answer}
        holding = {j: {p for p in passages if case["reference_by_passage"][j][p] == "Entailment"} for j in reference}
        relevant = set().union(*holding.values())
        recalled = {j for j in reference if holding[j]}
        wrong = set(answer) - right
        in_relevant = {i for i in answer if backing[i] & relevant}
        in_others_only = {i for i in answer if backing[i] - relevant} - in_relevant
        unfaithful = {i for i in answer if not backing[i]}
        p, r = Fraction(len(right), len(answer)), Fraction(len(covered), len(reference))
        by_hand = {
            "overall_precision": p,
            "overall_recall": r,
            "overall_f1": 2 * p * r / (p + r) if p * r else Fraction(0),
            "claim_recall": Fraction(len(recalled), len(reference)),
            "context_precision": Fraction(len(relevant), len(passages)),
            "context_utilization": Fraction(len(covered & recalled), len(recalled)) if recalled else None,
            "relevant_noise_sensitivity": Fraction(len(wrong & in_relevant), len(answer)),
            "irrelevant_noise_sensitivity": Fraction(len(wrong & in_others_only), len(answer)),
            "hallucination": Fraction(len(wrong & unfaithful), len(answer)),
            "self_knowledge": Fraction(len(right & unfaithful), len(answer)),
            "faithfulness": 1 - Fraction(len(unfaithful), len(answer)),
        }
        assert found.keys() == by_hand.keys()
        for name, value in by_hand.items():
            assert found[name] == (None if value is None else pytest.approx(float(value))), name


def test_published_cases_have_the_promised_number_and_differ() -> None:
    assert len(CASES) == 20
    for package, names in (("ragas", 6), ("ragchecker", 11)):
        values = [case[package] for case in CASES]
        assert all(len(own) == names for own in values)
        assert all(len({own[name] for own in values}) > 2 for name in values[0])
