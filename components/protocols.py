"""The roles of a pipeline. A component is a frozen dataclass that satisfies one of these.

All of them: take flat typed arguments; work on whole batches; return results in the order of their input; raise
`ComponentError` on input outside the contract; import heavy packages inside the methods that need them; and carry
`version`, a class variable raised when the meaning of the output changes. A method `check() -> list[str]` is optional:
it returns what is wrong with the fields taken together (an empty list if nothing is), before any work begins.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from components.encodings import Encodings, SparseVectors
from components.records import (
    AllowedDocuments,
    Answer,
    AnswerTask,
    AskedText,
    Benchmark,
    Context,
    Documents,
    Expansion,
    GeneratedAnswer,
    HitOrder,
    Hits,
    JudgeInput,
    Judgements,
    Message,
    Passage,
    PassagePlaces,
    Passages,
    RefinedDocuments,
    Request,
    Sample,
    Scores,
    Segments,
    Spans,
    SpanTexts,
    TextsWithUnits,
    Words,
)

EmbedderState = Mapping[str, NDArray[np.float32]]
"""What an embedder or an index learned from a corpus, as named arrays that the store can keep."""

Arrays = Mapping[str, NDArray[np.generic]]


@runtime_checkable
class Component(Protocol):
    """What every component has."""

    version: ClassVar[int]


@runtime_checkable
class Dataset(Component, Protocol):
    """A corpus with samples."""

    @property
    def name(self) -> str:
        """Short name for results, e.g. "crud_rag"."""

    def fingerprint(self) -> str:
        """SHA-256 (hex) of the content that `load` reads, wherever it is. Raises DataError naming what is missing."""

    def load(self) -> Benchmark:
        """The benchmark; documents sorted by id, ids of documents and of samples unique. Raises DataError."""


@runtime_checkable
class Source(Component, Protocol):
    """Documents that are read by themselves."""

    def fingerprint(self) -> str:
        """SHA-256 (hex) of the content that `read` reads. Raises DataError."""

    def read(self) -> tuple[Documents, Mapping[str, int | str]]:
        """The documents, and counts for the notes. Raises DataError."""


@runtime_checkable
class DatasetOverSource(Dataset, Protocol):
    """A data set whose documents are read by themselves and kept: editing the questions does not read them again."""

    @property
    def source(self) -> Source | None:
        """Where its documents come from; None if it has none besides its samples."""

    def load_over(self, documents: Documents, counts: Mapping[str, int | str]) -> Benchmark:
        """What `load` gives, from what the source read. Raises DataError."""


@runtime_checkable
class Refinement(Component, Protocol):
    """Makes other texts of those of a corpus before they are cut into chunks: what is searched and read then. Whatever
    is scored is scored by the texts before, from which each character is known to come.
    """

    def refine(self, documents: Documents) -> RefinedDocuments:
        """Each document refined. Raises ComponentError. Several corpora side by side are passed in one by one."""


@runtime_checkable
class AskingRefinement(Component, Protocol):
    """A refinement for which a language model is asked about each document."""

    @property
    def llm(self) -> "LLM":
        """The model that is asked."""

    def refine_by_asking(self, documents: Documents, ask: "Ask") -> tuple[RefinedDocuments, list[AskedText]]:
        """Each document refined, and what came of asking about each that was asked about. A document about which a
        request failed, or whose reply cannot be read (after asking again), stays as it was.
        """


AnyRefinement = Refinement | AskingRefinement
"""A step of a refiner, of one kind or of the other."""


@runtime_checkable
class Refiner(Component, Protocol):
    """Which refinements are made, one after the other, so that cells share the first that they have in common."""

    @property
    def steps(self) -> Sequence[AnyRefinement]:
        """None for texts as they are; a refiner that is a single refinement returns itself."""


@runtime_checkable
class Tokenizer(Component, Protocol):
    """Splits a text into the units that lengths are counted in."""

    max_tokens_per_character: ClassVar[int]
    """How many tokens a single character can need (1 for words, 4 for byte-level subwords)."""

    def token_ends(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Per text, the character offsets where its tokens end: int32, non-decreasing, the last is len(text).

        An empty text gives an empty array.
        """

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        """Per text, its tokens in order; joined they are the text again."""


