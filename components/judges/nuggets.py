"""Nuggets: facts that a good answer states. A judge lists them once per question, and looks for them in answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.asking.model_reply import copies_placeholder, strip_template
from components.asking.prompt_parts import chat_messages, number_lines, question_in_context, reference_text
from components.asking.readable_requests import Inquiry, UnreadableReply, ask_until_readable
from components.fields import added_later
from components.json_value import Json
from components.judges.claim_replies import read_list, read_numbered
from components.judges.prepared import Prepared, preparation_entry, prepared_sample
from components.limits import too_small
from components.means import combine_mean, mean_scores
from components.protocols import LLM, Ask, JudgePreparation
from components.records import JudgeInput, Judgements, Request, Sample, ScoreState
from components.text.languages import languages_of_prompts
from components.text.templates import fill, missing_placeholders

Value = float | ScoreState


class Assignment(StrEnum):
    """The part of a nugget that an answer states: all of it, some, or none."""

    SUPPORT = "support"
    PARTIAL = "partial_support"
    NONE = "not_support"


_ASSIGNMENTS = {assignment.value: assignment for assignment in Assignment}
_CREDIT = {Assignment.SUPPORT: 1.0, Assignment.PARTIAL: 0.5, Assignment.NONE: 0.0}
_NAMES = ("nugget_recall", "nugget_strict", "nugget_vital", "nugget_vital_strict", "nugget_weighted")
_VITAL, _OKAY = "vital", "okay"
_WEIGHT_OF_OKAY = 0.5

_NUGGETS_SCHEMA: Mapping[str, Json] = {
    "type": "object",
    "properties": {
        "nuggets": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"nugget": {"type": "string"}, "importance": {"type": "string", "enum": [_VITAL, _OKAY]}},
                "required": ["nugget", "importance"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["nuggets"],
    "additionalProperties": False,
}

_ASSIGNMENTS_SCHEMA: Mapping[str, Json] = {
    "type": "object",
    "properties": {
        "assignments": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "number": {"type": "integer"},
                    "assignment": {"type": "string", "enum": list(_ASSIGNMENTS)},
                },
                "required": ["number", "assignment"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["assignments"],
    "additionalProperties": False,
}


class NuggetSource(Enum):
    """The texts that nuggets are made from: references, or the gold evidence in the corpus."""

    REFERENCES = "references"
    GOLD_DOCUMENTS = "gold_documents"


@dataclass(frozen=True)
class Nugget:
    """A fact that a good answer states. Vital nuggets are required; the others are optional."""

    text: str
    vital: bool


@dataclass(frozen=True)
class Nuggets:
    """Shares of the nuggets of a question that an answer states. A full nugget counts 1, a partial one 1/2.

    - `nugget_recall`: credit of all nuggets / nuggets. `nugget_strict`: the same, with partial nuggets counted as 0;
    - `nugget_vital`, `nugget_vital_strict`: the same over vital nuggets. The strict one is TREC RAG's first metric;
    - `nugget_weighted`: the weighted mean credit; nuggets that are not vital have weight 1/2.

    Level: sample. Range: [0, 1], no unit, larger is better. Nuggets are made from the references, once per question for
    all cells, with `nugget_prompt` (placeholders {question} and {text}). `assignment_prompt` has placeholders for
    {question}, {nuggets} and {answer}; one request covers all nuggets. An empty answer states nothing, and scores 0
    without a request. Without references, nuggets or vital nuggets: NOT_APPLICABLE. With the `source` GOLD_DOCUMENTS,
    nuggets are made from the gold evidence in the corpus with `document_prompt` (same placeholders), and no references
    are needed. A sample is UNPARSABLE if it has more than `max_nuggets`, or if an assignment is missing after
    `max_attempts` requests. Source: Pradeep et al. 2024, "Initial Nugget Evaluation Results for the TREC 2024 RAG
    Track", whose nuggets come from documents.
    """

    llm: LLM
    system: str
    nugget_prompt: str
    assignment_prompt: str
    reminder: str
    max_nuggets: int
    max_attempts: int
    source: NuggetSource = added_later(NuggetSource.REFERENCES)
    document_prompt: str = added_later("")

    version: ClassVar[int] = 3
    larger_is_better: ClassVar[bool | None] = True
    names: ClassVar[tuple[str, ...]] = _NAMES
    reads_answers: ClassVar[bool] = True
    n_rounds_to_prepare: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Clear the document prompt if it is not used, so that no key depends on it."""
        if not self.reads_gold:
            object.__setattr__(self, "document_prompt", "")

    @property
    def reads_gold(self) -> bool:
        """True if nuggets come from gold documents."""
        return self.source is NuggetSource.GOLD_DOCUMENTS

    def check(self) -> list[str]:
        """Return error messages for missing placeholders in prompts, and numbers below 1."""
        prompt = "document_prompt" if self.reads_gold else "nugget_prompt"
        return [
            *missing_placeholders(prompt, self._making_prompt, ("{question}", "{text}")),
            *missing_placeholders("assignment_prompt", self.assignment_prompt, ("{question}", "{nuggets}", "{answer}")),
            *too_small(self, max_nuggets=1, max_attempts=1),
        ]

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages of the texts that the prompts suit; () for any."""
        return languages_of_prompts(self.system, self._making_prompt, self.assignment_prompt)

    def n_requests_per_sample(self, n_passages: int) -> int:
        """Return 1: one request covers all nuggets."""
        return 1

    def prepare(self, samples: Sequence[Sample], ask: Ask) -> JudgePreparation:
        """Return the nuggets of each sample id, or the reason for their absence."""
        return self._prepare(samples, [reference_text(sample) for sample in samples], "reference", ask)

    def prepare_by_gold(self, samples: Sequence[Sample], gold: Sequence[Sequence[str]], ask: Ask) -> JudgePreparation:
        """Return the preparation of each sample, from the texts of its gold evidence."""
        texts = [evidence[0] if len(evidence) == 1 else number_lines(evidence) for evidence in gold]
        return self._prepare(samples, texts, "gold document in the corpus", ask)

    def _prepare(self, samples: Sequence[Sample], texts: Sequence[str], source: str, ask: Ask) -> JudgePreparation:
        preparation = {sample.id: preparation_entry(ScoreState.NOT_APPLICABLE, f"no {source}") for sample in samples}
        with_text = [(sample, text) for sample, text in zip(samples, texts, strict=True) if text.strip()]
        inquiries = [self._ask_nuggets(sample, text) for sample, text in with_text]
        replies = ask_until_readable(inquiries, ask, self.reminder, self.max_attempts)
        return preparation | {
            sample.id: self._entry(reply, source) for (sample, _), reply in zip(with_text, replies, strict=True)
        }

    def judge(self, judged: Sequence[JudgeInput], preparation: JudgePreparation, ask: Ask) -> Judgements:
        """Return the five values of each sample. The remarks are the nuggets with their assignments."""
        entries = [prepared_sample(preparation, item.sample) for item in judged]
        is_asked = [
            entry["state"] == ScoreState.VALUE and bool(item.answer.strip())
            for item, entry in zip(judged, entries, strict=True)
        ]
        inquiries = [
            self._ask_assignments(item, _nuggets(entry))
            for item, entry, asked in zip(judged, entries, is_asked, strict=True)
            if asked
        ]
        read = ask_until_readable(inquiries, ask, self.reminder, self.max_attempts)
        replies = iter(read)
        outcomes = [
            _outcome(entry, next(replies) if asked else None) for entry, asked in zip(entries, is_asked, strict=True)
        ]
        scores = {name: mean_scores([values[name] for values, _ in outcomes]) for name in _NAMES}
        return Judgements(scores, [remark for _, remark in outcomes])

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, float64[...], of sums float64[..., 2]."""
        return combine_mean(sums)

    @property
    def _making_prompt(self) -> str:
        return self.document_prompt if self.reads_gold else self.nugget_prompt

    def _ask_nuggets(self, sample: Sample, text: str) -> Inquiry[tuple[Nugget, ...]]:
        texts = {"{question}": question_in_context(sample), "{text}": text}
        messages = chat_messages(self.system, fill(self._making_prompt, texts))
        request = Request(sample.id, messages, sample, (), _NUGGETS_SCHEMA)
        return Inquiry(request, lambda reply: read_nuggets(reply, self._making_prompt))

    def _entry(self, reply: tuple[Nugget, ...] | UnreadableReply, source: str) -> Prepared:
        if isinstance(reply, UnreadableReply):
            return preparation_entry(reply.state, f"nuggets: {reply.reason}")
        if not reply:
            return preparation_entry(ScoreState.NOT_APPLICABLE, f"no nuggets in the {source}")
        if len(reply) > self.max_nuggets:
            reason = f"{len(reply)} nuggets, more than max_nuggets={self.max_nuggets}"
            return preparation_entry(ScoreState.UNPARSABLE, f"nuggets: cannot be read: {reason}")
        return preparation_entry(ScoreState.VALUE, "", nuggets=[[nugget.text, nugget.vital] for nugget in reply])

    def _ask_assignments(self, item: JudgeInput, nuggets: Sequence[Nugget]) -> Inquiry[tuple[Assignment, ...]]:
        values = {
            "{question}": question_in_context(item.sample),
            "{nuggets}": number_lines([nugget.text for nugget in nuggets]),
            "{answer}": item.answer,
        }
        messages = chat_messages(self.system, fill(self.assignment_prompt, values))
        request = Request(item.sample.id, messages, item.sample, (), _ASSIGNMENTS_SCHEMA)

        def read(reply: str) -> tuple[Assignment, ...] | None:
            return read_assignments(strip_template(reply, self.assignment_prompt, is_alone=False), len(nuggets))

        return Inquiry(request, read)


