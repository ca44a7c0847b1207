"""The data that flows between components: frozen, without behaviour beyond reading itself, without I/O.

Large things are columns (NumPy arrays, lists), not objects: a corpus of 10^6 chunks is four arrays. Text positions are
always **character offsets** into the document's original text, `start` inclusive, `end` exclusive.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Documents:
    """A corpus: lists of equal length, sorted by id (so that "ties break by id" is "ties break by position").

    `metadata` are further facts by name (date, section, ...) for prompts and filters; empty where no document has any.
    """

    ids: Sequence[str]
    titles: Sequence[str]
    texts: Sequence[str]
    metadata: Sequence[Mapping[str, str]] = ()

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Origins:
    """Where the characters of refined texts come from: pieces as columns of equal length, sorted by (document, start),
    none over another.

    The characters [start, end) of the refined text of `document` (a position in the corpus) come from
    [original_start, original_end) of its text before, one by one where `is_copy`, else each of them from all of these.
    What lies in no piece was added. All int32, `is_copy` bool.
    """

    document: NDArray[np.int32]
    start: NDArray[np.int32]
    end: NDArray[np.int32]
    original_start: NDArray[np.int32]
    original_end: NDArray[np.int32]
    is_copy: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.document)


@dataclass(frozen=True)
class RefinedDocuments(Documents):
    """A corpus made of another one: as many documents with the same ids in the same order, "" in the place of a text
    that was left out. `counts` say for the record what was done.
    """

    origins: Origins = field(kw_only=True)
    counts: Mapping[str, int] = field(kw_only=True)


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
    tells degrees.
    """

    document_id: str
    start: int | None = None
    end: int | None = None
    grade: int = 1


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
    chosen: it counts in no aggregate.
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


@dataclass(frozen=True)
class Benchmark:
    """What a data set loads: a corpus, samples, and what had to be decided on the way.

    `notes` are counts for the record (skipped empty documents, merged duplicates, gold added to the corpus, ...).
    `labels` maps topic, task and subset slugs to readable English labels; a slug without one is shown as it is.
    """

    documents: Documents
    samples: tuple[Sample, ...]
    notes: Mapping[str, int | float | str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Segments:
    """Where the tokens and the sentences of every document end, as two ragged arrays over one corpus.

    Document i owns `token_ends[token_offsets[i]:token_offsets[i + 1]]` (character offsets, int32, non-decreasing; the
    last one is the document's length) and likewise for sentences. A token that ends inside a character ends where the
    last whole character does.
    """

    token_offsets: NDArray[np.int64]
    token_ends: NDArray[np.int32]
    sentence_offsets: NDArray[np.int64]
    sentence_ends: NDArray[np.int32]


@dataclass(frozen=True)
class Spans:
    """Chunks of a corpus as columns of equal length, sorted by (document, start): a chunk's text is a slice.

    `document` int32 position in the corpus; `start`, `end` int32 character offsets, start < end.
    """

    document: NDArray[np.int32]
    start: NDArray[np.int32]
    end: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.document)


@dataclass(frozen=True)
class ChunkOrigins(Spans):
    """Where chunks of refined texts come from in the original ones: rows by `chunk`, int32, non-decreasing; a chunk has
    as many as it was put together of, in its own order, and one without characters if all of it was added.
    """

    chunk: NDArray[np.int32] = field(kw_only=True)


class SpanTexts(Sequence[str]):
    """The texts of spans, sliced when asked for: holds no copy of the corpus."""

    def __init__(self, documents: Sequence[str], spans: Spans) -> None:
        self._documents = documents
        self._spans = spans

    def __len__(self) -> int:
        return len(self._spans)

    @property
    def spans(self) -> Spans:
        """Where the texts are."""
        return self._spans

    def joined(self, positions: Sequence[int]) -> str:
        """The text from the first of some spans of one document, in order, to where they end: what several hold is
        there once.
        """
        first = positions[0]
        last = max(int(self._spans.end[position]) for position in positions)
        text: str = self._documents[self._spans.document[first]][self._spans.start[first] : last]
        return text

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        spans = self._spans
        text: str = self._documents[spans.document[index]][spans.start[index] : spans.end[index]]
        return text

    def __iter__(self) -> Iterator[str]:
        spans = self._spans
        for document, start, end in zip(spans.document.tolist(), spans.start.tolist(), spans.end.tolist(), strict=True):
            yield self._documents[document][start:end]


@dataclass(frozen=True)
class Words:
    """Words of a text with their places: `start`, `end` int32[n_words], each non-decreasing; words may overlap."""

    words: Sequence[str]
    start: NDArray[np.int32]
    end: NDArray[np.int32]


@dataclass(frozen=True)
class Terms:
    """Vocabulary ids of many passages. Passage i holds `ids[first[i]:last[i]]`; ranges may overlap (chunks with
    overlap).

    `ids` int32 in [0, n_vocabulary); `first`, `last` int64.
    """

    ids: NDArray[np.int32]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    n_vocabulary: int

    def __len__(self) -> int:
        return len(self.first)

    def row(self, index: int) -> NDArray[np.int32]:
        """Ids of one passage, in order, int32[n_terms]."""
        return self.ids[self.first[index] : self.last[index]]