@runtime_checkable
class WordTokenizer(Component, Protocol):
    """Splits a text into the words that are indexed; one object serves documents and queries."""

    def words(self, texts: Sequence[str]) -> Iterator[Words]:
        """One Words per text, lazily."""

    def normalize(self, token: str) -> str:
        """The term that a word is indexed as; "" for one that is not indexed (white space, punctuation, stop word)."""


@runtime_checkable
class Chunker(Component, Protocol):
    """Cuts documents into chunks that are spans of the original text."""

    @property
    def length_tokenizer(self) -> Tokenizer | None:
        """What chunk sizes are counted in, as `segments` holds it; None for characters."""

    def chunk(self, documents: Documents, segments: Segments) -> Spans:
        """Spans sorted by (document, start). Every character that is not white space is in at least one span."""


@runtime_checkable
class DescribingChunker(Chunker, Protocol):
    """A chunker that knows facts about its chunks, for prompts: they stand with those of the document."""

    def facts(self, documents: Documents, chunks: Spans) -> Sequence[Mapping[str, str]]:
        """Facts by name, for each chunk; {} for one of which there are none."""


@runtime_checkable
class EmbeddingChunker(Component, Protocol):
    """Cuts documents into chunks by vectors of smaller parts of them."""

    @property
    def embedder(self) -> "Embedder":
        """Embeds the parts."""

    @property
    def windows(self) -> Chunker:
        """Cuts the parts, which may overlap."""

    def chunk_by_vectors(self, documents: Documents, segments: Segments, vectors: NDArray[np.float32]) -> Spans:
        """As `Chunker.chunk`, with the segments that the windows were cut along, and float32[n_windows, d]."""


@runtime_checkable
class ParentChunker(Component, Protocol):
    """Cuts documents into chunks that are read, and each of these into smaller ones that are searched."""

    @property
    def children(self) -> Chunker:
        """Cuts what is searched out of what is read."""

    @property
    def parents(self) -> Chunker | EmbeddingChunker:
        """Cuts what is read."""


AnyChunker = Chunker | EmbeddingChunker | ParentChunker
"""What a cell has: a chunker of some kind."""


@runtime_checkable
class HeaderWriter(Component, Protocol):
    """Writes what is searched together with each chunk, and is no part of it."""

    def write(self, documents: Documents, chunks: Spans) -> Sequence[str]:
        """A header per chunk, "" for none."""


@runtime_checkable
class AskingHeaderWriter(Component, Protocol):
    """A writer of headers that asks a language model."""

    @property
    def llm(self) -> "LLM":
        """The model that is asked."""

    def write_by_asking(self, documents: Documents, chunks: Spans, ask: "Ask") -> list[AskedText]:
        """What came of asking about each chunk: without a text it has no header."""


@runtime_checkable
class Header(Component, Protocol):
    """Which headers stand before each chunk where it is searched."""

    @property
    def writers(self) -> Sequence[HeaderWriter | AskingHeaderWriter]:
        """None for chunks as they are; a header that is a single one returns itself."""


