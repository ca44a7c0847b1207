"""Questions with what is known of their answers."""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What a sample asks of the generator; prompts and the extractive baseline choose by it."""

    QA = "qa"
    LONG_FORM = "long_form"
    CONVERSATION = "conversation"
    CONTINUATION = "continuation"
    SUMMARIZATION = "summarization"
    CORRECTION = "correction"


LARGEST_GRADE = 2**31 - 1
"""Of relevance: trec_eval counts in 32 bits."""


@dataclass(frozen=True)
class Evidence:
    """One gold unit: a document, or the characters [start, end) of it. Never a chunk, so any chunking can be scored.

    `document_id` may name a document that is not in the corpus: the unit then counts as "gold not in the corpus".
    `start` and `end` are both None for a whole document. `grade` (1 or more) is how relevant it is, where a benchmark
    tells degrees. Units of a sample with the same `one_of` above 0 are alternatives: any one of them suffices. A unit
    with 0 is needed by itself.
    """

    document_id: str
    start: int | None = None
    end: int | None = None
    grade: int = 1
    one_of: int = 0


@dataclass(frozen=True)
class Turn:
    """An earlier turn of a conversation, with its reference answer."""

    question: str
    answer: str


@dataclass(frozen=True)
class Condition:
    """On what a document's metadata say under some name: one of the values `equals`, and neither less than `at_least`
    nor more than `at_most`. What is left out asks for nothing.
    """

    equals: tuple[str | int | float, ...] = ()
    at_least: str | int | float | None = None
    at_most: str | int | float | None = None


@dataclass(frozen=True)
class Sample:
    """One item of a benchmark.

    `subset` is a path such as "read/qa_1doc"; every prefix of it is a subset of the results too. `topic` and `task` are
    slugs (ASCII, safe in file and metric names) or None; together they are a cell of the topic x task matrix.
    `references` are empty where a benchmark has gold documents alone. `query` is the text to search for where the
    benchmark brings one that is not the question; "" where it does not. `corpus_prefix` is how the ids of the documents
    begin that are searched for this sample, where a benchmark is several corpora side by side; "" for all documents.
    `answer_parts` are what an answer must contain, each part in any of its wordings, where a benchmark says so.
    `answerable` is False for a question that the corpus does not answer: to say so is the right answer. `passages` are
    the ids of documents that a benchmark gives with the sample, in its order; those that are no gold are noise.
    `conditions`, by name, are on the metadata of the documents that are searched for this sample. `expansion` is a text
    like `query`, but searched for only where the expander says so. `held_out` is True for one by which something was
    chosen: it counts in no aggregate. `fake_answers` are the wordings of the false answer that false passages support,
    where a benchmark tests whether a model follows them.
    """

    id: str
    subset: str
    kind: Kind
    question: str
    references: tuple[str, ...]
    gold: tuple[Evidence, ...] = ()
    topic: str | None = None
    task: str | None = None
    history: tuple[Turn, ...] = ()
    query: str = ""
    corpus_prefix: str = ""
    answer_parts: tuple[tuple[str, ...], ...] = ()
    answerable: bool = True
    passages: tuple[str, ...] = ()
    conditions: tuple[tuple[str, Condition], ...] = ()
    expansion: str = ""
    held_out: bool = False
    fake_answers: tuple[str, ...] = ()
