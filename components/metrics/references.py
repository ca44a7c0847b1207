"""How an answer is scored against several references: by the best of them."""

from collections.abc import Callable, Sequence, Sized
from itertools import chain
from typing import TypeVar

from components.errors import ComponentError
from components.means import mean_scores
from components.records import Sample, Scores, ScoreState

Form = TypeVar("Form", bound=Sized)


def best_over_references(
    samples: Sequence[Sample],
    answers: Sequence[str],
    analyse: Callable[[Sequence[str]], Sequence[Form]],
    similarity: Callable[[Form, Form], float],
) -> Scores:
    """Per sample, the largest similarity(answer, reference) over its references, as the scores of a mean.

    `analyse` turns texts into the forms that are compared, each distinct text once. A reference whose form is empty is
    left out; a sample without any other is NOT_APPLICABLE. The answer's form may be empty: `similarity` decides.
    Raises ComponentError unless there is one answer per sample.
    """
    require_one_answer_per_sample(samples, answers)
    references = chain.from_iterable(sample.references for sample in samples)
    texts = list(dict.fromkeys(chain(answers, references)))
    forms = dict(zip(texts, analyse(texts), strict=True))

    def score(sample: Sample, answer: str) -> float | ScoreState:
        candidates = [forms[reference] for reference in sample.references if len(forms[reference]) > 0]
        best = [similarity(forms[answer], candidate) for candidate in candidates]
        return max(best, default=ScoreState.NOT_APPLICABLE)

    return mean_scores([score(sample, answer) for sample, answer in zip(samples, answers, strict=True)])


def require_one_answer_per_sample(samples: Sequence[Sample], answers: Sequence[str]) -> None:
    """Raises ComponentError unless both have the same length."""
    if len(samples) != len(answers):
        raise ComponentError(
            f"score_answers: got {len(answers)} answers for {len(samples)} samples, wanted one per sample"
        )
