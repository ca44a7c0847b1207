"""Frozen records that flow between components. They do no I/O, and have no behaviour except access to their own
content.

Large data are columns (NumPy arrays, lists) instead of objects: a corpus of 10^6 chunks is four arrays. Text positions
are always **character offsets** into the document's original text, `start` inclusive, `end` exclusive.

documents      a corpus
samples        questions with reference answers and gold evidence, and a benchmark of them
chunks         spans of documents, their texts and their words
passages       texts for prompts, and texts to search
facts          facts that a language model reads from chunks
hits           queries, and the rankings that a search returns
answers        requests to language models, and their replies
scores         scores and intervals
lazy_sequence  columns whose items are read on access
"""

from components.records.answers import (
    Answer,
    AnswerState,
    AnswerTask,
    AskedText,
    ErrorClass,
    GeneratedAnswer,
    Message,
    Request,
)
from components.records.chunks import ChunkOrigins, Segments, Spans, SpanTexts, Terms, TextsWithUnits, Units, Words
from components.records.documents import Documents, Origins, RefinedDocuments, TextRows
from components.records.facts import Fact, FactRows, FactsOfChunk, FactTable
from components.records.hits import (
    AllowedDocuments,
    Context,
    Expansion,
    HitOrder,
    Hits,
    IndexBlock,
    IndexedText,
    NextSearch,
    Queries,
    SearchTrail,
)
from components.records.lazy_sequence import LazySequence
from components.records.passages import CompressedPassages, Passage, PassagePlaces, Passages
from components.records.samples import MAX_GRADE, Benchmark, Condition, Evidence, Kind, Sample, Turn
from components.records.scores import (
    AnswerCheck,
    Interval,
    IntervalMethod,
    JudgeInput,
    Judgements,
    Scores,
    ScoreState,
)

__all__ = [
    "MAX_GRADE",
    "AllowedDocuments",
    "Answer",
    "AnswerCheck",
    "AnswerState",
    "AnswerTask",
    "AskedText",
    "Benchmark",
    "ChunkOrigins",
    "CompressedPassages",
    "Condition",
    "Context",
    "Documents",
    "ErrorClass",
    "Evidence",
    "Expansion",
    "Fact",
    "FactRows",
    "FactTable",
    "FactsOfChunk",
    "GeneratedAnswer",
    "HitOrder",
    "Hits",
    "IndexBlock",
    "IndexedText",
    "Interval",
    "IntervalMethod",
    "JudgeInput",
    "Judgements",
    "Kind",
    "LazySequence",
    "Message",
    "NextSearch",
    "Origins",
    "Passage",
    "PassagePlaces",
    "Passages",
    "Queries",
    "RefinedDocuments",
    "Request",
    "Sample",
    "ScoreState",
    "Scores",
    "SearchTrail",
    "Segments",
    "SpanTexts",
    "Spans",
    "Terms",
    "TextRows",
    "TextsWithUnits",
    "Turn",
    "Units",
    "Words",
]
