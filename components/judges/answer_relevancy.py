"""Answer relevancy: the similarity of the question to questions that a model derives from the answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.asking.model_reply import copies_placeholder, parse_flag, read_object
from components.asking.prompt_parts import chat_messages
from components.asking.readable_requests import Inquiry, UnreadableReply, ask_until_readable
from components.json_value import Json
from components.limits import too_small
from components.means import combine_mean, mean_scores
from components.protocols import LLM, Ask, JudgePreparation, PretrainedEmbedder
from components.records import JudgeInput, Judgements, Passages, Request, Sample, ScoreState
from components.text.languages import languages_of_prompts
from components.text.templates import fill, missing_placeholders

_NAMES = ("answer_relevancy", "answer_relevancy_compat")
_Outcome = tuple[float | ScoreState, float | ScoreState, str]
"""The two values, or the states that explain their absence, and the remark."""

_SCHEMA: Mapping[str, Json] = {
    "type": "object",
    "properties": {
        "questions": {"type": "array", "items": {"type": "string"}},
        "noncommittal": {"type": "boolean"},
    },
    "required": ["questions", "noncommittal"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class DerivedQuestions:
    """Questions that an answer would answer. `noncommittal` marks an evasive answer."""

    questions: tuple[str, ...]
    noncommittal: bool


@dataclass(frozen=True)
class AnswerRelevancy:
    """`answer_relevancy`: the mean cosine of the question and of questions that a model derives from the answer.

    `answer_relevancy_compat` is the same, but 0 for a noncommittal answer, as in the package ragas 0.4.
    Level: sample. Range: [-1, 1], no unit, larger is better. The values depend on `embedder`, which runs in this
    process and learns nothing from the corpus: compare values of the same embedder only. `prompt` has placeholders for
    {answer} and {n_questions}. One request per answer (the package sends one per question). An empty answer is
    NOT_APPLICABLE. A reply with fewer or more questions is unreadable. Source: Es et al. 2023, "RAGAS", section 3.
    """

    llm: LLM
    system: str
    prompt: str
    reminder: str
    n_questions: int
    max_attempts: int
    embedder: PretrainedEmbedder

    version: ClassVar[int] = 2
    larger_is_better: ClassVar[bool | None] = True
    is_share: ClassVar[bool] = False
    names: ClassVar[tuple[str, ...]] = _NAMES
    reads_answers: ClassVar[bool] = True
    n_rounds_to_prepare: ClassVar[int] = 0

    def check(self) -> list[str]:
        """Return error messages for missing placeholders, an embedder that cannot be used, and numbers below 1."""
        problems = missing_placeholders("prompt", self.prompt, ("{answer}", "{n_questions}"))
        if self.embedder.tokenizer or hasattr(self.embedder, "account"):
            problems.append(
                f"embedder: got {type(self.embedder).__name__}, expected a model that reads raw text in this process"
            )
        return problems + too_small(self, n_questions=1, max_attempts=1)

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages of the texts that the prompt suits; () for any."""
        return languages_of_prompts(self.system, self.prompt)

    def without_local_models(self) -> "AnswerRelevancy":
        """Return the same judge without its embedder, whose vectors no request depends on."""
        return _WithoutLocalModels(**vars(self))

    def n_requests_per_sample(self, n_passages: int) -> int:
        """Return 1: one request asks for all questions."""
        return 1

    def prepare(self, samples: Sequence[Sample], ask: Ask) -> JudgePreparation:
        """Return {}: nothing depends on the questions alone."""
        return {}

    def judge(self, judged: Sequence[JudgeInput], preparation: JudgePreparation, ask: Ask) -> Judgements:
        """Return both values of each sample. The remarks are the derived questions with their cosines."""
        answered = [item for item in judged if item.answer.strip()]
        inquiries = [self._inquiry(item) for item in answered]
        derived = ask_until_readable(inquiries, ask, self.reminder, self.max_attempts)
        cosines = iter(self._cosines([(i.sample.question, d) for i, d in zip(answered, derived, strict=True)]))
        replies = iter(derived)
        outcomes = [
            _outcome(next(replies), next(cosines))
            if item.answer.strip()
            else (ScoreState.NOT_APPLICABLE, ScoreState.NOT_APPLICABLE, "empty answer")
            for item in judged
        ]
        scores = {name: mean_scores([outcome[n] for outcome in outcomes]) for n, name in enumerate(_NAMES)}  # type: ignore[misc]
        return Judgements(scores, [remark for _, _, remark in outcomes])

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, float64[...], of sums float64[..., 2]."""
        return combine_mean(sums)

    def _inquiry(self, item: JudgeInput) -> Inquiry[DerivedQuestions]:
        values = {"{answer}": item.answer, "{n_questions}": str(self.n_questions)}
        messages = chat_messages(self.system, fill(self.prompt, values))
        request = Request(item.sample.id, messages, item.sample, (), _SCHEMA)
        return Inquiry(request, lambda reply: read_derived(reply, self.n_questions, self.prompt))

    def _cosines(self, derived: Sequence[tuple[str, DerivedQuestions | UnreadableReply]]) -> list[list[float]]:
        """Return the cosines of each question with the questions derived from its answer; [] for an unread reply."""
        groups = [
            [] if isinstance(reply, UnreadableReply) else [question, *reply.questions] for question, reply in derived
        ]
        texts = list(dict.fromkeys(text for group in groups for text in group))
        if not texts:
            return [[] for _ in groups]
        vectors = self.embedder.embed_queries(Passages(texts), {}).astype(np.float64)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)
        row = {text: number for number, text in enumerate(texts)}
        return [
            (vectors[[row[text] for text in group[1:]]] @ vectors[row[group[0]]]).clip(-1.0, 1.0).tolist()
            if group
            else []
            for group in groups
        ]


class _WithoutLocalModels(AnswerRelevancy):
    """The same judge for plans: it requests the questions but compares nothing."""

    def _cosines(self, derived: Sequence[tuple[str, DerivedQuestions | UnreadableReply]]) -> list[list[float]]:
        return [[0.0] for _ in derived]


def read_derived(text: str, n_questions: int, prompt: str) -> DerivedQuestions | None:
    """Return the questions and the flag of a reply; None unless it has exactly `n_questions` questions and a flag."""
    reply = read_object(text, "questions") or {}
    questions, noncommittal = reply.get("questions"), parse_flag(reply.get("noncommittal"))
    if not isinstance(questions, list) or len(questions) != n_questions or noncommittal is None:
        return None
    if not all(isinstance(question, str) and not copies_placeholder(question, prompt) for question in questions):
        return None
    return DerivedQuestions(tuple(questions), noncommittal)


def _outcome(reply: DerivedQuestions | UnreadableReply, cosines: Sequence[float]) -> _Outcome:
    if isinstance(reply, UnreadableReply):
        return reply.state, reply.state, reply.reason
    value = sum(cosines) / len(cosines)
    lines = [f"{cosine:.3f}: {question}" for cosine, question in zip(cosines, reply.questions, strict=True)]
    evasive = ["the answer is noncommittal"] if reply.noncommittal else []
    return value, 0.0 if reply.noncommittal else value, "\n".join([*evasive, *lines])
