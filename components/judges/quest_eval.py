"""RAGQuestEval: does an answer hold the key information of the reference, and does it get it right?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.errors import DataError
from components.fields import runtime_only
from components.judges.asking import Unread, ask_until_readable
from components.judges.decisions import Decision, decision, decision_of
from components.judges.quest_eval_files import PublishedQuestions, hash_of_published, question_files, read_published
from components.judges.quest_eval_inquiries import Reading, answers_from, questions_about
from components.judges.quest_eval_scores import NAMES, Outcome, Phrases, quest_scores
from components.means import combine_mean, mean_scores
from components.protocols import LLM, Ask, JudgePreparation, Tokenizer
from components.records import JudgeInput, Judgements, Sample, ScoreState
from components.tokenizers.jieba_words import JiebaWords


@dataclass(frozen=True)
class QuestEval:
    """Questions are asked about the references, once, and answered from them and from each generated text.

    `quest_eval_recall`: share of the questions that the generated text answers, of those that the reference answers.
    `quest_eval_precision`: mean token F1 between the two answers, over the questions that the generated text answers;
    NOT_APPLICABLE where it answers none. The `_crud_compat` ones are the published forms: see `quest_scores`.
    Level: sample. Range: [0, 1], no unit, larger is better. Empty answer: nothing is asked, recall is 0. No reference,
    a reference without questions: NOT_APPLICABLE. Source: Lyu et al. 2024, "CRUD-RAG", section 3.6.

    `question_prompt` has a place for {text}; `answer_prompt` for {text}, {questions} and {cannot_infer}, which is the
    first phrase of `cannot_infer`; the others are recognised too. A reply that lacks an answer is asked for again, with
    `reminder`, up to `max_attempts` times in all; then the sample is UNPARSABLE.

    `questions_file` is a published file of questions and reference answers, or a folder of them ("" for none): samples
    that it has are taken from there, entries that are empty or whose numbers of questions and answers differ are
    NOT_APPLICABLE, and for samples that it does not have questions are asked for.
    """

    llm: LLM
    system: str
    question_prompt: str
    answer_prompt: str
    reminder: str
    cannot_infer: tuple[str, ...]
    max_attempts: int
    questions_file: str = runtime_only("", "the content counts, through content_hash, not its place")
    tokenizer: Tokenizer = JiebaWords()

    version: ClassVar[int] = 1
    larger_is_better: ClassVar[bool | None] = True

    def check(self) -> list[str]:
        """Places that are missing in the prompts, no phrase to recognise, no file where one is named."""
        wanted = {"question_prompt": ("{text}",), "answer_prompt": ("{text}", "{questions}", "{cannot_infer}")}
        mistakes = [
            f"{field}: has no {place}"
            for field, places in wanted.items()
            for place in places
            if place not in getattr(self, field)
        ]
        if not (self.cannot_infer and all(phrase.strip() for phrase in self.cannot_infer)):
            mistakes.append(f"cannot_infer: got {list(self.cannot_infer)}, wanted one or more phrases, none empty")
        if self.max_attempts < 1:
            mistakes.append(f"max_attempts: got {self.max_attempts}, wanted at least 1")
        if self.questions_file:
            try:
                question_files(Path(self.questions_file))
            except DataError as error:
                mistakes.append(f"questions_file: {error}")
        return mistakes

    def content_hash(self) -> str:
        """SHA-256 (hex) of the published questions, "" without; part of the identity. Raises DataError."""
        return hash_of_published(Path(self.questions_file)) if self.questions_file else ""

    @property
    def names(self) -> tuple[str, ...]:
        """The four of `quest_scores`."""
        return NAMES

    @property
    def reads_answers(self) -> bool:
        """True."""
        return True

    def prepare(self, samples: Sequence[Sample], ask: Ask) -> JudgePreparation:
        """By sample id, its `questions` and the `answers` that the reference gives, or why there are none.

        Raises DataError if `questions_file` has none of the samples.
        """
        published = self._published(samples)
        taken = {sample.id: self._taken(published[sample.id]) for sample in samples if sample.id in published}
        return {**taken, **self._asked_about([sample for sample in samples if sample.id not in published], ask)}

    def judge(self, judged: Sequence[JudgeInput], preparation: JudgePreparation, ask: Ask) -> Judgements:
        """The four scores of each sample; the remarks are its questions with both answers, or why there are none."""
        decided = [decision_of(preparation, item.sample) for item in judged]
        readings = [
            Reading(item.sample, item.answer, tuple(known["questions"]))
            for item, known in zip(judged, decided, strict=True)
            if known["state"] == ScoreState.VALUE and item.answer.strip()
        ]
        answered = {
            reading.sample.id: answers for reading, answers in zip(readings, self._answers(readings, ask), strict=True)
        }
        rulings = [
            self._ruling(known, answered.get(item.sample.id)) for item, known in zip(judged, decided, strict=True)
        ]
        scores = {name: mean_scores([outcomes[name] for outcomes, _ in rulings]) for name in NAMES}
        return Judgements(scores, [remark for _, remark in rulings])

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Means, float64[...], from sums float64[..., 2]."""
        return combine_mean(sums)

    def _published(self, samples: Sequence[Sample]) -> Mapping[str, PublishedQuestions]:
        if not self.questions_file:
            return {}
        published = read_published(Path(self.questions_file))
        if samples and not any(sample.id in published for sample in samples):
            raise DataError(
                f"{self.questions_file}: has none of the {len(samples)} samples, e.g. {samples[0].id!r}; its entries "
                f"are about {next(iter(published), 'nothing')!r} and the like. Choose this data set's file, or none."
            )
        return published

    def _taken(self, entry: PublishedQuestions) -> Decision:
        if not entry.questions and not entry.answers:
            return decision(ScoreState.NOT_APPLICABLE, "the published entry is empty")
        if len(entry.questions) != len(entry.answers):
            counts = f"{len(entry.questions)} questions and {len(entry.answers)} answers"
            return decision(ScoreState.NOT_APPLICABLE, f"the published entry has {counts}")
        return self._with_questions(entry.questions, entry.answers, "published")

    def _asked_about(self, samples: Sequence[Sample], ask: Ask) -> dict[str, Decision]:
        """Questions about the references, and the references' answers to them."""
        preparation = {sample.id: decision(ScoreState.NOT_APPLICABLE, "no reference") for sample in samples}
        texts = [Reading(sample, "\n".join(sample.references).strip()) for sample in samples]
        texts = [reading for reading in texts if reading.text]
        readings = []
        for reading, questions in zip(texts, self._questions(texts, ask), strict=True):
            if isinstance(questions, Unread):
                preparation[reading.sample.id] = decision(questions.state, f"questions: {questions.reason}")
            elif questions:
                readings.append(replace(reading, questions=questions))
            else:
                preparation[reading.sample.id] = decision(ScoreState.NOT_APPLICABLE, "the judge had nothing to ask")
        for reading, answers in zip(readings, self._answers(readings, ask), strict=True):
            if isinstance(answers, Unread):
                preparation[reading.sample.id] = decision(answers.state, f"reference answers: {answers.reason}")
            else:
                preparation[reading.sample.id] = self._with_questions(reading.questions, answers, "asked for")
        return preparation

    def _questions(self, readings: Sequence[Reading], ask: Ask) -> list[tuple[str, ...] | Unread]:
        inquiries = [questions_about(reading, self.system, self.question_prompt) for reading in readings]
        return ask_until_readable(inquiries, ask, self.reminder, self.max_attempts)

    def _answers(self, readings: Sequence[Reading], ask: Ask) -> list[tuple[str, ...] | Unread]:
        phrase = self.cannot_infer[0]
        inquiries = [answers_from(reading, self.system, self.answer_prompt, phrase) for reading in readings]
        return ask_until_readable(inquiries, ask, self.reminder, self.max_attempts)

    def _with_questions(self, questions: Sequence[str], answers: Sequence[str], source: str) -> Decision:
        n_unanswerable = sum(map(Phrases(self.cannot_infer).mean_unknown, answers))
        return decision(
            ScoreState.VALUE,
            f"{len(questions)} questions ({source}), {n_unanswerable} without an answer in the reference",
            questions=list(questions),
            answers=list(answers),
            n_unanswerable=n_unanswerable,
        )

    def _ruling(self, known: Decision, generated: tuple[str, ...] | Unread | None) -> tuple[dict[str, Outcome], str]:
        """The outcomes and the remark of a sample; `generated` is None if it was not asked."""
        if known["state"] != ScoreState.VALUE:
            return dict.fromkeys(NAMES, ScoreState(known["state"])), known["reason"]
        if isinstance(generated, Unread):
            return dict.fromkeys(NAMES, generated.state), generated.reason
        if generated is None:  # an empty answer says nothing
            generated = (self.cannot_infer[0],) * len(known["questions"])
        rows = zip(known["questions"], known["answers"], generated, strict=True)
        lines = [f"{n}. {question} | {reference} | {answer}" for n, (question, reference, answer) in enumerate(rows, 1)]
        outcomes = quest_scores(known["answers"], generated, Phrases(self.cannot_infer), self.tokenizer)
        return outcomes, "\n".join([known["reason"], *lines])
