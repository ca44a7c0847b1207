"""Writes published_judges.json: the values of ragas and RAGChecker if a judge gives them the replies of our tests.

Neither package is installed with ours. Run it in a separate environment:

    python -m venv golden
    golden/bin/pip install ragas==0.4.3 dataclasses-json
    golden/bin/pip install --no-deps ragchecker==0.1.9
    golden/bin/python tests/golden/published_judges.py

The replies are drawn with a fixed seed. The packages' own methods compute the values; only the language model is
replaced. RAGChecker imports its extractor and its checker, which are not used, so stand-ins take their place.
"""

import asyncio
import json
import random
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

N_CASES = 20
LABELS = ("Entailment", "Contradiction", "Neutral")
FILE = Path(__file__).with_suffix(".json")


class AnyName(ModuleType):
    """A module in which every name is an empty class."""

    def __getattr__(self, name: str) -> type:
        return type(name, (), {})


for missing in ("langchain_community.chat_models.vertexai", "langchain_community.llms", "refchecker.extractor"):
    sys.modules[missing] = AnyName(missing)
for missing in ("refchecker", "refchecker.checker", "loguru"):
    sys.modules[missing] = AnyName(missing)


class Replies:
    """A prompt of ragas that returns replies instead of asking a model."""

    def __init__(self, *replies: Any) -> None:
        self._replies = list(replies)

    async def generate(self, **_: Any) -> Any:
        """Return the next reply."""
        return self._replies.pop(0)

    async def generate_multiple(self, **_: Any) -> list[Any]:
        """Return the next reply, as the only one."""
        return [self._replies.pop(0)]


def draw(drawn: random.Random) -> dict[str, Any]:
    """Draw the replies of one case: claims of the answer and the reference, and the verdicts on them."""
    n_passages, n_answer, n_reference = (drawn.randint(1, n) for n in (5, 6, 4))

    def labels(n: int) -> list[str]:
        return drawn.choices(LABELS, weights=(5, 2, 3), k=n)

    return {
        "together": labels(n_answer),
        "answer_by_reference": labels(n_answer),
        "reference_by_answer": labels(n_reference),
        "answer_by_passage": [labels(n_passages) for _ in range(n_answer)],
        "reference_by_passage": [labels(n_passages) for _ in range(n_reference)],
        "reference_together": labels(n_reference),
        "useful": [drawn.randint(0, 1) for _ in range(n_passages)],
        "ratings": [drawn.randint(0, 2) for _ in range(2)],
        "vectors": [[round(drawn.uniform(-1, 1), 3) for _ in range(3)] for _ in range(4)],
        "noncommittal": drawn.random() < 0.3,
    }


def ragas_values(case: dict[str, Any]) -> dict[str, float]:
    """Return the values of ragas' metrics."""
    from ragas.dataset_schema import SingleTurnSample
    from ragas.metrics.collections.context_relevance.metric import ContextRelevance

    relevance, precision, recall, faith = (
        import_module(f"ragas.metrics.{name}")
        for name in ("_answer_relevance", "_context_precision", "_context_recall", "_faithfulness")
    )
    sample = SingleTurnSample(
        user_input="q", response="a", reference="r", retrieved_contexts=[f"p{n}" for n in range(len(case["useful"]))]
    )
    claims = [f"c{n}" for n in range(len(case["together"]))]
    verdicts = [
        faith.StatementFaithfulnessAnswer(statement=claim, reason="", verdict=int(label == "Entailment"))
        for claim, label in zip(claims, case["together"], strict=True)
    ]
    faithfulness = faith.Faithfulness(
        llm=object(),
        statement_generator_prompt=Replies(faith.StatementGeneratorOutput(statements=claims)),
        nli_statements_prompt=Replies(faith.NLIStatementOutput(statements=verdicts)),
    )
    attributed = [
        recall.ContextRecallClassification(statement="", reason="", attributed=int(label == "Entailment"))
        for label in case["reference_together"]
    ]
    context_recall = recall.LLMContextRecall(
        llm=object(), context_recall_prompt=Replies(recall.ContextRecallClassifications(classifications=attributed))
    )
    useful = [precision.Verification(reason="", verdict=verdict) for verdict in case["useful"]]
    with_reference = precision.LLMContextPrecisionWithReference(llm=object(), context_precision_prompt=Replies(*useful))
    without = precision.LLMContextPrecisionWithoutReference(llm=object(), context_precision_prompt=Replies(*useful))
    question, *derived = case["vectors"]
    relevancy = relevance.ResponseRelevancy(llm=object(), embeddings=Vectors(question, derived))
    replies = [
        relevance.ResponseRelevanceOutput(question=f"q{n}", noncommittal=int(case["noncommittal"])) for n in range(3)
    ]
    row = {"user_input": "q", "response": "a"}

    async def run() -> dict[str, float]:
        return {
            "faithfulness": await faithfulness.single_turn_ascore(sample),
            "context_recall": await context_recall.single_turn_ascore(sample),
            "context_precision": await with_reference.single_turn_ascore(sample),
            "context_precision_without_reference": await without.single_turn_ascore(sample),
        }

    first, second = (rating / 2 for rating in case["ratings"])
    found = asyncio.run(run())
    found["context_relevance_compat"] = ContextRelevance._average_scores(object(), first, second)  # type: ignore[arg-type]
    found["answer_relevancy_compat"] = relevancy._calculate_score(replies, row)
    return {name: float(value) for name, value in found.items()}


class Vectors:
    """Embeddings of ragas with given vectors."""

    def __init__(self, question: list[float], derived: list[list[float]]) -> None:
        self._question, self._derived = question, derived

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of the question."""
        return self._question

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of the derived questions."""
        return self._derived


def ragchecker_values(case: dict[str, Any]) -> dict[str, float]:
    """Return the values of RAGChecker's metrics, under our names."""
    from ragchecker.computation import METRIC_FUNC_MAP
    from ragchecker.container import RAGResult

    result = RAGResult(
        "id",
        "q",
        "r",
        "a",
        answer2response=case["answer_by_reference"],
        response2answer=case["reference_by_answer"],
        retrieved2response=case["answer_by_passage"],
        retrieved2answer=case["reference_by_passage"],
    )
    for compute in METRIC_FUNC_MAP.values():
        compute(result)
    renamed = {
        "precision": "overall_precision",
        "recall": "overall_recall",
        "f1": "overall_f1",
        "noise_sensitivity_in_relevant": "relevant_noise_sensitivity",
        "noise_sensitivity_in_irrelevant": "irrelevant_noise_sensitivity",
    }
    return {renamed.get(name, name): float(value) for name, value in result.metrics.items()}


def main() -> None:
    """Draw the cases, and write them with the packages' values."""
    drawn = random.Random(7)
    cases = [draw(drawn) for _ in range(N_CASES)]
    versions = json.dumps({name: version(name) for name in ("ragas", "ragchecker")})
    lines = [json.dumps({**case, "ragas": ragas_values(case), "ragchecker": ragchecker_values(case)}) for case in cases]
    joined = ",\n".join(lines)
    FILE.write_text(f'{{"versions": {versions}, "cases": [\n{joined}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
