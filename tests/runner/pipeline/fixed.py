"""A small benchmark, an embedder and cells made of them in Python.

Nothing here is read from `conf/` or from bundled data, so that tests change only when code does.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from components.chunkers.budget import Unit
from components.chunkers.parents import ParentChunks
from components.chunkers.semantic import SemanticPacking
from components.chunkers.sentence import SentencePacking
from components.chunkers.structure import SectionPacking
from components.chunkers.whole import WholeDocuments
from components.compressors.asked import SentencesByModel
from components.compressors.extractive import ExtractiveByReranker
from components.contexts.packed import PackedContext
from components.datasets.part import Part
from components.diversity.mmr_by_vectors import MmrByVectors
from components.diversity.near_duplicates import NearDuplicates
from components.diversity.none import KeepAll
from components.embedders.hashing import Hashing
from components.encodings import Encodings, MultiEncodings, SparseEncodings
from components.examples.drawn import DrawnExamples
from components.examples.none import NoExamples
from components.expanders.none import NoExpander
from components.expanders.written import WrittenQueries
from components.fact_graph.entity_graph import EntityGraph
from components.fact_graph.written_facts import WrittenFacts
from components.filters.metadata import ByMetadata
from components.filters.none import NoFilter
from components.fusions.rrf import ReciprocalRank
from components.generators.single import Single
from components.generators.split_fuse import SplitFuse
from components.headers.contextual import ContextualHeader
from components.headers.none import NoHeader
from components.headers.place import Place
from components.histories.gold import GoldHistory
from components.histories.own import OwnHistory
from components.iterations.asked import AskedSearches
from components.judges.graded import Graded
from components.llms.extractive import Extractive
from components.llms.none import NoGenerator
from components.llms.scripted import Scripted
from components.metrics.citations import Citations
from components.metrics.context_tokens import ContextTokens
from components.metrics.em import ExactMatch
from components.metrics.interval import Intervals
from components.metrics.passage_coverage import PassageCoverage
from components.metrics.trec import TrecMeasures
from components.pipelines.pipeline_reply import read_reply, split_question
from components.prompts.by_kind import PromptByKind
from components.protocols import LLM, AnswersFrom, EmbedderState, ThreeWayEncoder, WordTokenizer
from components.records import (
    Answer,
    AnswerState,
    Benchmark,
    Condition,
    Documents,
    ErrorClass,
    Evidence,
    IndexedText,
    Kind,
    Passages,
    RefinedDocuments,
    Request,
    Sample,
    Turn,
)
from components.refiners.none import NoRefiner
from components.refiners.pieces import Piece, assemble_documents, copy_piece
from components.refiners.summaries import Summaries
from components.rerankers.cascade import Cascade
from components.rerankers.late_interaction import LateInteraction
from components.rerankers.lexical import LexicalCoverage
from components.rerankers.listwise import Listwise
from components.rerankers.none import NoReranker
from components.rerankers.selected import Selected
from components.retrievers.closed_book import ClosedBook
from components.retrievers.dense import Dense
from components.retrievers.given import Given
from components.retrievers.graph import GraphSearch
from components.retrievers.hybrid import Hybrid
from components.retrievers.late_interaction import LateInteractionSearch
from components.retrievers.learned_sparse import LearnedSparse
from components.retrievers.oracle import Oracle
from components.retrievers.sparse import Sparse
from components.retrievers.three_way import ThreeWay
from components.revisers.abstain import AbstainIfUnsupported
from components.revisers.reflect import Reflect
from components.sparse_indexes.bm25 import Bm25
from components.sparse_indexes.token_weights import TokenWeights
from components.tokenizers.character_bigrams import CharacterBigrams
from components.tokenizers.jieba_words import JiebaWords
from components.vector_indexes.faiss_index import Flat
from runner.engine.executors.local import Local
from runner.engine.outcome import StageRun
from runner.engine.plan import make_plan
from runner.engine.schedule import run_stages
from runner.engine.stage import Stage
from runner.engine.store import Store
from runner.pipeline.cell import Cell
from runner.pipeline.cell_graph import Graph, build_graph
from runner.pipeline.corpus.loaded_data import load_data
from runner.pipeline.settings import (
    ExperimentSettings,
    JudgeSettings,
    LanguageSettings,
    MetricSettings,
    RunSettings,
    TrackingSettings,
)

_TEXTS = {
    "east/bridge": "The bridge was opened in 1932. It crosses the river in the east. Trains still use it every day.",
    "east/harbour": "The harbour is deep. Ships from the north land there. It was dug by hand.",
    "west/mill": "The mill ground corn until 1901. Its wheel is kept in a museum near the river.",
    "west/tower": "The tower was built of red bricks. From its top one sees the bridge and the harbour.",
}
_SAMPLES = (
    Sample(
        "q1",
        "east",
        Kind.QA,
        "When was the bridge opened?",
        ("In 1932",),
        (Evidence("east/bridge", 0, 30),),
        passages=("east/bridge", "west/mill", "west/tower"),
    ),
    Sample("q2", "east", Kind.QA, "Who dug the harbour?", ("Who dug the harbour?",), (Evidence("east/harbour"),)),
    Sample("q3", "west", Kind.QA, "Until when did the mill grind corn?", ("1901",), (Evidence("west/mill", 0, 32),)),
    Sample(
        "q4", "west", Kind.QA, "What was the tower built of?", ("Bricks",), (Evidence("elsewhere"),), "towers", "why"
    ),
)


@dataclass(frozen=True)
class FixedData:
    """Four documents and four questions; as two corpora side by side, each with two of either."""

    side_by_side: bool = False

    version: ClassVar[int] = 2

    @property
    def name(self) -> str:
        return "fixed"

    def fingerprint(self) -> str:
        return "fixed"

    def load(self) -> Benchmark:
        ids = sorted(_TEXTS)
        documents = Documents(
            ids, [an_id.title() for an_id in ids], [_TEXTS[an_id] for an_id in ids], [{"place": i[:4]} for i in ids]
        )
        samples = tuple(
            replace(sample, corpus_prefix=f"{sample.subset}/" if self.side_by_side else "") for sample in _SAMPLES
        )
        return Benchmark(documents, samples, {"n_documents": 4}, {"towers": "Towers"})


@dataclass(frozen=True)
class FixedTalk(FixedData):
    """The same documents, and two conversations of two turns."""

    def load(self) -> Benchmark:
        first, _, third, _ = _SAMPLES
        talks = [
            (
                opening,
                replace(
                    opening,
                    id=f"{opening.id}b",
                    question="Who saw the bridge and the mill?",
                    history=(_turn_of(opening),),
                ),
            )
            for opening in (first, third)
        ]
        return replace(super().load(), samples=tuple(sample for talk in talks for sample in talk))


def _turn_of(sample: Sample) -> Turn:
    return Turn(sample.question, sample.references[0])


@dataclass(frozen=True)
class FixedSource:
    """The four documents without questions."""

    version: ClassVar[int] = 1

    def fingerprint(self) -> str:
        return "fixed"

    def read(self) -> tuple[Documents, Mapping[str, int | str]]:
        return FixedData().load().documents, {"n_read": 4}


@dataclass(frozen=True)
class FixedOverSource(FixedData):
    """The same data set, with a separate source of documents."""

    @property
    def source(self) -> FixedSource:
        return FixedSource()

    def load_over(self, documents: Documents, counts: Mapping[str, int | str]) -> Benchmark:
        return replace(self.load(), documents=documents, notes=counts)


@dataclass(frozen=True)
class LetterCounts:
    """Counts letters, minus their rounded mean over the corpus. Integers are equal on every platform."""

    version: ClassVar[int] = 1

    @property
    def tokenizer(self) -> WordTokenizer | None:
        return None

    def fit(self, documents: Passages) -> EmbedderState:
        return {"mean": np.round(_letters(documents.texts).mean(axis=0) / 10).astype(np.float32)}

    def embed_chunks(self, chunks: Passages, state: EmbedderState) -> NDArray[np.float32]:
        return _letters(chunks.texts) - state["mean"]

    def embed_queries(self, queries: Passages, state: EmbedderState) -> NDArray[np.float32]:
        return self.embed_chunks(queries, state)


@dataclass(frozen=True)
class FirstLetters(LetterCounts):
    """Reads `limit` characters of a text. A query has one additional character in front."""

    limit: int | None = 40

    def token_limit(self) -> int | None:
        return self.limit

    def embed_chunks(self, chunks: Passages, state: EmbedderState) -> NDArray[np.float32]:
        return super().embed_chunks(Passages([text[: self.limit] for text in chunks.texts]), state)

    def count_chunk_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        return np.array([len(text) for text in texts], dtype=np.int64)

    def count_query_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        return self.count_chunk_tokens(texts) + 1


@dataclass(frozen=True)
class LastFirst:
    """A refiner that puts the second half of a text before the first one, and a word between them. It leaves out the
    tower.
    """

    version: ClassVar[int] = 1

    @property
    def steps(self) -> "tuple[LastFirst]":
        return (self,)

    def refine(self, documents: Documents) -> RefinedDocuments:
        pieces = [_turned(text) if "tower" not in text else [] for text in documents.texts]
        return assemble_documents(documents, pieces, {"n_turned": sum(map(bool, pieces))})


def _turned(text: str) -> list[Piece]:
    half = len(text) // 2
    return [copy_piece(text, half), Piece(" AND "), copy_piece(text, 0, half)]


@dataclass(frozen=True)
class ReadsCharacters:
    """Reads `limit` characters of a query and a chunk, with a separator between them."""

    depth: int
    limit: int | None

    version: ClassVar[int] = 1
    tokenizer: ClassVar[None] = None
    scored: ClassVar[list[tuple[str, str]]] = []

    def token_limit(self) -> int | None:
        return self.limit

    def count_query_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        return self.count_chunk_tokens(texts) + 1

    def count_chunk_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        return np.array([len(text) for text in texts], dtype=np.int64)

    def score(self, queries: Passages, chunks: Passages, pairs: NDArray[np.int32]) -> NDArray[np.float32]:
        self.scored.extend((queries.texts[query], chunks.texts[chunk]) for query, chunk in pairs.tolist())
        return np.zeros(len(pairs), dtype=np.float32)


@dataclass(frozen=True)
class LetterHeads:
    """An encoder: counts of letters, twice the counts of those in the text as weights, and for each word a vector that
    is 1 at its first letter. Whole numbers, equal on every platform.
    """

    version: ClassVar[int] = 1

    def encode_chunks(self, chunks: Passages) -> Encodings:
        counts = _letters(chunks.texts)
        ids = [np.flatnonzero(row).astype(np.int32) for row in counts]
        firsts = [_letters([word[0] for word in text.split() if word[0].isalpha()]) for text in chunks.texts]
        return Encodings(
            dense=counts,
            weight_ids=np.concatenate([np.zeros(0, dtype=np.int32), *ids]),
            weights=2 * counts[counts > 0],
            weight_offsets=np.cumsum([0, *map(len, ids)]).astype(np.int64),
            vectors=np.concatenate([np.zeros((0, 26)), *firsts]).astype(np.float16),
            vector_offsets=np.cumsum([0, *map(len, firsts)]).astype(np.int64),
        )

    def encode_queries(self, queries: Passages) -> Encodings:
        return self.encode_chunks(queries)


@dataclass(frozen=True)
class LetterWeights:
    """An encoder of token weights: the counts of letters in a chunk, and 1 for each letter of a query."""

    version: ClassVar[int] = 1

    def weigh_chunks(self, chunks: Passages) -> SparseEncodings:
        counts = _letters(chunks.texts)
        ids = [np.flatnonzero(row).astype(np.int32) for row in counts]
        return SparseEncodings(
            np.concatenate([np.zeros(0, dtype=np.int32), *ids]),
            counts[counts > 0],
            np.cumsum([0, *map(len, ids)]).astype(np.int64),
        )

    def weigh_queries(self, queries: Passages) -> SparseEncodings:
        counts = self.weigh_chunks(queries)
        return replace(counts, weights=np.ones_like(counts.weights))


@dataclass(frozen=True)
class LetterVectors:
    """An encoder of token vectors: for each word a vector that is 1 at its first letter."""

    version: ClassVar[int] = 1

    def encode_chunk_tokens(self, chunks: Passages) -> MultiEncodings:
        words = LetterHeads().encode_chunks(chunks)
        return MultiEncodings(words.vectors, words.vector_offsets)

    def encode_query_tokens(self, queries: Passages) -> MultiEncodings:
        return self.encode_chunk_tokens(queries)


@dataclass(frozen=True)
class FixedPipeline:
    """Cites the sentences of two documents, one of them changed, and a sentence of its own. It gives no passages for a
    question about the mill, and fails for one about the tower.
    """

    version: ClassVar[int] = 1
    answers_from: ClassVar[AnswersFrom] = AnswersFrom.MESSAGES
    is_built_in: ClassVar[bool] = False

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        for request in requests:
            question, history = split_question(request)
            passages = ["It was never said.", "The bridge was opened in 1932.", "Ships from the far north land there."]
            if "tower" in question:
                yield Answer(request.id, AnswerState.ERROR, error="no towers", error_class=ErrorClass.OTHER)
                continue
            reply = {"answer": f"{question} [2]", "passages": None if "mill" in question else passages}
            yield read_reply(reply, request.id, float(len(history)))


@dataclass(frozen=True)
class FixedIndex:
    """An index of the user's own, which finds the same for every query: two sentences of the documents, of which the
    query decides which is first, a changed sentence, one of the two again, and a text of its own.
    """

    embedder: LetterCounts = LetterCounts()
    depth: int = 6

    version: ClassVar[int] = 1
    fusion: ClassVar[None] = None
    reads_vectors: ClassVar[bool] = True

    @property
    def arms(self) -> "tuple[FixedIndex]":
        return (self,)

    def find(
        self, queries: Sequence[str], vectors: NDArray[np.float32] | None, depth: int
    ) -> Iterator[Sequence[IndexedText]]:
        first, second = IndexedText("The bridge was opened in 1932.", "7"), IndexedText("The harbour is deep.", "8")
        near = IndexedText("Ships from the far north land there.", "9", "east/harbour")
        outside = IndexedText("Nothing of all this is true.", "10")
        assert vectors is not None
        for vector in vectors:
            known = [first, second] if vector[0] > vector[1] else [second, first]
            yield [outside, *known, IndexedText(" ", "11"), replace(known[0], id="12"), near]


def _letters(texts: Sequence[str]) -> NDArray[np.float32]:
    counts = [[text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]
    return np.array(counts, dtype=np.float32).reshape(len(counts), 26)


def judge(llm: LLM) -> JudgeSettings:
    """One judged metric that first decides whether it applies."""
    graded = Graded(
        name="accuracy",
        llm=llm,
        system="",
        instruction="{question} {references} {answer}",
        applicability="{question} {references}",
        reminder="Again.",
        grades=(0, 1, 2),
        not_applicable_grade=None,
        empty_answer=0,
        max_attempts=2,
        larger_is_better=True,
        prompt_version=1,
    )
    return JudgeSettings(llm, {"accuracy": graded})


VERDICT = Scripted(reply='{"reason": "so it is", "applicable": true, "grade": 1}')
_TASKS = "Sources:\n{context}\n{history}\nTask: {question}"
_NO_JUDGE = JudgeSettings(None, {})


def fixed_cell(**fields: Any) -> Cell:
    """Hybrid retrieval and a scripted model, unless `fields` say otherwise."""
    words = CharacterBigrams()
    embedder = LetterCounts()
    base = Cell(
        dataset=FixedData(),
        refiner=NoRefiner(),
        chunk=SentencePacking(size=60, unit=Unit.CHAR),
        header=NoHeader(),
        tokenizer=words,
        embedder=embedder,
        vector_index=Flat(),
        expander=NoExpander(),
        retriever=Hybrid(
            embedder, Flat(), Bm25(tokenizer=words, max_share_without_hits=1.0), ReciprocalRank(), depth=6
        ),
        filter=NoFilter(),
        diversity=KeepAll(),
        reranker=NoReranker(),
        context=PackedContext(),
        prompt=PromptByKind(
            "",
            *[_TASKS] * 6,
            passage="[{n}] {text}",
            turn="{question} {answer}",
            nothing_found="(nothing)",
            closed_book="(none)",
        ),
        examples=NoExamples(),
        llm=Scripted(reply="{question}"),
        generator=Single(),
        history=GoldHistory(),
        metrics=MetricSettings(
            {
                "trec": TrecMeasures(("mrr", "ndcg@10")),
                "coverage": PassageCoverage(),
                "tokens": ContextTokens(),
                "em": ExactMatch(),
            },
            Intervals(n_resamples=50),
        ),
        judge=_NO_JUDGE,
        top_k=2,
        tracking=TrackingSettings(enabled=False, uri=""),
        language=LanguageSettings("en", JiebaWords(), "en"),
        run=RunSettings("results", "store", 1, 0.0, plan_only=False, progress=False),
        experiment=ExperimentSettings("fixed"),
    )
    return replace(base, **fields)


def bm25(**fields: Any) -> Sparse:
    """BM25 over the words of the fixed cells."""
    return Sparse(Bm25(tokenizer=CharacterBigrams(), **fields), depth=6)


def three_way(encoder: ThreeWayEncoder, **fields: Any) -> ThreeWay:
    """The three searches of an encoder, equally weighed."""
    weights = ReciprocalRank(weights=(1.0, 1.0, 1.0))
    return replace(ThreeWay(encoder, Flat(), TokenWeights(), weights, depth=6), **fields)


_STRICT = MetricSettings(
    {"strict": TrecMeasures(("mrr",), strict=True)}, Intervals(n_resamples=50), credit_copies=False
)

_CITED = MetricSettings(
    {"em": ExactMatch(), "citations": Citations()}, Intervals(n_resamples=50), without_citations=True
)

FACTS = WrittenFacts(Scripted(reply='{"facts": [["river", "is near", "{question}"], [1]]}'), "", "{passage}", "Again.")
"""Each chunk states that something is near the river."""

CELLS = {
    "hybrid, reranked, judged": {
        "reranker": LexicalCoverage(depth=3, tokenizer=CharacterBigrams()),
        "judge": judge(VERDICT),
    },
    "corpora side by side, no model": {
        "dataset": FixedData(side_by_side=True),
        "retriever": bm25(),
        "llm": NoGenerator(),
    },
    "only the gold itself counts": {"metrics": _STRICT},
    "an embedder with a limit": {"retriever": Dense(FirstLetters(), Flat(), depth=6)},
    "an embedder that learns nothing of the corpus": {
        "retriever": Dense(Hashing(n_dimensions=16), Flat(), depth=6),
        "llm": NoGenerator(),
    },
    "an index of the user's own": {
        "retriever": FixedIndex(),
        "reranker": LexicalCoverage(depth=3, tokenizer=CharacterBigrams()),
    },
    "documents of one place": {
        "retriever": bm25(),
        "filter": ByMetadata({"place": Condition(equals=("west",))}),
        "llm": NoGenerator(),
    },
    "hits that differ": {
        "retriever": bm25(),
        "diversity": NearDuplicates(threshold=0.1, n=1, tokenizer=CharacterBigrams()),
        "llm": NoGenerator(),
    },
    "hits that differ by their vectors": {
        "diversity": MmrByVectors(LetterCounts(), 0.5, depth=3),
        "llm": NoGenerator(),
    },
    "a reranker with a limit": {"retriever": bm25(), "reranker": ReadsCharacters(depth=3, limit=60)},
    "three rerankers": {
        "retriever": bm25(),
        "reranker": Cascade(
            {
                "light": LexicalCoverage(depth=5, tokenizer=CharacterBigrams()),
                "asked": Listwise(
                    Scripted(reply='{"ranking": [2, 1]}'), "", "{question}\n{passages}", "Again.", depth=2, window=2
                ),
                "precise": ReadsCharacters(depth=2, limit=60),
            }
        ),
        "llm": NoGenerator(),
    },
    "the best of two rerankers": {
        "retriever": bm25(),
        "reranker": Selected(
            {"none": NoReranker(), "lexical": LexicalCoverage(depth=3, tokenizer=CharacterBigrams())}, "mrr"
        ),
        "judge": judge(VERDICT),
    },
    "a model swaps neighbours": {
        "retriever": bm25(),
        "reranker": Listwise(
            Scripted(reply='{"ranking": [2, 1]}'), "", "{question}\n{passages}", "Again.", depth=3, window=2, step=1
        ),
    },
    "a model writes queries": {
        "retriever": bm25(),
        "expander": WrittenQueries(Scripted(reply='{"texts": ["The {question}"]}'), "", "{question}", "Again."),
        "llm": NoGenerator(),
    },
    "a model searches again": {
        "retriever": Hybrid(LetterCounts(), Flat(), Bm25(tokenizer=CharacterBigrams()), ReciprocalRank(), depth=6),
        "chunk": ParentChunks(SentencePacking(size=30, unit=Unit.CHAR), SentencePacking(size=60, unit=Unit.CHAR)),
        "refiner": LastFirst(),
        "filter": ByMetadata({"place": Condition(equals=("west",))}),
        "iterative": AskedSearches(
            Scripted(reply='{"next": "The {question}", "done": false}'),
            "",
            "{question}\n{passages}\n{steps}",
            "Again.",
            n_passages=1,
        ),
        "llm": NoGenerator(),
    },
    "an answer per passage, then fused": {
        "retriever": bm25(),
        "generator": SplitFuse("", "{question}\n{answers}", max_tokens=1),
    },
    "answers that cite": {"retriever": bm25(), "llm": Scripted(reply="{question} [1]"), "metrics": _CITED},
    "a conversation of its own": {
        "dataset": FixedTalk(),
        "retriever": bm25(),
        "history": OwnHistory(),
        "llm": Scripted(reply="To {question}: yes.", error_on="mill"),
    },
    "an example in each prompt": {
        "dataset": Part(FixedData(), 0.5),
        "examples": DrawnExamples(Part(FixedData(), 0.5, is_held_out=True), n=1),
        "retriever": bm25(),
    },
    "three heads of an encoder": {
        "retriever": three_way(LetterHeads()),
        "reranker": LateInteraction(LetterHeads(), depth=3),
        "llm": NoGenerator(),
    },
    "weights of letters": {
        "retriever": LearnedSparse(LetterWeights(), TokenWeights(), depth=6),
        "llm": NoGenerator(),
    },
    "late interaction of words": {
        "retriever": LateInteractionSearch(LetterVectors(), depth=6),
        "llm": NoGenerator(),
    },
    "a graph of facts": {
        "dataset": FixedData(side_by_side=True),
        "retriever": GraphSearch(LetterCounts(), FACTS, EntityGraph(synonym_threshold=0.99), depth=6),
        "llm": NoGenerator(),
    },
    "the best sentences of the passages": {
        "retriever": bm25(),
        "compressor": ExtractiveByReranker(LexicalCoverage(depth=1, tokenizer=CharacterBigrams()), 0.4),
    },
    "sentences that a model selects": {
        "retriever": bm25(),
        "refiner": LastFirst(),
        "compressor": SentencesByModel(Scripted(reply='{"sentences": [1]}'), "", "{question}\n{sentences}", "Again."),
    },
    "answers that a model checks and revises": {
        "retriever": bm25(),
        "reviser": Reflect(
            Scripted(reply='{"unsupported": ["it"], "missing": []}'),
            "",
            "{question}\n{passages}\n{answer}",
            "{question}\n{passages}\n{answer}\n{unsupported}\n{missing}",
            "Again.",
        ),
    },
    "a conversation whose answers are checked": {
        "dataset": FixedTalk(),
        "retriever": bm25(),
        "history": OwnHistory(),
        "generator": SplitFuse("", "{question}\n{answers}", max_tokens=1),
        "llm": Scripted(reply="To {question}: yes.", error_on="mill"),
        "reviser": AbstainIfUnsupported(
            Scripted(reply='{"reason": "so it is", "supported": false}'),
            "",
            "{question}\n{passages}\n{answer}",
            "Again.",
            "insufficient information",
        ),
    },
    "parents, and headers of their children": {
        "chunk": ParentChunks(SentencePacking(size=30, unit=Unit.CHAR), SentencePacking(size=60, unit=Unit.CHAR)),
        "header": Place(section=False),
        "retriever": bm25(),
    },
    "chunks that know where they are, filtered": {
        "chunk": SectionPacking(size=60, unit=Unit.CHAR),
        "filter": ByMetadata({"place": Condition(equals=("west",))}),
        "retriever": bm25(),
    },
    "a model writes documents and headers": {
        "refiner": Summaries(Scripted(reply="On {question}. It is old."), "", "{text}", "Again."),
        "header": ContextualHeader(Scripted(reply="It begins."), "", "{document}\n{chunk}", "Again."),
        "retriever": bm25(),
    },
    "chunks by vectors": {
        "chunk": SemanticPacking(LetterCounts(), 50.0, size=80, unit=Unit.CHAR),
        "retriever": bm25(),
        "llm": NoGenerator(),
    },
    "refined texts": {
        "dataset": FixedData(side_by_side=True),
        "refiner": LastFirst(),
        "retriever": bm25(),
        "llm": NoGenerator(),
    },
    "the gold in refined texts": {"refiner": LastFirst(), "retriever": Oracle()},
    "closed book": {"retriever": ClosedBook()},
    "baseline": {"retriever": bm25(), "llm": Extractive(tokenizer=CharacterBigrams())},
    "given passages": {"retriever": Given(WholeDocuments(), noise_rate=0.5)},
    "a pipeline of its own": {
        "pipeline": FixedPipeline(),
        "metrics": replace(_CITED, scores={**_CITED.scores, "coverage": PassageCoverage()}),
        "judge": judge(VERDICT),
    },
    "oracle": {"dataset": FixedOverSource(), "retriever": Oracle()},
}
"""Cells that have, taken together, a stage of every kind."""


def graph_in(store: Store, cell: Cell) -> Graph:
    """Return the stages of a cell over a data set in the store."""
    pool = load_data(cell.examples.dataset, store) if cell.examples.dataset else None
    return build_graph(cell, load_data(cell.dataset, store), pool)


def run_all(store: Store, *wanted: Stage[Any]) -> list[StageRun]:
    """Run some stages and their inputs. Fail the test if one of them fails."""
    order = make_plan([(stage, 1) for stage in wanted], store).order
    runs = list(run_stages(order, store, Local()))
    errors = [run.error for run in runs if run.failed]
    assert not errors, "\n".join(errors)
    return runs
