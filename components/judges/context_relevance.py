"""Context relevance: the share of the sentences in the prompt that the question needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.asking.model_reply import parse_whole_number, read_object, strip_template
from components.asking.prompt_parts import chat_messages, number_lines, question_in_context
from components.asking.readable_requests import Inquiry, UnreadableReply, ask_until_readable
from components.json_value import Json
from components.limits import too_small
from components.means import combine_mean, mean_scores
from components.protocols import LLM, Ask, JudgePreparation
from components.records import JudgeInput, Judgements, Request, Sample, ScoreState
from components.text.languages import languages_of_prompts
from components.text.sentences import split_sentences
from components.text.templates import fill, missing_placeholders

_SCHEMA: Mapping[str, Json] = {
    "type": "object",
    "properties": {"sentences": {"type": "array", "items": {"type": "integer"}}},
    "required": ["sentences"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class ContextRelevance:
    """The share of the sentences of the passages that the question needs: sentences named by the judge / all sentences.

    Level: sample. Range: [0, 1], no unit, larger is better. `prompt` has placeholders for {question} and {sentences},
    which are numbered. One request per sample. Answers are not read, so cells with equal contexts share the judgement.
    Without passages: NOT_APPLICABLE. Source: Es et al. 2023, "RAGAS", section 3. The package has replaced this metric;
    see `ContextRating`.
    """

    llm: LLM
    system: str
    prompt: str
    reminder: str
    max_attempts: int

    version: ClassVar[int] = 3
    larger_is_better: ClassVar[bool | None] = True
    names: ClassVar[tuple[str, ...]] = ("context_relevance",)
    reads_answers: ClassVar[bool] = False
    n_rounds_to_prepare: ClassVar[int] = 0

    def check(self) -> list[str]:
        """Return error messages for missing placeholders in the prompt, and a number below 1."""
        problems = missing_placeholders("prompt", self.prompt, ("{question}", "{sentences}"))
        return problems + too_small(self, max_attempts=1)

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages of the texts that the prompt suits; () for any."""
        return languages_of_prompts(self.system, self.prompt)

    def n_requests_per_sample(self, n_passages: int) -> int:
        """Return 1, or 0 if there are no passages."""
        return min(1, n_passages)

    def prepare(self, samples: Sequence[Sample], ask: Ask) -> JudgePreparation:
        """Return {}: nothing depends on the questions alone."""
        return {}

    def judge(self, judged: Sequence[JudgeInput], preparation: JudgePreparation, ask: Ask) -> Judgements:
        """Return the share of needed sentences of each sample. The remarks list these sentences."""
        sentences = [
            tuple(sentence for passage in item.passages for sentence in split_sentences(passage.text))
            for item in judged
        ]
        inquiries = [self._inquiry(item, texts) for item, texts in zip(judged, sentences, strict=True) if texts]
        read = ask_until_readable(inquiries, ask, self.reminder, self.max_attempts)
        replies = iter(read)
        outcomes = [
            _outcome(next(replies), texts) if texts else (ScoreState.NOT_APPLICABLE, "no passages")
            for texts in sentences
        ]
        scores = mean_scores([value for value, _ in outcomes])
        return Judgements({"context_relevance": scores}, [remark for _, remark in outcomes])

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, float64[...], of sums float64[..., 2]."""
        return combine_mean(sums)

    def _inquiry(self, item: JudgeInput, sentences: Sequence[str]) -> Inquiry[frozenset[int]]:
        values = {"{question}": question_in_context(item.sample), "{sentences}": number_lines(sentences)}
        messages = chat_messages(self.system, fill(self.prompt, values))
        request = Request(item.sample.id, messages, item.sample, (), _SCHEMA)

        def read(reply: str) -> frozenset[int] | None:
            return read_sentence_numbers(strip_template(reply, self.prompt, is_alone=False), len(sentences))

        return Inquiry(request, read)


def read_sentence_numbers(text: str, n_sentences: int) -> frozenset[int] | None:
    """Return the numbers in a reply, from 1; None if it cannot be read, or if a number has no sentence."""
    entries = (read_object(text, "sentences") or {}).get("sentences")
    if not isinstance(entries, list):
        return None
    numbers = [parse_whole_number(entry) for entry in entries]
    if any(number is None or not 1 <= number <= n_sentences for number in numbers):
        return None
    return frozenset(number for number in numbers if number is not None)


def _outcome(numbers: frozenset[int] | UnreadableReply, sentences: Sequence[str]) -> tuple[float | ScoreState, str]:
    if isinstance(numbers, UnreadableReply):
        return numbers.state, numbers.reason
    needed = "\n".join(f"[{number}] {sentences[number - 1]}" for number in sorted(numbers))
    return len(numbers) / len(sentences), f"{len(numbers)} of {len(sentences)} sentences are needed\n{needed}".strip()
