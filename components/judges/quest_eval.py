"""RAGQuestEval: the share of the reference's key information that an answer contains, and its correctness."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.asking.readable_requests import UnreadableReply, ask_until_readable
from components.errors import DataError
from components.fields import runtime_only
from components.judges.prepared import Prepared, preparation_entry, prepared_sample
from components.judges.quest_eval_files import PublishedQuestions, hash_published_files, question_files, read_published
from components.judges.quest_eval_inquiries import QuestionedText, answers_from, questions_about
from components.judges.quest_eval_scores import NAMES, quest_scores
from components.judges.unknown_answers import Phrases
from components.means import combine_mean, mean_scores
from components.protocols import LLM, Ask, JudgePreparation, Tokenizer
from components.records import JudgeInput, Judgements, Sample, ScoreState
from components.text.languages import languages_of_prompts
from components.text.normalize import ANSWER_FORM_VERSION
from components.text.templates import missing_placeholders
from components.tokenizers.jieba_words import JiebaWords


@dataclass(frozen=True)
class QuestEval:
    """A judge that writes questions about the references, and answers them from the references and the generated texts.

    `quest_eval_recall`: of the questions that the reference answers, the share that the generated text answers.
    `quest_eval_precision`: mean token F1 between the two answers, over the questions that both answer; NOT_APPLICABLE
    without such a question. The metrics ending in `_crud_compat` are the published forms: see `quest_scores`.
    Level: sample. Range: [0, 1], no unit, larger is better. Empty answer: no request, recall is 0. Without a reference,
    or without questions about it: NOT_APPLICABLE. Source: Lyu et al. 2024, "CRUD-RAG", section 3.6.

    `question_prompt` has a placeholder for {text}. `answer_prompt` has placeholders for {text}, {questions} and
    {cannot_infer}, which is the first phrase of `cannot_infer`. The other phrases are recognized too. If a reply lacks
    an answer, the request is repeated with `reminder`, up to `max_attempts` attempts in total. Then the sample is
    UNPARSABLE. `tokenizer` splits answers for the F1 of the plain precision.

    `questions_file` is a published file of questions and reference answers, or a folder of them ("" for none). Samples
    in it use its entries. Entries that are empty, or have unequal numbers of questions and answers, are NOT_APPLICABLE.
    For samples that are not in it, the judge writes the questions.
    """

    llm: LLM
    system: str
    question_prompt: str
    answer_prompt: str
    reminder: str
    cannot_infer: tuple[str, ...]
    max_attempts: int
    questions_file: str = runtime_only("", "its content is in the key through content_hash, not its path")
    tokenizer: Tokenizer = JiebaWords()

    version: ClassVar[int] = 6 + ANSWER_FORM_VERSION
    larger_is_better: ClassVar[bool | None] = True

    def check(self) -> list[str]:
        """Return error messages for missing placeholders in prompts, missing phrases, and a missing questions_file."""
        required = {"question_prompt": ("{text}",), "answer_prompt": ("{text}", "{questions}", "{cannot_infer}")}
        problems = [
            problem
            for field, placeholders in required.items()
            for problem in missing_placeholders(field, getattr(self, field), placeholders)
        ]
        if not (self.cannot_infer and all(phrase.strip() for phrase in self.cannot_infer)):
            problems.append(f"cannot_infer: got {list(self.cannot_infer)}, expected at least one phrase, none empty")
        if self.max_attempts < 1:
            problems.append(f"max_attempts: got {self.max_attempts}, expected at least 1")
        if self.questions_file:
            try:
                question_files(Path(self.questions_file))
            except DataError as error:
                problems.append(f"questions_file: {error}")
        return problems

    def content_hash(self) -> str:
        """Return the SHA-256 (hex) of the published questions, or "" if `questions_file` is empty. It is part of the
        identity.

        Raises DataError if a file is missing.
        """
        return hash_published_files(Path(self.questions_file)) if self.questions_file else ""

    @property
    def names(self) -> tuple[str, ...]:
        """The four names of `quest_scores`."""
        return NAMES

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages of the texts that the prompts suit; () for any."""
        return languages_of_prompts(self.system, self.question_prompt, self.answer_prompt)

    @property
    def reads_answers(self) -> bool:
        """Always True, because every answer is compared with the references."""
        return True

    @property
    def n_rounds_to_prepare(self) -> int:
        """2, for questions and the reference's answers to them; 0 if published questions are read."""
        return 0 if self.questions_file else 2

    def n_requests_per_sample(self, n_passages: int) -> int:
        """Return 1: one request has all questions."""
        return 1

    def prepare(self, samples: Sequence[Sample], ask: Ask) -> JudgePreparation:
        """Return for each sample id its `questions` and the reference's `answers`, or the reason for their absence.

        Raises DataError if `questions_file` contains none of the samples.
        """
        published = self._read_published(samples)
        taken = {
            sample.id: self._prepare_published(published[sample.id]) for sample in samples if sample.id in published
        }
        return {**taken, **self._ask_about([sample for sample in samples if sample.id not in published], ask)}

    def judge(self, judged: Sequence[JudgeInput], preparation: JudgePreparation, ask: Ask) -> Judgements:
        """Return the four scores of each sample.

        The remarks are its questions with both answers, or the reason for their absence.
        """
        settled = [prepared_sample(preparation, item.sample) for item in judged]
        sources = [
            QuestionedText(item.sample, item.answer, tuple(entry["questions"]))
            for item, entry in zip(judged, settled, strict=True)
            if entry["state"] == ScoreState.VALUE and item.answer.strip()
        ]
        answered = {
            source.sample.id: answers for source, answers in zip(sources, self._answers(sources, ask), strict=True)
        }
        scored = [self._score(entry, answered.get(item.sample.id)) for item, entry in zip(judged, settled, strict=True)]
        scores = {name: mean_scores([values[name] for values, _ in scored]) for name in NAMES}
        return Judgements(scores, [remark for _, remark in scored])

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, float64[...], of sums float64[..., 2]."""
        return combine_mean(sums)

    def _read_published(self, samples: Sequence[Sample]) -> Mapping[str, PublishedQuestions]:
        if not self.questions_file:
            return {}
        published = read_published(Path(self.questions_file))
        if samples and not any(sample.id in published for sample in samples):
            raise DataError(
                f"{self.questions_file}: has none of the {len(samples)} samples, e.g. {samples[0].id!r}; it has ids "
                f"such as {next(iter(published), 'nothing')!r}. Choose this data set's file, or none."
            )
        return published

    def _prepare_published(self, entry: PublishedQuestions) -> Prepared:
        if not entry.questions and not entry.answers:
            return preparation_entry(ScoreState.NOT_APPLICABLE, "the published entry is empty")
        if len(entry.questions) != len(entry.answers):
            counts = f"{len(entry.questions)} questions and {len(entry.answers)} answers"
            return preparation_entry(ScoreState.NOT_APPLICABLE, f"the published entry has {counts}")
        return self._prepare_questions(entry.questions, entry.answers, "published")

    def _ask_about(self, samples: Sequence[Sample], ask: Ask) -> dict[str, Prepared]:
        """Return questions about the references, and the references' answers to them."""
        preparation = {sample.id: preparation_entry(ScoreState.NOT_APPLICABLE, "no reference") for sample in samples}
        references = [QuestionedText(sample, "\n".join(sample.references).strip()) for sample in samples]
        references = [source for source in references if source.text]
        with_questions = []
        for source, questions in zip(references, self._questions(references, ask), strict=True):
            if isinstance(questions, UnreadableReply):
                preparation[source.sample.id] = preparation_entry(questions.state, f"questions: {questions.reason}")
            elif questions:
                with_questions.append(replace(source, questions=questions))
            else:
                preparation[source.sample.id] = preparation_entry(
                    ScoreState.NOT_APPLICABLE, "the judge wrote no questions"
                )
        for source, answers in zip(with_questions, self._answers(with_questions, ask), strict=True):
            if isinstance(answers, UnreadableReply):
                preparation[source.sample.id] = preparation_entry(answers.state, f"reference answers: {answers.reason}")
            else:
                preparation[source.sample.id] = self._prepare_questions(source.questions, answers, "asked for")
        return preparation

    def _questions(self, sources: Sequence[QuestionedText], ask: Ask) -> list[tuple[str, ...] | UnreadableReply]:
        inquiries = [questions_about(source, self.system, self.question_prompt) for source in sources]
        return ask_until_readable(inquiries, ask, self.reminder, self.max_attempts)

    def _answers(self, sources: Sequence[QuestionedText], ask: Ask) -> list[tuple[str, ...] | UnreadableReply]:
        phrase = self.cannot_infer[0]
        inquiries = [answers_from(source, self.system, self.answer_prompt, phrase) for source in sources]
        return ask_until_readable(inquiries, ask, self.reminder, self.max_attempts)

    def _prepare_questions(self, questions: Sequence[str], answers: Sequence[str], source: str) -> Prepared:
        n_unanswerable = sum(map(Phrases(self.cannot_infer).is_unknown_answer, answers))
        return preparation_entry(
            ScoreState.VALUE,
            f"{len(questions)} questions ({source}), {n_unanswerable} without an answer in the reference",
            questions=list(questions),
            answers=list(answers),
            n_unanswerable=n_unanswerable,
        )

    def _score(
        self, entry: Prepared, generated: tuple[str, ...] | UnreadableReply | None
    ) -> tuple[dict[str, float | ScoreState], str]:
        """Return the four scores of a sample and its remark. `generated` is None if nothing was asked."""
        if entry["state"] != ScoreState.VALUE:
            return dict.fromkeys(NAMES, ScoreState(entry["state"])), entry["reason"]
        if isinstance(generated, UnreadableReply):
            return dict.fromkeys(NAMES, generated.state), generated.reason
        if generated is None:  # an empty answer answers no question
            generated = (self.cannot_infer[0],) * len(entry["questions"])
        rows = zip(entry["questions"], entry["answers"], generated, strict=True)
        lines = [f"{n}. {question} | {reference} | {answer}" for n, (question, reference, answer) in enumerate(rows, 1)]
        scores = quest_scores(entry["answers"], generated, Phrases(self.cannot_infer), self.tokenizer)
        return scores, "\n".join([entry["reason"], *lines])