@runtime_checkable
class Embedder(Component, Protocol):
    """Maps texts to vectors: of unit length, unless a field of the embedder says otherwise, or zero where the text has
    nothing to embed.
    """

    @property
    def tokenizer(self) -> WordTokenizer | None:
        """Set for embedders that read terms instead of raw text: `Passages.terms` is then filled."""

    def fit(self, documents: Passages) -> EmbedderState:
        """What must be learned from the corpus; {} for a pretrained model. Independent of the chunking."""

    def embed_chunks(self, chunks: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """float32[n_chunks, n_dimensions]."""

    def embed_queries(self, queries: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """float32[n_queries, n_dimensions]."""


@runtime_checkable
class SlowEmbedder(Embedder, Protocol):
    """An embedder that takes its time for every text: vectors are kept block by block, and a kill loses one of them."""

    @property
    def n_chunks_per_block(self) -> int:
        """So many chunks at most are passed to `embed_chunks` at once: some minutes of work."""


@runtime_checkable
class AsksInBatches(Component, Protocol):
    """An embedder or a reranker behind a server, whose requests the plan can count before they are sent. Blank texts
    are in none of them. An embedder's are made of texts in their order, and `fit` takes one; a reranker's hold chunks
    of one query.
    """

    @property
    def account(self) -> object:
        """As for `LLM`."""

    @property
    def batch_size(self) -> int:
        """Texts in a request, at most; of a reranker, chunks."""


@runtime_checkable
class KnowsDimensions(Protocol):
    """An embedder that can tell how long its vectors will be: an index that wants longer ones is then refused before
    any work.
    """

    def most_dimensions(self) -> int | None:
        """Dimensions of its vectors, at most; None if that is not known. Nothing is loaded or fetched to find out."""


@runtime_checkable
class ReadsTokens(Protocol):
    """A component whose model reads so many tokens and cuts off the rest. An embedder's model reads one text at a time,
    a reranker's a query and a chunk together.
    """

    def token_limit(self) -> int | None:
        """Tokens that are read at once; None for any number. No weights are loaded to find out."""

    def count_query_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """int64[n_texts]: the tokens of each query, with what is put around it. No weights are loaded to find out."""

    def count_chunk_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Like `count_query_tokens`, of chunks."""


@runtime_checkable
class ThreeWayEncoder(Component, Protocol):
    """Makes three things of a text in one pass: a vector, weights of its tokens, and vectors of its tokens."""

    def encode_chunks(self, chunks: Passages) -> Encodings:
        """A row of each per chunk."""

    def encode_queries(self, queries: Passages) -> Encodings:
        """A row of each per query, comparable with those of chunks by inner product."""


@runtime_checkable
class VectorIndex(Component, Protocol):
    """Nearest neighbours by inner product."""

    @property
    def as_built(self) -> "VectorIndex":
        """The index with the fields that concern the search alone at one value: what `build` depends on."""

    def build(self, vectors: NDArray[np.float32]) -> Arrays:
        """An index over float32[n, d] as named arrays; {} where the vectors themselves are the index."""

    def search(self, index: Arrays, vectors: NDArray[np.float32], queries: NDArray[np.float32], depth: int) -> Hits:
        """The `depth` best per query; where there are fewer vectors, rows are as long as there are vectors."""


@runtime_checkable
class ShortensVectors(VectorIndex, Protocol):
    """An index of the first dimensions of vectors."""

    @property
    def dimensions(self) -> int | None:
        """So many of them; None for all."""


@runtime_checkable
class SparseIndex(Component, Protocol):
    """Ranks chunks by the terms they share with the query."""

    @property
    def tokenizer(self) -> WordTokenizer:
        """Splits chunks and queries alike."""

    def build(self, chunks: Passages) -> Arrays:
        """An index over the chunks' terms as named arrays."""

    def search(self, index: Arrays, queries: Passages, depth: int) -> Hits:
        """The `depth` best per query with a score above zero; a query may have no hit at all. Where there are fewer
        chunks, rows are as long as there are chunks.
        """


@runtime_checkable
class TokenIndex(Component, Protocol):
    """Ranks chunks by the token weights that an encoder gave."""

    def build(self, chunks: SparseVectors) -> Arrays:
        """An index over the chunks' weights as named arrays."""

    def search(self, index: Arrays, queries: SparseVectors, depth: int) -> Hits:
        """As `SparseIndex.search`."""


@runtime_checkable
class Fusion(Component, Protocol):
    """Joins several rankings of the same queries into one, by chunk. One that weighs a retriever's searches has their
    `weights`, in the order of its `arms`: their number is then checked before any work begins.
    """

    def fuse(self, rankings: Sequence[Hits], depth: int) -> Hits:
        """The `depth` best per query of the union."""


@runtime_checkable
class DenseArm(Protocol):
    """A search for the nearest chunks by embedding."""

    @property
    def embedder(self) -> Embedder:
        """Embeds chunks and queries."""

    @property
    def vector_index(self) -> VectorIndex:
        """Searched with the queries' vectors."""


@runtime_checkable
class SparseArm(Protocol):
    """A search for the chunks that share terms with the query."""

    @property
    def sparse_index(self) -> SparseIndex:
        """Searched with the queries' terms."""


@runtime_checkable
class EncodedDenseArm(Protocol):
    """A search for the nearest chunks by an encoder's vectors of whole texts."""

    @property
    def encoder(self) -> ThreeWayEncoder:
        """Encodes chunks and queries."""

    @property
    def vector_index(self) -> VectorIndex:
        """Searched with the queries' vectors."""


@runtime_checkable
class EncodedSparseArm(Protocol):
    """A search for the chunks that share tokens with the query, by an encoder's weights of them."""

    @property
    def encoder(self) -> ThreeWayEncoder:
        """Encodes chunks and queries."""

    @property
    def token_index(self) -> TokenIndex:
        """Searched with the queries' weights."""


@runtime_checkable
class LateInteractionArm(Protocol):
    """A ranking by late interaction between the tokens of query and chunk."""

    @property
    def encoder(self) -> ThreeWayEncoder:
        """Encodes chunks and queries."""

    @property
    def candidates(self) -> "Sequence[EncodedDenseArm | EncodedSparseArm]":
        """The searches whose hits are scored; none for a search of all chunks."""


EncodedArm = EncodedDenseArm | EncodedSparseArm | LateInteractionArm
"""Searches that share one pass of an encoder over the chunks."""


@runtime_checkable
class PickingArm(Protocol):
    """No search: what a sample itself names is picked, whatever the query. It is the only arm of its retriever."""

    @property
    def chunker(self) -> Chunker | None:
        """Cuts the corpus for this arm; None for the cell's own chunker."""

    @property
    def picks_for_prompt(self) -> bool:
        """True if what is picked depends on how many passages the prompt holds: `n` is then top_k, else the depth."""

    def pick(self, samples: Sequence[Sample], documents: Documents, chunks: Spans, n: int) -> Hits:
        """At most `n` chunks for each sample, by decreasing score; none for a sample that names nothing."""


Arm = DenseArm | SparseArm | EncodedArm | PickingArm
"""One search of a retriever (or none, but its result at once); each gives a ranking of its own."""


@runtime_checkable
class Retriever(Component, Protocol):
    """Says which searches are made and how their rankings are joined; it does nothing itself."""

    @property
    def arms(self) -> Sequence[Arm]:
        """The searches, in the order in which the fusion weighs them; none for no retrieval at all."""

    @property
    def fusion(self) -> Fusion | None:
        """Joins the rankings of all arms and all variants of the query; None is enough for a single one."""

    @property
    def depth(self) -> int:
        """Hits kept per query."""


@runtime_checkable
class Filter(Component, Protocol):
    """Says which documents may be found. A search gives as many hits as without a filter, if there are as many."""

    @property
    def is_open(self) -> bool:
        """True where every document may be found for every sample."""

    def allow(self, samples: Sequence[Sample], documents: Documents) -> AllowedDocuments:
        """The documents of each sample."""


@runtime_checkable
class TextDiversity(Component, Protocol):
    """Keeps the first hits of a query from saying the same, by their texts or terms."""

    @property
    def tokenizer(self) -> WordTokenizer | None:
        """As for Embedder."""

    @property
    def depth(self) -> int:
        """How many hits per query are compared; 0 for none at all."""

    def diversify(self, hits: Hits, chunks: Passages) -> Hits:
        """The hits in another order, or without some of them. Those behind the depth stay behind."""


@runtime_checkable
class VectorDiversity(Component, Protocol):
    """Keeps the first hits of a query from saying the same, by the vectors of the chunks."""

    @property
    def embedder(self) -> Embedder:
        """Embeds the chunks: a search with the same embedder shares the vectors."""

    @property
    def depth(self) -> int:
        """As of TextDiversity."""

    def diversify_vectors(self, hits: Hits, vectors: NDArray[np.float32]) -> Hits:
        """As `diversify`, from float32[n_chunks, n_dimensions]."""


Diversity = TextDiversity | VectorDiversity
"""What a cell has: one kind or the other."""


@runtime_checkable
class Reranker(Component, Protocol):
    """Scores (query, chunk) pairs anew."""

    @property
    def tokenizer(self) -> WordTokenizer | None:
        """As for Embedder."""

    @property
    def depth(self) -> int:
        """How many hits per query are scored; 0 for none at all."""

    def score(self, queries: Passages, chunks: Passages, pairs: NDArray[np.int32]) -> NDArray[np.float32]:
        """float32[n_pairs], larger is better, for int32[n_pairs, 2] of (query, chunk) positions. Hits with equal scores
        keep the order of the ranking before.
        """


@runtime_checkable
class SlowReranker(Reranker, Protocol):
    """A reranker that takes its time for every pair: scores are kept block by block, and a kill loses one at most."""

    n_pairs_per_block: ClassVar[int]
    """So many pairs at most are passed to `score` at once: some minutes of work."""


@runtime_checkable
class ListReranker(Component, Protocol):
    """Puts the hits of each query into another order by asking a language model about them."""

    @property
    def llm(self) -> "LLM":
        """The model that is asked."""

    @property
    def depth(self) -> int:
        """How many hits per query are put in order."""

    def n_requests(self, n_hits: int) -> int:
        """Requests for a query with this many hits, if every reply can be read."""

    def n_rounds(self, n_hits: int) -> int:
        """How often the model is asked about one query, each time after the reply before."""

    def rank(self, queries: Sequence[str], hits: Sequence[Sequence[str]], ask: "Ask") -> list[HitOrder]:
        """One HitOrder per query; `hits` are the texts of its hits, best first. A reply that cannot be read (after
        asking again) and a request that failed for good are told there, and neither moves a hit.
        """


@runtime_checkable
class EncodedReranker(Reranker, Protocol):
    """A reranker that scores what an encoder made of queries and chunks: chunks are then encoded once, and kept."""

    @property
    def encoder(self) -> ThreeWayEncoder:
        """Encodes chunks and queries."""

    def score_encoded(self, queries: Encodings, chunks: Encodings, pairs: NDArray[np.int32]) -> NDArray[np.float32]:
        """As `score`."""


PlainReranker = Reranker | ListReranker
"""A reranker of one kind or of the other."""


@runtime_checkable
class RerankerCascade(Component, Protocol):
    """Rerankers one after another; it does nothing itself."""

    @property
    def steps(self) -> Mapping[str, PlainReranker]:
        """By name, in the order in which they rank."""


@runtime_checkable
class RerankerSelection(Component, Protocol):
    """Rerankers of which the best is chosen for each set of a benchmark; it does nothing itself."""

    @property
    def candidates(self) -> Mapping[str, Reranker | ListReranker | RerankerCascade]:
        """By name; of equal ones the first is chosen."""

    @property
    def metric(self) -> str:
        """A metric of rankings, by which they are compared."""

    @property
    def share(self) -> float:
        """Of the labelled samples, on which they are compared: these are reported in no aggregate."""

    @property
    def seed(self) -> int:
        """By which these are drawn."""


AnyReranker = Reranker | ListReranker | RerankerCascade | RerankerSelection
"""What a cell has."""


@runtime_checkable
class ChecksSamples(Protocol):
    """A component that not every data set suits."""

    def check_samples(self, samples: Sequence[Sample]) -> list[str]:
        """What is wrong with it for these samples, all of a data set: told before any work begins."""


@runtime_checkable
class ChecksMetadata(Protocol):
    """A component that reads what the metadata of documents say under some names."""

    def check_metadata(self, names: Sequence[str], samples: Sequence[Sample]) -> list[str]:
        """What is wrong with it for these samples and for documents that have these names among their metadata, one or
        another: told before any work begins. A chunk may have facts of its own besides, such as its section.
        """


@runtime_checkable
class QueryVariant(Component, Protocol):
    """One way to turn a sample into what is searched for. One that gives a single query for every sample says so by a
    class variable `gives_one_query = True`: a single ranking of it is not fused.
    """

    def expand(self, samples: Sequence[Sample]) -> list[Sequence[str]]:
        """Per sample one query or more, none of them empty unless the sample's question is."""


@runtime_checkable
class AskedVariant(Component, Protocol):
    """A way to turn a sample into what is searched for by asking a language model."""

    @property
    def llm(self) -> "LLM":
        """The model that is asked, at most once per sample if every reply can be read."""

    @property
    def gives_one_query(self) -> bool:
        """True if every sample gets a single query, whatever the model replies."""

    @property
    def reranker_reads(self) -> bool:
        """True if a reranker scores hits by this query, False if by the sample's question. Of several queries it can
        read none.
        """

    def write(self, samples: Sequence[Sample], ask: "Ask") -> list[Expansion]:
        """One per sample. A reply that cannot be read (after asking again) and a request that failed for good are told
        there, and leave the question itself to be searched for.
        """


AnyVariant = QueryVariant | AskedVariant
"""A way to a query that needs no model, or one that asks a language model."""


@runtime_checkable
class Expander(Component, Protocol):
    """Which variants of the query are searched for. Each is searched for by itself, so that cells share those that they
    have in common; then all rankings are fused.
    """

    @property
    def variants(self) -> Sequence[AnyVariant]:
        """At least one; an expander that is a single variant returns itself."""


@runtime_checkable
class ContextBuilder(Component, Protocol):
    """Chooses which of the best hits go into the prompt, and in which order.

    One that joins neighbouring chunks into passages has a property `merges` that is true, and gives the chunks of a
    passage as they stand in their document; one that reads chunks around a hit says in `n_chunks_per_hit` how many
    there are at most, itself among them.
    """

    def build(self, hits: Hits, chunks: SpanTexts, top_k: int) -> Context:
        """`hits` at full depth; only their first `top_k` may be used, with what is around them."""


@runtime_checkable
class Prompt(Component, Protocol):
    """Writes the messages for one sample."""

    def render(self, sample: Sample, passages: Sequence[Passage]) -> tuple[Message, ...]:
        """Chat messages; there are no passages for a sample for which retrieval found nothing."""

    def render_closed_book(self, sample: Sample) -> tuple[Message, ...]:
        """Chat messages of a cell without retrieval, whose model answers from its own knowledge."""


@runtime_checkable
class History(Component, Protocol):
    """Says whose answers stand as the earlier turns of a conversation in prompts."""

    @property
    def has_rounds(self) -> bool:
        """True if turns wait for the answers to those before them."""

    def earlier_turns(self, samples: Sequence[Sample]) -> list[tuple[int, ...]]:
        """Per sample the positions of those whose answers it waits for, in the order of its history, one for each turn
        of it; () for all where the data set's own answers stand.
        """


@runtime_checkable
class Examples(Component, Protocol):
    """Chooses the solved examples that a prompt shows before its question."""

    @property
    def n(self) -> int:
        """In each prompt; 0 for none at all: `dataset` is then not read."""

    @property
    def max_tokens(self) -> int:
        """That an example holds, at most."""

    @property
    def dataset(self) -> Dataset | None:
        """Where they come from: a training split, of which nothing is evaluated."""

    def choose(self, samples: Sequence[Sample], pool: Sequence[Sample], documents: Documents) -> NDArray[np.int32]:
        """int32[n_samples, n]: for each sample the positions in the pool of its examples, in the order in which they
        are shown; never the sample itself nor one of its cluster. Each has a reference, and gold in `documents`, the
        corpus of the pool. Raises DataError where there are too few.
        """


class AnswersFrom(StrEnum):
    """What decides a backend's answer, and so stands in the key of a kept reply. A language model reads messages;
    baselines read the sample and the passages; NOTHING is for no generator at all: no request is made.
    """

    MESSAGES = "messages"
    SAMPLE = "sample"
    NOTHING = "nothing"


@runtime_checkable
class LLM(Component, Protocol):
    """Answers requests. Equal requests have equal answers, unless it has a field `temperature` that is above 0.

    A model behind a server whose attempts pass the gate (see `components.openai_server.gate`) has a property `account`,
    whose limits they count against; requests to other models are counted by whoever asks. One that runs on machines of
    the user's, where nobody charges for requests, has a class variable `is_free = True`.
    """

    answers_from: ClassVar[AnswersFrom]

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """Exactly one Answer per request, yielded as they arrive, in any order. A failed request is an Answer with
        state ERROR, not an exception.
        """


Ask = Callable[[Sequence[Request]], list[Answer]]
"""Puts requests to a language model: one Answer each, in the order of the requests. A reply that was kept is
not asked for again. Ids of requests are unique in one call."""

Render = Callable[[Sample, Sequence[Passage]], tuple[Message, ...]]
"""Writes the messages for a sample with some of its passages: `Prompt.render`, or that of a closed book."""


@runtime_checkable
class Generator(Component, Protocol):
    """Has a language model answer, by one request for each sample or by several."""

    @property
    def n_draws(self) -> int:
        """Different draws of equal requests that are asked for: `Request.draw` is below this."""

    def n_requests(self, n_passages: int, n_passage_tokens: int | None) -> int:
        """Requests for a sample with so many passages, at most; `n_passage_tokens` is what these hold together at most,
        None if nobody knows. If it is 1, that must be the one with all passages and draw 0, and the cell is the same as
        one with `Single`.
        """

    def n_rounds(self, n_passages: int) -> int:
        """How often the model is asked about one sample, each time after the replies before; at most."""

    def generate(self, tasks: Sequence[AnswerTask], render: Render, ask: Ask) -> list[GeneratedAnswer]:
        """One per task, in order, whose answer has the id of the sample. If a request failed for good, the answer has
        that state: it is never made of what is left.
        """


class Metric(Component, Protocol):
    """What metrics of all kinds share. `combine` turns sums of statistics into the metric, many at once.

    Values are shares in [0, 1], and intervals stay inside, unless a metric has a class variable `is_share = False`:
    counts, and cosines.
    """

    @property
    def larger_is_better(self) -> bool | None:
        """Which values are the better ones, of all `names` alike; None where neither is, as for a length: such a metric
        ranks nothing. Results carry it, so that nobody has to know the metric by its name. A class variable will do.
        """

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the metrics that this component computes, e.g. ("rouge_l",) or ("ndcg@5", "ndcg@10")."""

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """float64[...] from sums float64[..., d]; NaN where it is undefined."""


@runtime_checkable
class TextForm(Component, Protocol):
    """How texts are taken apart to be compared: words, characters, or the whole text in a normal form."""

    def units(self, texts: Sequence[str]) -> Iterator[Sequence[str]]:
        """Per text its units in order, lazily; none for a text that holds nothing to compare."""


@runtime_checkable
class AnswerMetric(Metric, Protocol):
    """Scores generated texts."""

    @property
    def form(self) -> TextForm | None:
        """Set for metrics that compare units: `TextsWithUnits.units` is filled for answers and references."""

    def score_answers(
        self, samples: Sequence[Sample], answers: TextsWithUnits, references: TextsWithUnits
    ) -> dict[str, Scores]:
        """One Scores per name. `answers`: one per sample, "" for an empty or refused one; failed ones are not passed
        in. `references`: those of all samples in a row, so that sample i owns the next len(sample.references).
        """


@runtime_checkable
class RankingMetric(Metric, Protocol):
    """Scores document rankings. In these a copy of a gold document stands as the gold document itself, unless the
    metric has a `strict` that is true.
    """

    def score_rankings(
        self, rankings: Sequence[Sequence[str]], relevant: Sequence[Mapping[str, int]]
    ) -> dict[str, Scores]:
        """`rankings`: per sample, distinct document ids, best first. `relevant`: its gold documents that are in the
        corpus, with their grade (> 0); an empty mapping gives the state NO_GOLD.
        """


@runtime_checkable
class ContextMetric(Metric, Protocol):
    """Scores what reached the prompt. Spans of gold that stand in copies are among the `spans`, unless the metric has a
    `strict` that is true.
    """

    def score_contexts(
        self,
        samples: Sequence[Sample],
        documents: Documents,
        spans: Sequence[Sequence[tuple[int, int, int]]],
        context: Context,
    ) -> dict[str, Scores]:
        """`spans`: per sample, the (document position, start, end) of every chunk in the context."""


@runtime_checkable
class CitationMetric(Metric, Protocol):
    """Scores which of the passages in its prompt an answer cites. What stands in them as a copy of the gold is told,
    unless the metric has a `strict` that is true.
    """

    def score_citations(
        self,
        samples: Sequence[Sample],
        documents: Documents,
        answers: Sequence[str],
        passages: Sequence[Sequence[PassagePlaces]],
    ) -> dict[str, Scores]:
        """One Scores per name. `answers`: one per sample, "" for an empty or refused one; failed ones are not passed
        in. `passages`: those of the prompts in their order, so that [1] cites the first.
        """


JudgePreparation = Mapping[str, Any]
"""JSON: what a judge decided from questions and references alone, by sample id."""


@runtime_checkable
class JudgedMetric(Metric, Protocol):
    """Scores answers, or the passages in their prompts, by asking a language model."""

    @property
    def llm(self) -> LLM:
        """The model that is asked."""

    @property
    def reads_answers(self) -> bool:
        """False for a judge of passages alone: `JudgeInput.answer` is "", and cells with equal contexts share it."""

    @property
    def n_rounds_to_prepare(self) -> int:
        """How often `prepare` asks the model about a sample, each time after the reply before; 0 if not at all."""

    def n_requests_per_sample(self, n_passages: int) -> int:
        """Requests that `judge` makes at most for a sample with this many passages, if every reply can be read."""

    def prepare(self, samples: Sequence[Sample], ask: Ask) -> JudgePreparation:
        """What all answers share: decided once, from question and references, and kept; {} if there is nothing."""

    def judge(self, judged: Sequence[JudgeInput], prepared: JudgePreparation, ask: Ask) -> Judgements:
        """One Scores per name. A request that failed for good gives the state FAILED, a reply that cannot be read
        (after asking again) UNPARSABLE; neither becomes a number.
        """
