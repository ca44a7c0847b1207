"""The roles of a pipeline. A component is a frozen dataclass that satisfies one of these.

All of them: take flat typed arguments; work on whole batches; return results in the order of their input; raise
`ComponentError` on input outside the contract; import heavy packages inside the methods that need them; and carry
`version`, a class variable raised when the meaning of the output changes. A method `check() -> list[str]` is optional:
it returns what is wrong with the fields taken together (an empty list if nothing is), before any work begins.

component       what every component has, and what some can check ahead
language_models language models, and how a component asks one
data            benchmarks, and the texts that are made of their documents
tokenizing      words and tokens of texts
chunking        chunks of documents, and what is searched with each of them
embedding       vectors of texts
searching       indexes, the arms of a search over them, and what becomes of their hits before they are reranked
reranking       new orders of hits
queries         what is searched for
answering       from hits to an answer: context, prompt and requests
metrics         what is measured of rankings, contexts and answers
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
from components.protocols.data import (
    AnyRefinement,
    AskingRefinement,
    Dataset,
    DatasetOverSource,
    Refinement,
    Refiner,
    Source,
)
from components.protocols.embedding import (
    AsksInBatches,
    Embedder,
    KeysRequests,
    KnowsDimensions,
    PretrainedEmbedder,
    ReadsTokens,
    SlowEmbedder,
    ThreeWayEncoder,
)
from components.protocols.language_models import LLM, AnswersFrom, Ask
from components.protocols.metrics import (
    AnswerMetric,
    CitationMetric,
    ContextMetric,
    JudgedMetric,
    JudgePreparation,
    Metric,
    RankingMetric,
    TextForm,
)
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
from components.protocols.searching import (
    Arm,
    DenseArm,
    Diversity,
    EncodedArm,
    EncodedDenseArm,
    EncodedSparseArm,
    Filter,
    Fusion,
    KeptElsewhere,
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
    "AnyRefinement",
    "AnyReranker",
    "AnyVariant",
    "Arm",
    "Arrays",
    "Ask",
    "AskedVariant",
    "AskingHeaderWriter",
    "AskingRefinement",
    "AsksInBatches",
    "ChecksMetadata",
    "ChecksSamples",
    "Chunker",
    "CitationMetric",
    "Component",
    "ContextBuilder",
    "ContextMetric",
    "Dataset",
    "DatasetOverSource",
    "DenseArm",
    "DescribingChunker",
    "Diversity",
    "Embedder",
    "EmbedderState",
    "EmbeddingChunker",
    "EncodedArm",
    "EncodedDenseArm",
    "EncodedReranker",
    "EncodedSparseArm",
    "Examples",
    "Expander",
    "Filter",
    "Fusion",
    "Generator",
    "Header",
    "HeaderWriter",
    "History",
    "JudgePreparation",
    "JudgedMetric",
    "KeptElsewhere",
    "KeysRequests",
    "KnowsDimensions",
    "LateInteractionArm",
    "ListReranker",
    "Metric",
    "ParentChunker",
    "PickingArm",
    "PlainReranker",
    "PretrainedEmbedder",
    "Prompt",
    "QueryVariant",
    "RankingMetric",
    "ReadsTokens",
    "Refinement",
    "Refiner",
    "Render",
    "Reranker",
    "RerankerCascade",
    "RerankerSelection",
    "Retriever",
    "ShortensVectors",
    "SlowEmbedder",
    "SlowReranker",
    "Source",
    "SparseArm",
    "SparseIndex",
    "TextDiversity",
    "TextForm",
    "ThreeWayEncoder",
    "TokenIndex",
    "Tokenizer",
    "VectorDiversity",
    "VectorIndex",
    "WordTokenizer",
]
