"""A question to a pipeline, and its conversion to a sample of a benchmark."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import UnionType
from typing import TypedDict

from components.datasets.conditions import read_condition
from components.errors import DataError
from components.json_value import Json
from components.limits import expected_one_of
from components.records import Kind, Sample, Turn

_ID = "question"


@dataclass(frozen=True)
class Question:
    """A question to a pipeline.

    `history` has the earlier turns of a conversation, each a question and its answer. `kind` chooses among prompts that
    differ by kind of task; None for the kind in `Defaults`. `subset` names the set of the benchmark that the question
    resembles, for a pipeline with a reranker for each subset. `corpus` is the prefix of the ids of the documents to
    search, for a pipeline with several corpora. `where` has conditions on the metadata of documents: by name a value, a
    list of values, or {"at_least", "at_most"}.
    """

    text: str
    kind: str | None = None
    history: Sequence[tuple[str, str]] = ()
    subset: str = ""
    corpus: str = ""
    where: Mapping[str, Json] = field(default_factory=dict)


class QuestionOptions(TypedDict, total=False):
    """The fields of `Question` other than its text, as keyword arguments."""

    kind: str | None
    history: Sequence[tuple[str, str]]
    subset: str
    corpus: str
    where: Mapping[str, Json]


@dataclass(frozen=True)
class Defaults:
    """The kind of a served question, from the samples of the sweep: `kind`, or `kind_in_conversation` with a
    history.
    """

    kind: str
    kind_in_conversation: str


def find_defaults(samples: Sequence[Sample]) -> Defaults:
    """Return the kind that all samples have. For several kinds, or without samples, return question answering or
    conversation.
    """
    alone = _only_kind([sample.kind for sample in samples if not sample.history], Kind.QA)
    in_turns = _only_kind([sample.kind for sample in samples if sample.history], Kind.CONVERSATION)
    return Defaults(alone.value, in_turns.value)


def _only_kind(kinds: Sequence[Kind], preferred: Kind) -> Kind:
    return kinds[0] if len(set(kinds)) == 1 else preferred


@dataclass(frozen=True)
class Choices:
    """Values that a question to one pipeline may have. `subsets` are those with a separate reranker."""

    subsets: Sequence[str]
    corpora: Sequence[str]
    has_filter: bool


def as_sample(question: Question, defaults: Defaults, choices: Choices) -> Sample:
    """Return the question as a sample of a benchmark. Raises DataError with all errors together."""
    if problems := _type_errors(question):
        raise DataError("; ".join(problems))
    problems = _problems(question, choices)
    kind = question.kind or (defaults.kind_in_conversation if question.history else defaults.kind)
    if kind not in (kinds := [option.value for option in Kind]):
        problems.append(f"kind: got {kind!r}{expected_one_of(kind, kinds)}")
    history = tuple(Turn(*turn) for turn in question.history if _is_turn(turn))
    if len(history) < len(question.history):
        problems.append("history: expected a question and its answer for each turn, both strings")
    conditions = []
    for name, condition in question.where.items():
        try:
            conditions.append((name, read_condition(condition, f"where.{name}")))
        except DataError as error:
            problems.append(str(error))
    if problems:
        raise DataError("; ".join(problems))
    return Sample(
        _ID,
        question.subset,
        Kind(kind),
        question.text,
        (),
        history=history,
        corpus_prefix=question.corpus,
        conditions=tuple(conditions),
    )


def _type_errors(question: Question) -> list[str]:
    """Return one message per field of a wrong type. Fields from JSON or from unchecked code may have any type."""
    types: dict[str, tuple[type | UnionType, str]] = {
        "text": (str, "a string"),
        "kind": (str | None, "a string"),
        "history": (list | tuple, "a list of turns, each a question and its answer"),
        "subset": (str, "a string"),
        "corpus": (str, "a string"),
        "where": (Mapping, 'an object such as {"year": 2020}'),
    }
    return [
        f"{'question' if name == 'text' else name}: got {getattr(question, name)!r}, expected {what}"
        for name, (kind, what) in types.items()
        if not isinstance(getattr(question, name), kind)
    ]


def _problems(question: Question, choices: Choices) -> list[str]:
    problems = []
    if not question.text.strip():
        problems.append("question: is empty")
    texts = [("question", question.text)]
    texts += [("history", text) for turn in question.history if _is_turn(turn) for text in turn]
    halved = dict.fromkeys(name for name, text in texts if not _is_whole(text))
    problems += [f"{name}: has half of a character (an unpaired surrogate), expected text in UTF-8" for name in halved]
    if any(choices.corpora) and question.corpus not in choices.corpora:
        problems.append(f"corpus: got {question.corpus!r}{expected_one_of(question.corpus, choices.corpora)}")
    if question.corpus and not any(choices.corpora):
        problems.append(f"corpus: got {question.corpus!r}, but this pipeline has a single corpus")
    if question.subset and choices.subsets and question.subset not in choices.subsets:
        problems.append(
            f"subset: got {question.subset!r}{expected_one_of(question.subset, choices.subsets, ', or none')}"
        )
    if question.where and not choices.has_filter:
        problems.append("where: this pipeline has no filter that reads conditions (filter=metadata)")
    return problems


def _is_turn(turn: object) -> bool:
    return isinstance(turn, list | tuple) and len(turn) == 2 and all(isinstance(text, str) for text in turn)


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
