"""Stages that shorten the passages of prompts. Pieces of passages are spans of documents, so their gold is known."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar, TypeGuard

import numpy as np
from numpy.typing import NDArray

from components.compressors.sentence_pieces import count_tokens
from components.fields import runtime_only
from components.json_value import Json
from components.protocols import AnyCompressor, AskingCompressor, Compressor, Tokenizer, UnchangedPassages
from components.records import CompressedPassages, Context, Hits, Queries, Spans, SpanTexts
from components.secrets.mask import shorten_masked
from runner.engine.broken_contracts import contract_error
from runner.engine.codecs import Columns
from runner.engine.stage import Stage, StageGroup, Work
from runner.engine.stage_run import Run
from runner.pipeline.answers.prompt_passages import RetrievedPassages
from runner.pipeline.corpus.reply_counts import ReplyCounts, model_problems, reply_counts, step_counts
from runner.pipeline.corpus.step_reports import LINE, StepReport

PURPOSE = "compression"
_SHOWN_CHARACTERS = 200

COMPRESSOR = "compressor"
"""Name of the counts of a compressor with a language model. They are listed with the counts of judges."""


@dataclass(frozen=True)
class PromptPieces(Spans):
    """Pieces of the passages of all prompts, int32, in the order of samples, passages and pieces.

    `sample` and `passage` are positions, the latter within the prompt. `chunk` and `last_chunk` are the first and the
    last chunk of the passage. `n_tokens` int64[n_samples] are the tokens of the pieces of a prompt. `replies` and
    `usage` are {} without requests to a language model.
    """

    sample: NDArray[np.int32]
    passage: NDArray[np.int32]
    chunk: NDArray[np.int32]
    last_chunk: NDArray[np.int32]
    n_tokens: NDArray[np.int64]
    replies: Mapping[str, Json]
    usage: Mapping[str, int | None]


class Compressed(
    Stage[PromptPieces],
    kind="prompt_pieces",
    display_name="compressed passages",
    version=1,
    work=Work.PER_QUERY,
    repeats_unreadable=True,
):
    """The pieces of each prompt's passages that a compressor retains."""

    codec = Columns(PromptPieces)

    compressor: Compressor | AskingCompressor
    tokenizer: Tokenizer
    queries: Stage[Queries]
    passages: RetrievedPassages
    n_samples: int = runtime_only(0, "the samples are part of the queries' key")

    @property
    def n_requests(self) -> int:
        """Number of requests: at most one per sample, if the compressor uses a model."""
        return self.n_samples if isinstance(self.compressor, AskingCompressor) else 0

    def make(self, run: Run) -> PromptPieces:
        """Compress all passages. Raises ComponentError for pieces that are not parts of them."""
        queries, spans = run.read(self.queries).texts, run.read(self.passages.chunks)
        documents = run.read(self.passages.corpus).texts
        by_sample = list(self.passages.chunks_of(run))
        texts = [[SpanTexts(documents, spans).join_spans(chunks) for chunks in chosen] for chosen in by_sample]
        if len(queries) != len(by_sample):
            raise contract_error(
                self.compressor,
                f"got {len(queries)} queries for {len(by_sample)} samples; the first variant of the expander must "
                "write one query per sample",
            )
        compressions, replies, usage = self._ask_or_compress(run, queries, texts)
        if problem := _problem(compressions, texts):
            raise contract_error(self.compressor, problem)
        rows = [
            (
                sample,
                number,
                chunks[0],
                chunks[-1],
                int(spans.document[chunks[0]]),
                *_shift_piece(piece, int(spans.start[chunks[0]])),
            )
            for sample, (chosen, compressed) in enumerate(zip(by_sample, compressions, strict=True))
            for number, (chunks, pieces) in enumerate(zip(chosen, compressed.pieces, strict=True))
            for piece in pieces
        ]
        sample, passage, chunk, last_chunk, document, start, end = np.array(rows, dtype=np.int32).reshape(-1, 7).T
        piece_texts = [documents[row[4]][row[5] : row[6]] for row in rows]
        n_tokens = np.bincount(sample, weights=count_tokens(piece_texts, self.tokenizer), minlength=len(by_sample))
        n_tokens = n_tokens.astype(np.int64)
        return PromptPieces(document, start, end, sample, passage, chunk, last_chunk, n_tokens, replies, usage)

    def _ask_or_compress(
        self, run: Run, queries: Sequence[str], texts: Sequence[Sequence[str]]
    ) -> tuple[Sequence[CompressedPassages], Mapping[str, Json], Mapping[str, int | None]]:
        if not isinstance(self.compressor, AskingCompressor):
            return self.compressor.compress(queries, texts), {}, {}
        ask = run.ask(self.compressor.llm, PURPOSE)
        compressions = self.compressor.compress_by_asking(queries, texts, ask)
        n_asked = sum(any(text.strip() for text in passages) for passages in texts)
        return compressions, reply_counts(compressions, n_asked), dict(ask.usage)


