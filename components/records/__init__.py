"""The data that flows between components: frozen, without behaviour beyond reading itself, without I/O.

Large things are columns (NumPy arrays, lists), not objects: a corpus of 10^6 chunks is four arrays. Text positions are
always **character offsets** into the document's original text, `start` inclusive, `end` exclusive.

documents      a corpus
samples        questions with what is known of their answers
benchmarks     a corpus with its questions
chunks         places in documents, their texts and their words
passages       what is shown to a model or searched with a query
hits           what is searched for, and what is found
answers        what is asked of language models, and what they reply
scores         what is measured
lazy_sequence  columns that are read when they are asked for
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
from components.records.benchmarks import Benchmark
from components.records.chunks import ChunkOrigins, Segments, Spans, SpanTexts, Terms, TextsWithUnits, Units, Words
from components.records.documents import Documents, Origins, RefinedDocuments, TextRows
from components.records.hits import AllowedDocuments, Context, Expansion, HitOrder, Hits, IndexBlock, Queries
from components.records.lazy_sequence import LazySequence
from components.records.passages import Passage, PassagePlaces, Passages
from components.records.samples import LARGEST_GRADE, Condition, Evidence, Kind, Sample, Turn
from components.records.scores import Interval, IntervalMethod, JudgeInput, Judgements, Scores, ScoreState

__all__ = [
    "LARGEST_GRADE",
    "AllowedDocuments",
    "Answer",
    "AnswerState",
    "AnswerTask",
    "AskedText",
    "Benchmark",
    "ChunkOrigins",
    "Condition",
    "Context",
    "Documents",
    "ErrorClass",
    "Evidence",
    "Expansion",
    "GeneratedAnswer",
    "HitOrder",
    "Hits",
    "IndexBlock",
    "Interval",
    "IntervalMethod",
    "JudgeInput",
    "Judgements",
    "Kind",
    "LazySequence",
    "Message",
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
