"""RAGQuestEval: does an answer hold the key information of the reference, and does it get it right?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.asking.until_readable import Unread, ask_until_readable
from components.errors import DataError
from components.fields import runtime_only
from components.judges.prepared import Prepared, prepared, prepared_for
from components.judges.quest_eval_files import PublishedQuestions, hash_of_published, question_files, read_published
from components.judges.quest_eval_inquiries import SourceText, answers_from, questions_about
from components.judges.quest_eval_scores import NAMES, quest_scores
from components.judges.unknown_answers import Phrases
from components.means import combine_mean, mean_scores
from components.protocols import LLM, Ask, JudgePreparation, Tokenizer
from components.records import JudgeInput, Judgements, Sample, ScoreState
from components.text.languages import languages_of_prompts
from components.text.normalize import ANSWER_FORM_VERSION
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
    first phrase of `cannot_infer`; the others are recognised too. If a reply lacks an answer, the judge is asked again,
    with `reminder`, up to `max_attempts` times in all; then the sample is UNPARSABLE. `tokenizer` splits answers
    for the F1 of the plain precision.

    `questions_file` is a published file of questions and reference answers, or a folder of them ("" for none). Samples
    that are in it take theirs from there; entries that are empty, or have more questions than answers or the reverse,
    are NOT_APPLICABLE; the judge makes up questions for samples that are not in it.
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

    version: ClassVar[int] = 3 + ANSWER_FORM_VERSION
    larger_is_better: ClassVar[bool | None] = True

    def check(self) -> list[str]:
        """Places missing in the prompts, no phrase to recognise, a questions_file that does not exist."""
        wanted = {"question_prompt": ("{text}",), "answer_prompt": ("{text}", "{questions}", "{cannot_infer}")}
        mistakes = [
            f"{field}: has no {place}"
            for field, places in wanted.items()
            for place in places
            if place not in getattr(self, field)
        ]
        if not (self.cannot_infer and all(phrase.strip() for phrase in self.cannot_infer)):
            mistakes.append(f"cannot_infer: got {list(self.cannot_infer)}, expected one or more phrases, none empty")
        if self.max_attempts < 1:
            mistakes.append(f"max_attempts: got {self.max_attempts}, expected at least 1")
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
    def languages(self) -> tuple[str, ...]:
        """Of the texts that the prompts are made for; () for any."""
        return languages_of_prompts(self.system, self.question_prompt, self.answer_prompt)

    @property
    def reads_answers(self) -> bool:
        """True."""
        return True

    @property
    def n_rounds_to_prepare(self) -> int:
        """2, questions and then the reference's answers to them; 0 if published ones are read."""
        return 0 if self.questions_file else 2

    def n_requests_per_sample(self, n_passages: int) -> int:
        """One: all questions together."""
        return 1

    def prepare(self, samples: Sequence[Sample], ask: Ask) -> JudgePreparation:
        """By sample id, its `questions` and the `answers` that the reference gives, or why there are none.

        Raises DataError if `questions_file` has none of the samples.
        """
        published = self._published(samples)
        taken = {sample.id: self._taken(published[sample.id]) for sample in samples if sample.id in published}
        return {**taken, **self._asked_about([sample for sample in samples if sample.id not in published], ask)}

    def judge(self, judged: Sequence[JudgeInput], preparation: JudgePreparation, ask: Ask) -> Judgements:
        """The four scores of each sample; the remarks are its questions with both answers, or why there are none."""
        settled = [prepared_for(preparation, item.sample) for item in judged]
        sources = [
            SourceText(item.sample, item.answer, tuple(known["questions"]))
            for item, known in zip(judged, settled, strict=True)
            if known["state"] == ScoreState.VALUE and item.answer.strip()
        ]
        answered = {
            source.sample.id: answers for source, answers in zip(sources, self._answers(sources, ask), strict=True)
        }
        scored = [
            self._scored(known, answered.get(item.sample.id)) for item, known in zip(judged, settled, strict=True)
        ]
        scores = {name: mean_scores([values[name] for values, _ in scored]) for name in NAMES}
        return Judgements(scores, [remark for _, remark in scored])

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

    def _taken(self, entry: PublishedQuestions) -> Prepared:
        if not entry.questions and not entry.answers:
            return prepared(ScoreState.NOT_APPLICABLE, "the published entry is empty")
        if len(entry.questions) != len(entry.answers):
            counts = f"{len(entry.questions)} questions and {len(entry.answers)} answers"
            return prepared(ScoreState.NOT_APPLICABLE, f"the published entry has {counts}")
        return self._with_questions(entry.questions, entry.answers, "published")

    def _asked_about(self, samples: Sequence[Sample], ask: Ask) -> dict[str, Prepared]:
        """Questions about the references, and the references' answers to them."""
        preparation = {sample.id: prepared(ScoreState.NOT_APPLICABLE, "no reference") for sample in samples}
        references = [SourceText(sample, "\n".join(sample.references).strip()) for sample in samples]
        references = [source for source in references if source.text]
        with_questions = []
        for source, questions in zip(references, self._questions(references, ask), strict=True):
            if isinstance(questions, Unread):
                preparation[source.sample.id] = prepared(questions.state, f"questions: {questions.reason}")
            elif questions:
                with_questions.append(replace(source, questions=questions))
            else:
                preparation[source.sample.id] = prepared(ScoreState.NOT_APPLICABLE, "the judge had nothing to ask")
        for source, answers in zip(with_questions, self._answers(with_questions, ask), strict=True):
            if isinstance(answers, Unread):
                preparation[source.sample.id] = prepared(answers.state, f"reference answers: {answers.reason}")
            else:
                preparation[source.sample.id] = self._with_questions(source.questions, answers, "asked for")
        return preparation

    def _questions(self, sources: Sequence[SourceText], ask: Ask) -> list[tuple[str, ...] | Unread]:
        inquiries = [questions_about(source, self.system, self.question_prompt) for source in sources]
        return ask_until_readable(inquiries, ask, self.reminder, self.max_attempts)

    def _answers(self, sources: Sequence[SourceText], ask: Ask) -> list[tuple[str, ...] | Unread]:
        phrase = self.cannot_infer[0]
        inquiries = [answers_from(source, self.system, self.answer_prompt, phrase) for source in sources]
        return ask_until_readable(inquiries, ask, self.reminder, self.max_attempts)

    def _with_questions(self, questions: Sequence[str], answers: Sequence[str], source: str) -> Prepared:
        n_unanswerable = sum(map(Phrases(self.cannot_infer).mean_unknown, answers))
        return prepared(
            ScoreState.VALUE,
            f"{len(questions)} questions ({source}), {n_unanswerable} without an answer in the reference",
            questions=list(questions),
            answers=list(answers),
            n_unanswerable=n_unanswerable,
        )

    def _scored(
        self, known: Prepared, generated: tuple[str, ...] | Unread | None
    ) -> tuple[dict[str, float | ScoreState], str]:
        """The four scores of a sample and its remark; `generated` is None if nothing was asked."""
        if known["state"] != ScoreState.VALUE:
            return dict.fromkeys(NAMES, ScoreState(known["state"])), known["reason"]
        if isinstance(generated, Unread):
            return dict.fromkeys(NAMES, generated.state), generated.reason
        if generated is None:  # an empty answer answers no question: the same as if the judge had said so of each
            generated = (self.cannot_infer[0],) * len(known["questions"])
        rows = zip(known["questions"], known["answers"], generated, strict=True)
        lines = [f"{n}. {question} | {reference} | {answer}" for n, (question, reference, answer) in enumerate(rows, 1)]
        scores = quest_scores(known["answers"], generated, Phrases(self.cannot_infer), self.tokenizer)
        return scores, "\n".join([known["reason"], *lines])
