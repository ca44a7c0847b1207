"""The roles of a pipeline. A component is a frozen dataclass that satisfies one of these protocols.

Every component

- takes flat, typed arguments,
- works on whole batches and returns results in input order,
- raises `ComponentError` on input that violates the contract,
- imports heavy packages inside the methods that need them,
- has a class variable `version`, which is raised when the meaning of its output changes.

A component may also define `check() -> list[str]`. It validates the fields in combination before the run starts and
returns one message per error, or an empty list.

component       members that all components share, and checks that run before any work
language_models language models, and the function with which components call one
data            benchmarks, and refinements of their documents
parsing         parsers of files of documents
tokenizing      words and tokens
chunking        chunks of documents, and the headers that are indexed with them
embedding       vectors
searching       indexes, the arms of a retriever, and the processing of hits before reranking
graph_search    the facts of chunks, and the graph that a search follows
reranking       rerankers
queries         query variants
iterating       further searches that a language model asks for
compressing     the parts of passages that a prompt shows
answering       the steps from hits to an answer: context, prompt and requests
revising        checks of answers, and what follows from them
metrics         metrics of rankings, contexts and answers
"""

from components.protocols.answering import ContextBuilder, Examples, Generator, History, Prompt, Render
from components.protocols.chunking import (
    AnyChunker,
    AskingHeaderWriter,
    Chunker,
    DescribingChunker,
    EmbeddingChunker,
    Header,
    HeaderWriter,
    ParentChunker,
)
from components.protocols.component import Arrays, ChecksMetadata, ChecksSamples, Component, EmbedderState
from components.protocols.compressing import AnyCompressor, AskingCompressor, Compressor, UnchangedPassages
from components.protocols.data import (
    AnyRefinement,
    AskingRefinement,
    Dataset,
    DatasetOverSource,
    Refinement,
    Refiner,
    Source,
    separate_source,
)
from components.protocols.embedding import (
    AsksInBatches,
    DocumentEmbedder,
    Embedder,
    KeysRequests,
    KnowsDimensions,
    KnowsTokenBytes,
    PretrainedEmbedder,
    ReadsQueriesInPart,
    ReadsTokens,
    SlowEmbedder,
    ThreeWayEncoder,
    TokenVectorEncoder,
    TokenWeigher,
)
from components.protocols.graph_search import FactReader, GraphArm, PassageGraph
from components.protocols.iterating import AnyIteration, IterativeSearch, SingleSearch
from components.protocols.language_models import LLM, AnswersFrom, Ask, Pipeline
from components.protocols.metrics import (
    AnswerMetric,
    CitationMetric,
    ContextMetric,
    JudgedMetric,
    JudgePreparation,
    JudgesByGold,
    Metric,
    RankingMetric,
    TextForm,
)
from components.protocols.parsing import FileParser, ParsedFile, Parser
from components.protocols.queries import AnyVariant, AskedVariant, Expander, QueryVariant
from components.protocols.reranking import (
    AnyReranker,
    EncodedReranker,
    ListReranker,
    PlainReranker,
    Reranker,
    RerankerCascade,
    RerankerSelection,
    SlowReranker,
)
from components.protocols.revising import AnyReviser, Reviser, UnrevisedAnswers
from components.protocols.searching import (
    Arm,
    CandidateArm,
    DenseArm,
    Diversity,
    EncodedArm,
    EncodedDenseArm,
    EncodedSparseArm,
    ExistingIndexArm,
    ExternalIndex,
    Filter,
    Fusion,
    LateInteractionArm,
    PickingArm,
    Retriever,
    ShortensVectors,
    SparseArm,
    SparseIndex,
    TextDiversity,
    TokenIndex,
    VectorDiversity,
    VectorIndex,
)
from components.protocols.tokenizing import Tokenizer, WordTokenizer

__all__ = [
    "LLM",
    "AnswerMetric",
    "AnswersFrom",
    "AnyChunker",
    "AnyCompressor",
    "AnyIteration",
    "AnyRefinement",
    "AnyReranker",
    "AnyReviser",
    "AnyVariant",
    "Arm",
    "Arrays",
    "Ask",
    "AskedVariant",
    "AskingCompressor",
    "AskingHeaderWriter",
    "AskingRefinement",
    "AsksInBatches",
    "CandidateArm",
    "ChecksMetadata",
    "ChecksSamples",
    "Chunker",
    "CitationMetric",
    "Component",
    "Compressor",
    "ContextBuilder",
    "ContextMetric",
    "Dataset",
    "DatasetOverSource",
    "DenseArm",
    "DescribingChunker",
    "Diversity",
    "DocumentEmbedder",
    "Embedder",
    "EmbedderState",
    "EmbeddingChunker",
    "EncodedArm",
    "EncodedDenseArm",
    "EncodedReranker",
    "EncodedSparseArm",
    "Examples",
    "ExistingIndexArm",
    "Expander",
    "ExternalIndex",
    "FactReader",
    "FileParser",
    "Filter",
    "Fusion",
    "Generator",
    "GraphArm",
    "Header",
    "HeaderWriter",
    "History",
    "IterativeSearch",
    "JudgePreparation",
    "JudgedMetric",
    "JudgesByGold",
    "KeysRequests",
    "KnowsDimensions",
    "KnowsTokenBytes",
    "LateInteractionArm",
    "ListReranker",
    "Metric",
    "ParentChunker",
    "ParsedFile",
    "Parser",
    "PassageGraph",
    "PickingArm",
    "Pipeline",
    "PlainReranker",
    "PretrainedEmbedder",
    "Prompt",
    "QueryVariant",
    "RankingMetric",
    "ReadsQueriesInPart",
    "ReadsTokens",
    "Refinement",
    "Refiner",
    "Render",
    "Reranker",
    "RerankerCascade",
    "RerankerSelection",
    "Retriever",
    "Reviser",
    "ShortensVectors",
    "SingleSearch",
    "SlowEmbedder",
    "SlowReranker",
    "Source",
    "SparseArm",
    "SparseIndex",
    "TextDiversity",
    "TextForm",
    "ThreeWayEncoder",
    "TokenIndex",
    "TokenVectorEncoder",
    "TokenWeigher",
    "Tokenizer",
    "UnchangedPassages",
    "UnrevisedAnswers",
    "VectorDiversity",
    "VectorIndex",
    "WordTokenizer",
    "separate_source",
]