def _shift_piece(piece: tuple[int, int], first: int) -> tuple[int, int]:
    return piece[0] + first, piece[1] + first


def _problem(compressions: object, texts: Sequence[Sequence[str]]) -> str:
    """Describe a contract violation, or return "" if the output is valid."""
    if not isinstance(compressions, list) or not all(
        isinstance(compressed, CompressedPassages) for compressed in compressions
    ):
        return "returned something other than a list of CompressedPassages"
    if len(compressions) != len(texts):
        return f"returned {len(compressions)} CompressedPassages for {len(texts)} queries"
    for row, (compressed, passages) in enumerate(zip(compressions, texts, strict=True)):
        if not _are_ranges(compressed.pieces):
            return (
                f"query {row} has the pieces {shorten_masked(repr(compressed.pieces), _SHOWN_CHARACTERS)}, expected a "
                "tuple per passage with pairs of whole numbers"
            )
        if len(compressed.pieces) != len(passages):
            return f"query {row} has pieces of {len(compressed.pieces)} passages, expected {len(passages)}"
        for number, (pieces, text) in enumerate(zip(compressed.pieces, passages, strict=True)):
            ends = [0, *(offset for piece in pieces for offset in piece), len(text)]
            if any(a > b for a, b in pairwise(ends)) or any(start >= end for start, end in pieces):
                return (
                    f"query {row} has the pieces {list(pieces)} of passage {number} with {len(text)} characters, "
                    "expected non-empty ranges in order, without overlaps"
                )
    return ""


def _are_ranges(pieces: object) -> bool:
    """Return True for a sequence per passage of pairs of whole numbers. An iterator could be read only once."""
    return _is_row(pieces) and all(
        _is_row(row) and all(_is_row(piece) and len(piece) == 2 and all(map(_is_whole, piece)) for piece in row)
        for row in pieces
    )


def _is_row(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, tuple | list)


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


class PieceSpans(Stage[Spans], kind="piece_spans", version=1, work=Work.PER_QUERY):
    """The pieces of all prompts as spans of the documents."""

    codec = Columns(Spans)

    pieces: Compressed

    def make(self, run: Run) -> Spans:
        pieces = run.read(self.pieces)
        return Spans(pieces.document, pieces.start, pieces.end)


class PieceContext(Stage[Context], kind="piece_context", version=1, work=Work.PER_QUERY):
    """The pieces in each prompt, in order, with their tokens. Dropped tokens are counted as in the context before."""

    codec = Columns(Context)

    pieces: Compressed
    context: Stage[Context]

    @property
    def hits(self) -> Stage[Hits]:
        """The ranking from which the context was chosen."""
        hits: Stage[Hits] = self.context.hits  # type: ignore[attr-defined]  # a context is chosen from a ranking
        return hits

    def make(self, run: Run) -> Context:
        pieces, context = run.read(self.pieces), run.read(self.context)
        n_pieces = np.bincount(pieces.sample, minlength=len(context.chunk))
        chunk = np.full((len(n_pieces), int(n_pieces.max(initial=0))), -1, dtype=np.int32)
        is_piece = np.arange(chunk.shape[1]) < n_pieces[:, None]
        chunk[is_piece] = np.arange(len(pieces), dtype=np.int32)
        return replace(context, chunk=chunk, n_tokens=pieces.n_tokens)