@dataclass(frozen=True)
class Passage:
    """A text that goes into a prompt, with the title and the metadata of its document. `number`, from 1, is by which it
    is cited, where that is not its place among the passages that it is shown with; else 0.
    """

    text: str
    title: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    number: int = field(default=0, repr=False)  # baselines' replies are kept by what a passage says of itself


@dataclass(frozen=True)
class PassagePlaces:
    """Where a passage of a prompt is in the corpus, as (document position, start, end): `own` is the passage itself,
    `copied` what of the gold stands in it as a copy.
    """

    own: tuple[tuple[int, int, int], ...]
    copied: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True)
class Passages:
    """Texts (documents, chunks or queries), with their terms where the receiving component has a `tokenizer`.

    `titles` are those of the documents that chunks are from; empty for queries.
    """

    texts: Sequence[str]
    terms: Terms | None = None
    titles: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True)
class Queries:
    """Texts to search for, one or more per sample: `sample` int32[n_queries] is the position of each text's sample,
    non-decreasing, and every sample has at least one.
    """

    texts: Sequence[str]
    sample: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True)
class AllowedDocuments:
    """Which documents may be found for which sample: those of sample i are `of_group(group[i])`. `group`
    int32[n_samples]; group g owns `document[offsets[g]:offsets[g + 1]]` (int32 positions in the corpus, ascending;
    offsets int64[n_groups + 1]).
    """

    group: NDArray[np.int32]
    offsets: NDArray[np.int64]
    document: NDArray[np.int32]

    @property
    def n_groups(self) -> int:
        """Groups of samples for which the same documents may be found."""
        return len(self.offsets) - 1

    def of_group(self, group: int) -> NDArray[np.int32]:
        """Positions of its documents."""
        return self.document[self.offsets[group] : self.offsets[group + 1]]


@dataclass(frozen=True)
class Expansion:
    """What a language model wrote to be searched for in the place of a sample's question: one text or more. Where it
    was not asked (`is_asked` False), or to no avail, that is the question itself: `unread` then says of the reply why
    it could not be read, `failed` why the request failed; "" if neither did.
    """

    queries: tuple[str, ...]
    is_asked: bool = True
    unread: str = ""
    failed: str = ""


@dataclass(frozen=True)
class Units:
    """What texts are compared by (words, say), as numbers: text i is `ids[offsets[i]:offsets[i + 1]]`, in order.

    `ids` int64: equal units have equal numbers, in any text and any process; `offsets` int64[n_texts + 1].
    """

    ids: NDArray[np.int64]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def row(self, index: int) -> NDArray[np.int64]:
        """Units of one text, int64[n_units]."""
        return self.ids[self.offsets[index] : self.offsets[index + 1]]


@dataclass(frozen=True)
class TextsWithUnits:
    """Answers or references, with their units where the receiving metric has a `form`."""

    texts: Sequence[str]
    units: Units | None = None

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True)
class Hits:
    """A ranking per query, best first: `chunk` int32[n_queries, depth] positions padded with -1, `score` float32 of the
    same shape padded with -inf. Searches and fusions order equal scores by position, which is by id; after a reranker
    they keep the order of the ranking before it.
    """

    chunk: NDArray[np.int32]
    score: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.chunk)


@dataclass(frozen=True)
class HitOrder:
    """What a language model made of the hits of one query. `order` are their places in the ranking before, best first,
    each once. `unread` says of a reply why it could not be read, `failed` why a request failed; "" if none did. What
    they were about stands as it stood before.
    """

    order: tuple[int, ...]
    unread: str = ""
    failed: str = ""


@dataclass(frozen=True)
class AskedText:
    """What a language model wrote about one thing: `text`, "" where there is none; then `unread` says of the reply why
    it could not be read, or `failed` why the request failed.
    """

    text: str
    unread: str = ""
    failed: str = ""


@dataclass(frozen=True)
class Context:
    """What goes into the prompts: `chunk` int32[n_queries, n] positions in prompt order, padded with -1; n is top_k, or
    a multiple of it where chunks around the hits are read too.

    `n_tokens` int64[n_queries] are the tokens kept, `n_tokens_dropped` those of the top_k hits that did not fit.
    """

    chunk: NDArray[np.int32]
    n_tokens: NDArray[np.int64]
    n_tokens_dropped: NDArray[np.int64]


@dataclass(frozen=True)
class Message:
    """One message to a chat model; `role` is "system", "user" or "assistant"."""

    role: str
    content: str


@dataclass(frozen=True)
class Request:
    """One call to a language model. Real models read `messages` and `json_schema` alone; `sample` and `passages` are
    there for the backends that are no language models, such as the extractive baseline, which get no messages.

    `draw` tells several draws of one answer apart, for whoever wants more than one. `json_schema` is the JSON schema
    that the reply should follow, None for free text. A backend that can enforce it does; the reader of the reply must
    not rely on it.
    """

    id: str
    messages: tuple[Message, ...]
    sample: Sample
    passages: tuple[Passage, ...]
    json_schema: Mapping[str, Any] | None = None
    draw: int = 0


