"""Benchmarks: questions with their reference answers and gold evidence, over a corpus."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from components.records.documents import Documents


class Kind(StrEnum):
    """The task that a sample sets. Prompts and `llm=extractive` depend on it."""

    QA = "qa"
    LONG_FORM = "long_form"
    CONVERSATION = "conversation"
    CONTINUATION = "continuation"
    SUMMARIZATION = "summarization"
    CORRECTION = "correction"


MAX_GRADE = 2**31 - 1
"""Largest grade of relevance. trec_eval stores grades in 32 bits."""


@dataclass(frozen=True)
class Evidence:
    """One gold unit: a document, or the characters [start, end) of it. It is never a chunk, so any chunking can be
    scored.

    `document_id` may name a document outside the corpus. The unit then counts as "gold not in the corpus". `start` and
    `end` are both None for a whole document. `grade` (1 or more) is the degree of relevance, if a benchmark has
    degrees. Units of a sample with the same `one_of` above 0 are alternatives: any one of them suffices. A unit with 0
    is required.
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
    """A condition on one metadata value of a document.

    The value is one of `equals`, and lies between `at_least` and `at_most`. Omitted fields do not restrict it.
    """

    equals: tuple[str | int | float, ...] = ()
    at_least: str | int | float | None = None
    at_most: str | int | float | None = None


@dataclass(frozen=True)
class Sample:
    """One item of a benchmark. Fields that its benchmark does not provide are empty.

    - `subset`: a path such as "read/qa_1doc". Every prefix of it is also a subset of the results.
    - `topic`, `task`: slugs (ASCII, safe in file and metric names) or None. Together they name a field of the topic x
      task matrix.
    - `references`: reference answers; empty if a benchmark has only gold documents.
    - `query`: a text to search for instead of the question.
    - `corpus_prefix`: for a benchmark of several corpora side by side, the common beginning of the ids of the documents
      that are searched for this sample; "" for all documents.
    - `answer_parts`: parts that an answer must contain, each in any of its wordings.
    - `answerable`: False for a question that the corpus does not answer. The right answer says so.
    - `passages`: ids of documents that the benchmark gives with the sample, in its order. Documents without gold are
      noise.
    - `conditions`: conditions by name on the metadata of the documents that are searched for this sample.
    - `expansion`: a text like `query`, which is searched only if the expander says so.
    - `held_out`: True for a sample used to choose something. It counts in no aggregate.
    - `fake_answers`: wordings of the false answer that false passages support, in a benchmark that tests whether a
      model follows them.
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


@dataclass(frozen=True)
class Benchmark:
    """The content of a data set: a corpus, samples, and notes about loading them.

    `notes` are counts for the record, such as skipped empty documents, merged duplicates, and gold added to the corpus.
    `labels` maps slugs of topics, tasks and subsets to readable English labels. A slug without a label is its own
    label.
    """

    documents: Documents
    samples: tuple[Sample, ...]
    notes: Mapping[str, int | float | str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