@dataclass(frozen=True, kw_only=True)
class PiecePassages(RetrievedPassages):
    """Passages of each prompt that consist of pieces. `chunks` and `context` describe the pieces."""

    pieces: Compressed

    def chunks_of(self, run: Run) -> Iterator[list[tuple[int, ...]]]:
        """Yield the pieces of each passage in each sample's prompt, in order."""
        passage = run.read(self.pieces).passage.tolist()
        for row in run.read(self.context).chunk.tolist():
            pieces_by_passage: dict[int, list[int]] = {}
            for piece in row:
                if piece >= 0:
                    pieces_by_passage.setdefault(passage[piece], []).append(piece)
            yield [tuple(pieces) for pieces in pieces_by_passage.values()]

    def hits_of(self, run: Run, chunks: Sequence[int]) -> Sequence[int]:
        """Return the chunks of the passage that these pieces come from."""
        pieces = run.read(self.pieces)
        return range(int(pieces.chunk[chunks[0]]), int(pieces.last_chunk[chunks[0]]) + 1)

    def text_of(self, texts: SpanTexts, chunks: Sequence[int]) -> str:
        """Return the pieces, joined by spaces."""
        return " ".join(texts[chunk].strip() for chunk in chunks)


@dataclass(frozen=True)
class ContextTexts(StageGroup, name_in_keys="ReadContext"):
    """The texts in the prompts: chunks, or pieces of them. `compressed` is () for chunks, else the stage of pieces."""

    passages: RetrievedPassages
    compressed: tuple[Compressed, ...] = ()

    @property
    def reports(self) -> tuple["CompressionReport", ...]:
        """Reports of the compressor."""
        return tuple(CompressionReport(stage, stage.passages.context) for stage in self.compressed)


def build_context_texts(
    compressor: AnyCompressor,
    tokenizer: Tokenizer,
    queries: Stage[Queries],
    passages: RetrievedPassages,
    n_samples: int,
) -> ContextTexts:
    """Return the stages of the texts in the prompts: only the passages if the compressor changes nothing."""
    if isinstance(compressor, UnchangedPassages):
        return ContextTexts(passages)
    pieces = Compressed(compressor, tokenizer, queries, passages, n_samples)
    context = PieceContext(pieces, passages.context)
    compressed = PiecePassages(passages.corpus, PieceSpans(pieces), context, False, passages.facts, pieces=pieces)
    return ContextTexts(compressed, (pieces,))


@dataclass(frozen=True)
class CompressionReport(StepReport):
    """The tokens of the prompts' passages before and after the compressor."""

    step: ClassVar[str] = COMPRESSOR

    pieces: Compressed
    context: Stage[Context]

    def facts(self, run: Run) -> Mapping[str, Json]:
        """Return `n_tokens_before`, `n_tokens` and `n_samples_emptied`, the samples that lost all of their text."""
        pieces, n_tokens_before = run.read(self.pieces), run.read(self.context).n_tokens
        n_before, n_after = int(n_tokens_before.sum()), int(pieces.n_tokens.sum())
        n_emptied = int(((n_tokens_before > 0) & (pieces.n_tokens == 0)).sum())
        facts = {"n_tokens_before": n_before, "n_tokens": n_after, "n_samples_emptied": n_emptied}
        if not n_before:
            return facts
        emptied = f"; {n_emptied:,} samples have no text left" if n_emptied else ""
        return facts | {LINE: f"compressor: {n_after:,} of {n_before:,} tokens of the passages remain{emptied}"}


def compressor_counts(run: Run, compressed: Sequence[Compressed]) -> dict[str, ReplyCounts]:
    """Return the counts of a compressor with a language model, by COMPRESSOR; {} otherwise."""
    pieces = [run.read(stage) for stage in compressed if isinstance(stage.compressor, AskingCompressor)]
    return step_counts(COMPRESSOR, pieces)


def compressor_problems(compressor: AnyCompressor) -> list[str]:
    """Return an error message for a compressor whose model is not a language model."""
    models = [compressor.llm] if isinstance(compressor, AskingCompressor) else []
    return model_problems(COMPRESSOR, "the numbers of sentences", models)