class AnswerState(StrEnum):
    """How a request ended. Exactly one of these; none is dropped.

    TRUNCATED: it was cut off at the most tokens that the model may write. What came until then is an answer all the
    same, and is scored as one, even if it is nothing (a reasoning model may have spent all tokens on its thoughts).
    EMPTY: nothing but white space came. NOT_ASKED: the cell has no generator (`llm=none`).
    """

    OK = "ok"
    TRUNCATED = "truncated"
    EMPTY = "empty"
    REFUSED = "refused"
    ERROR = "error"
    NOT_ASKED = "not_asked"


class ErrorClass(StrEnum):
    """What kind of failure ended a request, so that failures can be counted by what to do about them.

    ACCESS: a refused key, or no permission; QUOTA: no money left; UNKNOWN_MODEL: the server knows no such model or
    address; TOO_LONG: the prompt and the answer do not fit into the model's window; BAD_REQUEST: the server dislikes
    something else about this request; SERVER: it failed itself; MALFORMED: it sent something that is no reply.
    """

    TIMEOUT = "timeout"
    CONNECTION = "connection"
    RATE_LIMIT = "rate_limit"
    QUOTA = "quota"
    ACCESS = "access"
    UNKNOWN_MODEL = "unknown_model"
    TOO_LONG = "too_long"
    BAD_REQUEST = "bad_request"
    SERVER = "server"
    MALFORMED = "malformed"
    OTHER = "other"


@dataclass(frozen=True)
class Answer:
    """The end of one request. `text` is empty unless the state is OK or TRUNCATED; an error's message is in `error`,
    never in `text`, and what kind of error it is in `error_class`. `thoughts` are what a reasoning model wrote before
    its answer, where it shows them.

    Tokens are None where the provider did not count them; `n_reasoning_tokens` are those of the completion that were
    spent on thoughts, `n_cached_tokens` those of the prompt that the provider says it had at hand, at a price of their
    own.
    """

    request_id: str
    state: AnswerState
    text: str = ""
    error: str = ""
    error_class: ErrorClass | None = None
    thoughts: str = ""
    n_prompt_tokens: int | None = 0
    n_completion_tokens: int | None = 0
    n_reasoning_tokens: int | None = 0
    n_cached_tokens: int = 0
    latency_s: float = 0.0


@dataclass(frozen=True)
class AnswerTask:
    """What a generator is to answer, and from what; there are no passages in a closed book, or where none was found."""

    sample: Sample
    passages: tuple[Passage, ...]


@dataclass(frozen=True)
class GeneratedAnswer:
    """What a generator made of a task. `answer` has the tokens of all requests, and as its time what they took one
    after the other; `prompt` are the messages of the last of them; `path` says in a few words how it came about.
    """

    answer: Answer
    prompt: tuple[Message, ...]
    path: str


class ScoreState(StrEnum):
    """How the scoring of one sample by one metric ended."""

    VALUE = "value"
    NOT_APPLICABLE = "not_applicable"
    NO_GOLD = "no_gold"
    NO_GOLD_IN_CORPUS = "no_gold_in_corpus"
    ANSWER_ERROR = "answer_error"
    UNPARSABLE = "unparsable"
    FAILED = "failed"
    NO_CITATIONS = "no_citations"
    HELD_OUT = "held_out"


@dataclass(frozen=True)
class Scores:
    """One metric over many samples.

    `statistics` float64[n_samples, d] are summed over a subset and handed to the metric's `combine`; rows whose state
    is not VALUE are zeros and are left out. `states` is one ScoreState per sample. A mean has d = 2: value and 1.
    `values` float64[n_samples] is the metric of each sample alone, NaN where there is none (or where it exists for a
    corpus only).
    """

    statistics: NDArray[np.float64]
    states: tuple[ScoreState, ...]
    values: NDArray[np.float64]


@dataclass(frozen=True)
class JudgeInput:
    """What a judge looks at: an answer ("" for an empty or refused one) and the passages that its prompt held."""

    sample: Sample
    answer: str
    passages: tuple[Passage, ...]


@dataclass(frozen=True)
class Judgements:
    """What a judge made of many samples: one Scores per metric name, and per sample what it said, for the reader."""

    scores: Mapping[str, Scores]
    remarks: Sequence[str]


class IntervalMethod(StrEnum):
    """How an interval was made."""

    WILSON = "wilson"
    T = "t"
    BOOTSTRAP = "bootstrap"


@dataclass(frozen=True)
class Interval:
    """A value with its confidence interval, from `n_clusters` groups of samples. The value is None where nothing could
    be scored; `low`, `high` and `method` are None where the samples do not say how sure the value is. `error` is its
    standard error, None for a single cluster, and `n_effective` the number of clusters of equal size that are as good.
    """

    value: float | None
    low: float | None
    high: float | None
    n_clusters: int = 0
    method: IntervalMethod | None = None
    error: float | None = None
    n_effective: float = 0.0