def read_nuggets(text: str, prompt: str) -> tuple[Nugget, ...] | None:
    """Return the distinct nuggets of a reply, () if it lists none; None if one is unreadable or a placeholder."""
    entries = read_list(text, "nuggets")
    if entries is None:
        return None
    nuggets: dict[str, Nugget] = {}
    for entry in entries:
        nugget, importance = (entry.get("nugget"), entry.get("importance")) if isinstance(entry, dict) else (None, None)
        if not isinstance(nugget, str) or importance not in (_VITAL, _OKAY) or copies_placeholder(nugget, prompt):
            return None
        form = " ".join(nugget.split())
        nuggets.setdefault(form, Nugget(form, importance == _VITAL))
    return tuple(nuggets.values())


def read_assignments(text: str, n_nuggets: int) -> tuple[Assignment, ...] | None:
    """Return the assignments of nuggets 1 to `n_nuggets`; None unless the reply has exactly one for each."""
    entries = read_numbered(text, "assignments", n_nuggets)
    assignments = [_ASSIGNMENTS.get(str(entry.get("assignment")).strip().lower()) for entry in entries or ()]
    readable = tuple(assignment for assignment in assignments if assignment)
    return readable if entries is not None and len(readable) == n_nuggets else None


def nugget_scores(nuggets: Sequence[Nugget], assignments: Sequence[Assignment]) -> dict[str, Value]:
    """Return the five values by name; the vital ones are NOT_APPLICABLE without a vital nugget."""
    credit = [_CREDIT[assignment] for assignment in assignments]
    strict = [float(assignment is Assignment.SUPPORT) for assignment in assignments]
    vital = [nugget.vital for nugget in nuggets]
    weights = [1.0 if is_vital else _WEIGHT_OF_OKAY for is_vital in vital]
    weighted = sum(weight * value for weight, value in zip(weights, credit, strict=True)) / sum(weights)
    vital_values = [
        [value for value, is_vital in zip(values, vital, strict=True) if is_vital] for values in (credit, strict)
    ]
    values = (_mean(credit), _mean(strict), _mean(vital_values[0]), _mean(vital_values[1]), weighted)
    return dict(zip(_NAMES, values, strict=True))


def _mean(values: Sequence[float]) -> Value:
    return sum(values) / len(values) if values else ScoreState.NOT_APPLICABLE


def _nuggets(preparation: Prepared) -> list[Nugget]:
    return [Nugget(text, vital) for text, vital in preparation["nuggets"]]


def _outcome(
    preparation: Prepared, reply: tuple[Assignment, ...] | UnreadableReply | None
) -> tuple[dict[str, Value], str]:
    """Return the values of a sample and its remark. `reply` is None if nothing was asked."""
    if preparation["state"] != ScoreState.VALUE:
        return dict.fromkeys(_NAMES, ScoreState(preparation["state"])), preparation["reason"]
    if isinstance(reply, UnreadableReply):
        return dict.fromkeys(_NAMES, reply.state), reply.reason
    nuggets = _nuggets(preparation)
    assignments = reply or (Assignment.NONE,) * len(nuggets)
    lines = [
        f"{_VITAL if nugget.vital else _OKAY}, {assignment}: {nugget.text}"
        for nugget, assignment in zip(nuggets, assignments, strict=True)
    ]
    return nugget_scores(nuggets, assignments), "\n".join(lines)
